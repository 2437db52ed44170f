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

// Scores of a tile's 64 positions for Q queries: lanes are positions, each a chain of fma over the head's dimensions.
template <class K, int Q> void tile_scores(const Attend& a, const uint8_t* block, uint32_t query, float* out) {
  const typename K::T* keys = reinterpret_cast<const typename K::T*>(block);
  const float* q = a.q + query * a.q_stride;
  F32x16::F s[Q][kTilePanels];
#pragma GCC unroll 4
  for (int i = 0; i < Q; ++i)
#pragma GCC unroll 4
    for (int p = 0; p < kTilePanels; ++p) s[i][p] = F32x16::set(0.0f);
  for (uint32_t d = 0; d < a.head_dim; ++d) {
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
  for (; d + 16 <= n; d += 16) add_values<V, Q, 1>(v + d, n, p, low, high, o + d, o_stride);
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
};

template <class K, class V> void attend_tile(const Attend& a, uint64_t tile, float* partial, float* l) {
  const uint64_t start = tile * kTile, page = a.pages[tile] * a.page_bytes, stride = attend_record(a.head_dim);
  float weights[kAttendQueries * kTile];
  side_by_side(a.queries, [&](auto q, uint32_t i) { tile_scores<K, q>(a, a.keys + page, i, weights + i * kTile); });
  const F32x16::F none = F32x16::set(-__builtin_inff()), zero = F32x16::set(0.0f);
  for (uint32_t i = 0; i < a.queries; ++i) {
    const Visible seen(a, i, start);
    if (seen.low >= seen.high) continue;
    float *record = partial + i * stride, *p = weights + i * kTile;
    const auto visible = [&](int panel, F32x16::F in, F32x16::F out) {
      const int32_t lane = 16 * panel;
      const F32x16::F below_high = F32x16::select(F32x16::first(static_cast<int32_t>(seen.high) - lane), in, out);
      return F32x16::select(F32x16::first(static_cast<int32_t>(seen.low) - lane), out, below_high);
    };
    F32x16::F s[kTilePanels];
    for (int k = 0; k < kTilePanels; ++k) s[k] = visible(k, F32x16::load(p + 16 * k), none);
    const float top = F32x16::largest(F32x16::max(F32x16::max(s[0], s[1]), F32x16::max(s[2], s[3])));
    const float m = max_one(record[0], top);
    const F32x16::F c = F32x16::set(exp_one(record[0] - m));
    F32x16::F sum = F32x16::mul(F32x16::load(l + i * 16), c);
    for (int k = 0; k < kTilePanels; ++k) {
      const F32x16::F w = visible(k, detail::lane_exp<F32x16>(F32x16::sub(s[k], F32x16::set(m))), zero);
      F32x16::store(p + 16 * k, w);
      sum = F32x16::add(sum, w);
    }
    F32x16::store(l + i * 16, sum);
    record[0] = m;
    map(record + 16, record + 16, a.head_dim, [&](F32x16::F o) { return F32x16::mul(o, c); });
  }
  // What all of a few queries see is added for all at once; what only some see, before and after that, for each by itself.
  side_by_side(a.queries, [&](auto q, uint32_t first) {
    uint64_t low = 0, high = kTile;
    for (uint32_t i = first; i < first + q; ++i) {
      const Visible seen(a, i, start);
      low = seen.low > low ? seen.low : low, high = seen.high < high ? seen.high : high;
    }
    if (low > high) low = high;
    const auto alone = [&](uint32_t i, uint64_t from, uint64_t to) {
      tile_values<V, 1>(a, a.values + page, weights + i * kTile, from, to, partial + i * stride + 16, stride);
    };
    for (uint32_t i = first; i < first + q; ++i) {
      const Visible seen(a, i, start);
      alone(i, seen.low, low < seen.high ? low : seen.high);
    }
    tile_values<V, q>(a, a.values + page, weights + first * kTile, low, high, partial + first * stride + 16, stride);
    for (uint32_t i = first; i < first + q; ++i) {
      const Visible seen(a, i, start);
      alone(i, high > seen.low ? high : seen.low, seen.high);
    }
  });
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
  for (uint64_t tile = low / kTile; tile * kTile < high; ++tile) attend_tile<K, V>(a, tile, partial, l);
  for (uint32_t i = 0; i < a.queries; ++i) partial[i * stride + 1] = F32x16::sum(F32x16::load(l + i * 16));
}

void attend(const Attend& a, uint64_t segment, float* partial) {
  // A state's tensors are f32 or f16 (Check::state_tensor), so not all pairs of the weights' types are compiled.
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
