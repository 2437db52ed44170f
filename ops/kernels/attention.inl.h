// Queries over the cached keys and values of one kv head, softmax kept online, in the order the numerics contract fixes:
//
//   segments of 256 positions and tiles of 64 (a page), both at absolute multiples; only tiles that hold a visible position are visited;
//   in a segment: m = -inf, l = o = +0; each tile ascending: scores, m' = max(m, tile), l and o times exp(m - m'), then
//     l[lane] += p (16 strided sums), o[d] = fma(p, v[d], o[d]) over visible positions ascending;
//   then the segment folds into the running (M, L, O), which start at (-inf, +0, +0):
//     M' = max(M, m), L = fma(l, exp(m - M'), L * exp(M - M')), O likewise; at the end y = O / L.
//
// So a result depends on the visible positions only: not on where a window began, what else is in the page, how the prompt was cut, which
// queries were computed side by side, or which thread computed a segment.
#pragma once
#include "ops/kernels/integer.inl.h"
#include "ops/kernels/rows.inl.h"

namespace linnet::ops {
namespace {

constexpr uint64_t kTile = LINNET_PAGE_POSITIONS;
constexpr int kTilePanels = 4;
constexpr int kSideBySide = F32x16::kQueries;  // queries whose scores, or whose sums of values, are in registers at once

float exp_one(float x) { return detail::lane_exp<detail::FloatLane>(x); }
float max_one(float a, float b) { return detail::FloatLane::max(a, b); }

// fn(std::integral_constant<int, n>, first query) for all queries, kSideBySide at a time, then the rest at once.
template <class Fn> void side_by_side(uint32_t queries, Fn fn) {
  uint32_t i = 0;
  for (; i + kSideBySide <= queries; i += kSideBySide) fn(std::integral_constant<int, kSideBySide>(), i);
  if constexpr (kSideBySide > 3) if (queries - i == 3) fn(std::integral_constant<int, 3>(), i), i += 3;
  if constexpr (kSideBySide > 2) if (queries - i == 2) fn(std::integral_constant<int, 2>(), i), i += 2;
  if constexpr (kSideBySide > 1) if (queries - i == 1) fn(std::integral_constant<int, 1>(), i);
}

// The i-th of a head's 64-element strips, of keys or of values.
template <class W> void fetch(const uint8_t* block, uint64_t i) {
  constexpr uint64_t strip = kTile * sizeof(typename W::T);
  if (!block) return;
  for (uint64_t line = 0; line < strip; line += 64) __builtin_prefetch(block + i * strip + line);
}

// Scores of a tile's 64 positions for Q queries: lanes are positions, each a chain of fma over the head's dimensions.
// `next` is fetched meanwhile: the following tile lies anywhere.
template <class K, int Q> void tile_scores(const Attend& a, const uint8_t* block, const uint8_t* next, uint32_t query, float* out) {
  const typename K::T* keys = reinterpret_cast<const typename K::T*>(block);
  const float* q = a.q + query * a.q_stride;
  F32x16::F s[Q][kTilePanels];
#pragma GCC unroll 4
  for (int i = 0; i < Q; ++i)
#pragma GCC unroll 4
    for (int p = 0; p < kTilePanels; ++p) s[i][p] = F32x16::set(0.0f);
  for (uint32_t d = 0; d < a.head_dim; ++d) {
    fetch<K>(next, d);
    F32x16::F k[kTilePanels];
#pragma GCC unroll 4
    for (int p = 0; p < kTilePanels; ++p) k[p] = K::load(keys + (static_cast<uint64_t>(p) * a.head_dim + d) * 16);
#pragma GCC unroll 4
    for (int i = 0; i < Q; ++i) {
      const F32x16::F x = F32x16::set(q[i * a.q_stride + d]);
#pragma GCC unroll 4
      for (int p = 0; p < kTilePanels; ++p) s[i][p] = F32x16::fma(k[p], x, s[i][p]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < Q; ++i)
#pragma GCC unroll 4
    for (int p = 0; p < kTilePanels; ++p) F32x16::store(out + i * kTile + 16 * p, scaled(s[i][p], a.scale, a.softcap));
}

// The same from codes: a tile's keys are four panels of integer weights. There is no bias, activation, factor or residual.
void tile_scores_of_codes(const Attend& a, const uint8_t* block, float* out) {
  Linear l = {};
  l.weights = block, l.dtype = LINNET_I8, l.k = a.head_dim, l.panels = kTilePanels;
  l.codes = a.codes, l.code_stride = a.code_stride, l.rows = a.queries;
  l.y = out, l.y_stride = kTile;
  linear_integers<LINNET_I8>(l);
  for (uint64_t i = 0; i < a.queries * kTile; i += 16) F32x16::store(out + i, scaled(F32x16::load(out + i), a.scale, a.softcap));
}

// A tile's values as floats, from codes [64][head_dim, padded to 16] and scales [64][groups].
void widen_codes(const Attend& a, const uint8_t* block, float* out) {
  const uint64_t n = a.head_dim, padded = (n + 15) / 16 * 16, groups = packing::groups(n);
  const int8_t* codes = reinterpret_cast<const int8_t*>(block);
  const float* scales = reinterpret_cast<const float*>(block + kTile * padded);
  for (uint64_t j = 0; j < kTile; ++j)
    for (uint64_t i = 0; i < n; i += 16) {
      const F32x16::F x = F32x16::mul(F32x16::from_int(F32x16::load_i8(codes + j * padded + i)), F32x16::set(scales[j * groups + i / kGroupColumns]));
      if (i + 16 <= n) F32x16::store(out + j * n + i, x);
      else F32x16::store_part(out + j * n + i, x, static_cast<uint32_t>(n - i));
    }
}

// One fma a position [low, high) into C times 16 head dimensions of Q queries.
template <class V, int Q, int C>
void add_values(const typename V::T* v, uint64_t v_stride, const float* p, uint64_t low, uint64_t high, float* o, uint64_t o_stride) {
  F32x16::F sum[Q][C];
#pragma GCC unroll 4
  for (int i = 0; i < Q; ++i)
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) sum[i][c] = F32x16::load(o + i * o_stride + 16 * c);
  for (uint64_t j = low; j < high; ++j) {
    F32x16::F lane[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) lane[c] = V::load(v + j * v_stride + 16 * c);
#pragma GCC unroll 4
    for (int i = 0; i < Q; ++i) {
      const F32x16::F weight = F32x16::set(p[i * kTile + j]);
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) sum[i][c] = F32x16::fma(weight, lane[c], sum[i][c]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < Q; ++i)
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) F32x16::store(o + i * o_stride + 16 * c, sum[i][c]);
}

template <class V, int Q> void tile_values(const Attend& a, const uint8_t* block, const float* p, uint64_t low, uint64_t high, float* o, uint64_t o_stride) {
  if (low >= high) return;
  const typename V::T* v = reinterpret_cast<const typename V::T*>(block);
  const uint64_t n = a.head_dim;
  uint64_t d = 0;
  for (; d + 64 <= n; d += 64) add_values<V, Q, 4>(v + d, n, p, low, high, o + d, o_stride);
  switch ((n - d) / 16) {
    case 3: add_values<V, Q, 3>(v + d, n, p, low, high, o + d, o_stride); break;
    case 2: add_values<V, Q, 2>(v + d, n, p, low, high, o + d, o_stride); break;
    case 1: add_values<V, Q, 1>(v + d, n, p, low, high, o + d, o_stride); break;
    default: break;
  }
  d += (n - d) / 16 * 16;
  if (d == n) return;
  const uint32_t left = static_cast<uint32_t>(n - d);
  for (int i = 0; i < Q; ++i) {
    F32x16::F sum = F32x16::load_part(o + i * o_stride + d, left);
    for (uint64_t j = low; j < high; ++j) sum = F32x16::fma(F32x16::set(p[i * kTile + j]), V::load_part(v + j * n + d, left), sum);
    F32x16::store_part(o + i * o_stride + d, sum, left);
  }
}

// Where in a tile a query sees.
struct Visible {
  uint64_t low, high;  // none if equal
  Visible(const Attend& a, uint32_t query, uint64_t start) {
    const auto inside = [start](uint64_t x) { return x <= start ? 0 : x - start < kTile ? x - start : kTile; };
    low = inside(a.first[query]), high = inside(a.end[query]);
  }
  bool all() const { return low == 0 && high == kTile; }
  // Of the panel's lanes, `in` where it sees, `out` elsewhere.
  F32x16::F select(int panel, F32x16::F in, F32x16::F out) const {
    const int32_t lane = 16 * panel;
    const F32x16::F below_high = F32x16::select(F32x16::first(static_cast<int32_t>(high) - lane), in, out);
    return F32x16::select(F32x16::first(static_cast<int32_t>(low) - lane), out, below_high);
  }
};

// What all of a few queries see is added for all at once; what only some see, before and after that, for each by itself.
template <class V> void tile_sums(const Attend& a, const uint8_t* values, const uint8_t* next, uint64_t start, const float* weights, float* partial) {
  const uint64_t stride = attend_record(a.head_dim);
  if (next) for (uint64_t i = 0; i < a.head_dim; ++i) fetch<V>(next, i);
  side_by_side(a.queries, [&](auto q, uint32_t first) {
    uint64_t low = 0, high = kTile;
    for (uint32_t i = first; i < first + q; ++i) {
      const Visible seen(a, i, start);
      low = seen.low > low ? seen.low : low, high = seen.high < high ? seen.high : high;
    }
    if (low > high) low = high;
    const auto alone = [&](uint32_t i, uint64_t from, uint64_t to) {
      tile_values<V, 1>(a, values, weights + i * kTile, from, to, partial + i * stride + 16, stride);
    };
    for (uint32_t i = first; i < first + q; ++i) {
      const Visible seen(a, i, start);
      alone(i, seen.low, low < seen.high ? low : seen.high);
    }
    tile_values<V, q>(a, values, weights + first * kTile, low, high, partial + first * stride + 16, stride);
    for (uint32_t i = first; i < first + q; ++i) {
      const Visible seen(a, i, start);
      alone(i, high > seen.low ? high : seen.low, seen.high);
    }
  });
}

template <class K, class V> void attend_tile(const Attend& a, uint64_t tile, uint64_t last, float* partial, float* l) {
  const uint64_t start = tile * kTile, page = a.pages[tile] * a.page_bytes, stride = attend_record(a.head_dim);
  const uint8_t *keys = a.keys + page, *values = a.values + page;
  const bool more = tile + 1 < last;
  const uint8_t *next_keys = more ? a.keys + a.pages[tile + 1] * a.page_bytes : nullptr, *next_values = more ? a.values + a.pages[tile + 1] * a.page_bytes : nullptr;
  float weights[kAttendQueries * kTile];
  const auto all_scores = [&](auto from, const uint8_t* block) {
    side_by_side(a.queries, [&](auto q, uint32_t i) { tile_scores<decltype(from), q>(a, block, i ? nullptr : next_keys, i, weights + i * kTile); });
  };
  constexpr bool coded = std::is_same_v<K, FromI8>;
  static_assert(coded == std::is_same_v<V, FromI8>);
  // For many queries the tile is widened once.
  const bool widen_keys = sizeof(typename K::T) < 4 && a.queries > kSideBySide, widen_values = sizeof(typename V::T) < 4 && a.queries > kSideBySide;
  const auto widened = [&](auto from, const uint8_t* block) {
    const auto* p = reinterpret_cast<const typename decltype(from)::T*>(block);
    for (uint64_t i = 0; i < kTile * a.head_dim; i += 16) F32x16::store(a.widened + i, decltype(from)::load(p + i));
    return reinterpret_cast<const uint8_t*>(a.widened);
  };
  if constexpr (coded) tile_scores_of_codes(a, keys, weights);
  else if (widen_keys) all_scores(FromF32(), widened(K(), keys));
  else all_scores(K(), keys);
  // The new maxima first, so that what they rescale by comes of one vector of exp.
  alignas(64) float shift[kAttendQueries] = {}, rescale[kAttendQueries];
  for (uint32_t i = 0; i < a.queries; ++i) {
    const Visible seen(a, i, start);
    if (seen.low >= seen.high) continue;
    const F32x16::F none = F32x16::set(-__builtin_inff());
    F32x16::F s[kTilePanels];
#pragma GCC unroll 4
    for (int k = 0; k < kTilePanels; ++k) s[k] = seen.all() ? F32x16::load(weights + i * kTile + 16 * k) : seen.select(k, F32x16::load(weights + i * kTile + 16 * k), none);
    const float top = F32x16::largest(F32x16::max(F32x16::max(s[0], s[1]), F32x16::max(s[2], s[3]))), old = partial[i * stride];
    partial[i * stride] = max_one(old, top);
    shift[i] = old - partial[i * stride];
  }
  for (uint32_t i = 0; i < a.queries; i += 16) F32x16::store(rescale + i, detail::lane_exp<F32x16>(F32x16::load(shift + i)));
  for (uint32_t i = 0; i < a.queries; ++i) {
    const Visible seen(a, i, start);
    if (seen.low >= seen.high) continue;
    float *record = partial + i * stride, *p = weights + i * kTile;
    const F32x16::F c = F32x16::set(rescale[i]), m = F32x16::set(record[0]), zero = F32x16::set(0.0f);
    F32x16::F w[kTilePanels];
#pragma GCC unroll 4
    for (int k = 0; k < kTilePanels; ++k) w[k] = detail::lane_exp<F32x16>(F32x16::sub(F32x16::load(p + 16 * k), m));
    F32x16::F sum = F32x16::mul(F32x16::load(l + i * 16), c);
#pragma GCC unroll 4
    for (int k = 0; k < kTilePanels; ++k) {
      if (!seen.all()) w[k] = seen.select(k, w[k], zero);
      F32x16::store(p + 16 * k, w[k]);
      sum = F32x16::add(sum, w[k]);
    }
    F32x16::store(l + i * 16, sum);
    if (rescale[i] != 1.0f) map(record + 16, record + 16, a.head_dim, [&](F32x16::F o) { return F32x16::mul(o, c); });  // times 1 changes no bit
  }
  if constexpr (coded) {
    widen_codes(a, values, a.widened);
    tile_sums<FromF32>(a, reinterpret_cast<const uint8_t*>(a.widened), nullptr, start, weights, partial);
  } else if (widen_values) tile_sums<FromF32>(a, widened(V(), values), nullptr, start, weights, partial);
  else tile_sums<V>(a, values, next_values, start, weights, partial);
}

template <class K, class V> void attend_segment(const Attend& a, uint64_t segment, float* partial) {
  const uint64_t stride = attend_record(a.head_dim), begin = segment * kAttendSegment;
  float l[kAttendQueries * 16] = {};
  uint64_t low = begin + kAttendSegment, high = begin;
  for (uint32_t i = 0; i < a.queries; ++i) {
    float* record = partial + i * stride;
    record[0] = -__builtin_inff();
    for (uint64_t d = 0; d < a.head_dim; ++d) record[16 + d] = 0.0f;
    low = a.first[i] < low ? a.first[i] : low, high = a.end[i] > high ? a.end[i] : high;
  }
  low = low < begin ? begin : low, high = high > begin + kAttendSegment ? begin + kAttendSegment : high;
  for (uint64_t tile = low / kTile; tile * kTile < high; ++tile) attend_tile<K, V>(a, tile, (high + kTile - 1) / kTile, partial, l);
  for (uint32_t i = 0; i < a.queries; ++i) partial[i * stride + 1] = F32x16::sum(F32x16::load(l + i * 16));
}

void attend(const Attend& a, uint64_t segment, float* partial) {
  // A state's tensors are f32, f16 or i8 (Check::state_tensor), so not all pairs of the weights' types are compiled.
  if (a.key_dtype == LINNET_I8) return attend_segment<FromI8, FromI8>(a, segment, partial);
  const bool wide_keys = a.key_dtype == LINNET_F32, wide_values = a.value_dtype == LINNET_F32;
  if (wide_keys) wide_values ? attend_segment<FromF32, FromF32>(a, segment, partial) : attend_segment<FromF32, FromF16>(a, segment, partial);
  else wide_values ? attend_segment<FromF16, FromF32>(a, segment, partial) : attend_segment<FromF16, FromF16>(a, segment, partial);
}

void fold(const float* partial, uint32_t head_dim, float* total) {
  if (partial[0] == -__builtin_inff() && partial[1] == 0.0f) return;  // it saw nothing of the segment; had it seen, the sum were not 0
  const float top = max_one(total[0], partial[0]), old_part = exp_one(total[0] - top), new_part = exp_one(partial[0] - top);
  total[0] = top;
  total[1] = detail::FloatLane::fma(partial[1], new_part, total[1] * old_part);
  const F32x16::F old_lanes = F32x16::set(old_part), new_lanes = F32x16::set(new_part);
  map2(partial + 16, total + 16, total + 16, head_dim, [&](F32x16::F x, F32x16::F t) { return F32x16::fma(x, new_lanes, F32x16::mul(t, old_lanes)); });
}

void finish_attention(const float* total, uint32_t head_dim, float* y) {
  map(total + 16, y, head_dim, [&](F32x16::F t) { return F32x16::div(t, F32x16::set(total[1])); });
}

// Bodies' matrix products: one output a time, one chain each.
void dot_rows(const Matmul& a) {
  for (uint64_t j = 0; j < a.positions; ++j) {
    const float* b = a.b + j * a.b_stride;
    float sum = 0.0f;
    for (uint32_t i = 0; i < a.width; ++i) sum = detail::FloatLane::fma(a.a[i], b[i], sum);
    a.y[j] = sum;
  }
}

void sum_rows(const Matmul& a) {
  for (uint32_t i = 0; i < a.width; ++i) a.y[i] = 0.0f;
  for (uint64_t j = 0; j < a.positions; ++j) {
    const F32x16::F weight = F32x16::set(a.a[j]);
    map2(a.b + j * a.b_stride, a.y, a.y, a.width, [&](F32x16::F b, F32x16::F sum) { return F32x16::fma(weight, b, sum); });
  }
}

}  // namespace
}  // namespace linnet::ops
