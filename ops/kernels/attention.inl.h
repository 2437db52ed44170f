// One query over cached keys and values, softmax kept online, in the order the numerics contract fixes:
//
//   segments of 256 positions and tiles of 64 (a page), both at absolute multiples; only tiles that hold a visible position are visited;
//   in a segment: m = -inf, l = o = +0; each tile ascending: scores, m' = max(m, tile), l and o times exp(m - m'), then
//     l[lane] += p (16 strided sums), o[d] = fma(p, v[d], o[d]) over visible positions ascending;
//   then the segment folds into the running (M, L, O), which start at (-inf, +0, +0):
//     M' = max(M, m), L = fma(l, exp(m - M'), L * exp(M - M')), O likewise; at the end y = O / L.
//
// So a result depends on the visible positions only: not on where a window began, what else is in the page, or how the prompt was cut.
#pragma once
#include "ops/kernels/rows.inl.h"

namespace linnet::ops {
namespace {

constexpr uint64_t kTile = LINNET_PAGE_POSITIONS, kSegment = 256;
constexpr int kTilePanels = 4;

float exp_one(float x) { return detail::lane_exp<detail::FloatLane>(x); }
float max_one(float a, float b) { return detail::FloatLane::max(a, b); }

// Scores of a tile's 64 positions: lanes are positions, each a chain of fma over the head's dimensions. Four panels hide fma's latency.
template <class K> void tile_scores(const Attend& a, const uint8_t* block, F32x16::F (&s)[kTilePanels]) {
  const typename K::T* keys = reinterpret_cast<const typename K::T*>(block);
  for (int p = 0; p < kTilePanels; ++p) s[p] = F32x16::set(0.0f);
  for (uint32_t d = 0; d < a.head_dim; ++d) {
    const F32x16::F q = F32x16::set(a.q[d]);
    for (int p = 0; p < kTilePanels; ++p) s[p] = F32x16::fma(K::load(keys + (static_cast<uint64_t>(p) * a.head_dim + d) * 16), q, s[p]);
  }
  for (int p = 0; p < kTilePanels; ++p) s[p] = scaled(s[p], a.scale, a.softcap);
}

// o = o * c, then one fma a visible position: C times 16 head dimensions side by side.
template <class V, int C> void add_values(const typename V::T* v, uint64_t stride, const float* p, uint64_t low, uint64_t high, float c, float* o) {
  F32x16::F sum[C];
  for (int i = 0; i < C; ++i) sum[i] = F32x16::mul(F32x16::load(o + 16 * i), F32x16::set(c));
  for (uint64_t j = low; j < high; ++j) {
    const F32x16::F weight = F32x16::set(p[j]);
    for (int i = 0; i < C; ++i) sum[i] = F32x16::fma(weight, V::load(v + j * stride + 16 * i), sum[i]);
  }
  for (int i = 0; i < C; ++i) F32x16::store(o + 16 * i, sum[i]);
}

template <class V> void tile_values(const Attend& a, const uint8_t* block, const float* p, uint64_t low, uint64_t high, float c, float* o) {
  const typename V::T* v = reinterpret_cast<const typename V::T*>(block);
  const uint64_t n = a.head_dim;
  uint64_t d = 0;
  for (; d + 64 <= n; d += 64) add_values<V, 4>(v + d, n, p, low, high, c, o + d);
  for (; d + 16 <= n; d += 16) add_values<V, 1>(v + d, n, p, low, high, c, o + d);
  if (d == n) return;
  const uint32_t left = static_cast<uint32_t>(n - d);
  F32x16::F sum = F32x16::mul(F32x16::load_part(o + d, left), F32x16::set(c));
  for (uint64_t j = low; j < high; ++j) sum = F32x16::fma(F32x16::set(p[j]), V::load_part(v + j * n + d, left), sum);
  F32x16::store_part(o + d, sum, left);
}

struct Online {
  float m;
  F32x16::F l;
};

template <class K, class V> void attend_tile(const Attend& a, uint64_t tile, Online& state, float* o) {
  const uint64_t start = tile * kTile, page = a.pages[tile] * a.page_bytes;
  const uint64_t low = a.first > start ? a.first - start : 0, high = a.end - start < kTile ? a.end - start : kTile;
  const F32x16::F none = F32x16::set(-__builtin_inff()), zero = F32x16::set(0.0f);
  const auto visible = [&](int panel, F32x16::F in, F32x16::F out) {
    const int32_t lane = 16 * panel;
    const F32x16::F below_high = F32x16::select(F32x16::first(static_cast<int32_t>(high) - lane), in, out);
    return F32x16::select(F32x16::first(static_cast<int32_t>(low) - lane), out, below_high);
  };
  F32x16::F s[kTilePanels];
  tile_scores<K>(a, a.keys + page, s);
  for (int p = 0; p < kTilePanels; ++p) s[p] = visible(p, s[p], none);
  const float top = F32x16::largest(F32x16::max(F32x16::max(s[0], s[1]), F32x16::max(s[2], s[3])));
  const float m = max_one(state.m, top), c = exp_one(state.m - m);
  float weights[kTile];
  state.l = F32x16::mul(state.l, F32x16::set(c));
  for (int p = 0; p < kTilePanels; ++p) {
    const F32x16::F w = visible(p, detail::lane_exp<F32x16>(F32x16::sub(s[p], F32x16::set(m))), zero);
    F32x16::store(weights + 16 * p, w);
    state.l = F32x16::add(state.l, w);
  }
  state.m = m;
  tile_values<V>(a, a.values + page, weights, low, high, c, o);
}

template <class K, class V> void attend_all(const Attend& a) {
  const uint64_t n = a.head_dim, tiles_in_segment = kSegment / kTile, end_tile = (a.end + kTile - 1) / kTile;
  float* o = a.scratch;
  float* total = o + (n + 15) / 16 * 16;
  float m = -__builtin_inff(), l = 0.0f;
  for (uint64_t d = 0; d < n; ++d) total[d] = 0.0f;
  for (uint64_t tile = a.first / kTile; tile < end_tile;) {
    const uint64_t segment_end = (tile / tiles_in_segment + 1) * tiles_in_segment, stop = segment_end < end_tile ? segment_end : end_tile;
    Online segment = {-__builtin_inff(), F32x16::set(0.0f)};
    for (uint64_t d = 0; d < n; ++d) o[d] = 0.0f;
    for (; tile < stop; ++tile) attend_tile<K, V>(a, tile, segment, o);
    const float top = max_one(m, segment.m), old_part = exp_one(m - top), new_part = exp_one(segment.m - top);
    m = top;
    l = detail::FloatLane::fma(F32x16::sum(segment.l), new_part, l * old_part);
    const F32x16::F old_lanes = F32x16::set(old_part), new_lanes = F32x16::set(new_part);
    map2(o, total, total, n, [&](F32x16::F x, F32x16::F t) { return F32x16::fma(x, new_lanes, F32x16::mul(t, old_lanes)); });
  }
  map(total, a.y, n, [&](F32x16::F t) { return F32x16::div(t, F32x16::set(l)); });
}

void attend(const Attend& a) {
  // A state's tensors are f32 or f16 (Check::state_tensor), so not all pairs of the weights' types are compiled.
  const bool wide_keys = a.key_dtype == LINNET_F32, wide_values = a.value_dtype == LINNET_F32;
  if (wide_keys) wide_values ? attend_all<FromF32, FromF32>(a) : attend_all<FromF32, FromF16>(a);
  else wide_values ? attend_all<FromF16, FromF32>(a) : attend_all<FromF16, FromF16>(a);
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
