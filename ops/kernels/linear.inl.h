// Matrix times rows, over R16 panels. A lane is an output; each output is one chain of fma over k from +0, then bias, activation, factor,
// residual, in this order. Tiles only choose which chains run side by side, so no tile changes a bit.
#pragma once
#include "ops/kernels/activation.inl.h"
#include "ops/kernels/load.inl.h"

namespace linnet::ops {
namespace {

constexpr uint64_t kPanel = 16;  // packing::kPanelRows

template <class V> V finish(const Linear& a, V sum, uint64_t row, uint64_t output) {
  if (a.bias) sum = F32x16::add(sum, F32x16::load(a.bias + output));
  sum = activation(a.activation, sum);
  if (a.factor) sum = F32x16::mul(sum, F32x16::load(a.factor + row * a.factor_stride + output));
  if (a.residual) sum = F32x16::add(sum, F32x16::load(a.residual + row * a.residual_stride + output));
  return sum;
}

// What finish will read of a row lies far from what it read before: ask for it while the sums are made.
inline void fetch_for_finish(const Linear& a, uint64_t row, uint64_t output, int panels) {
  for (int p = 0; p < panels; ++p, output += kPanel) {
    if (a.factor) __builtin_prefetch(a.factor + row * a.factor_stride + output);
    if (a.residual) __builtin_prefetch(a.residual + row * a.residual_stride + output);
  }
}

// R rows times P panels, held in registers.
template <class W, int R, int P> void linear_tile(const Linear& a, uint64_t row, uint64_t panel) {
  const typename W::T* w = static_cast<const typename W::T*>(a.weights) + panel * a.k * kPanel;
  const float* x = a.x + row * a.x_stride;
  for (int r = 0; r < R; ++r) fetch_for_finish(a, row + r, panel * kPanel, P);
  F32x16::F sum[R][P];
  for (int r = 0; r < R; ++r) for (int p = 0; p < P; ++p) sum[r][p] = F32x16::set(0.0f);
  for (uint64_t k = 0; k < a.k; ++k) {
    F32x16::F lane[P];
    for (int p = 0; p < P; ++p) lane[p] = W::load(w + (p * a.k + k) * kPanel);
    for (int r = 0; r < R; ++r) {
      const F32x16::F xk = F32x16::set(x[r * a.x_stride + k]);
      for (int p = 0; p < P; ++p) sum[r][p] = F32x16::fma(lane[p], xk, sum[r][p]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int p = 0; p < P; ++p) {
      const uint64_t output = (panel + p) * kPanel;
      F32x16::store(a.y + (row + r) * a.y_stride + output, finish(a, sum[r][p], row + r, output));
    }
  }
}

// R rows over panels [begin, end), P at a time.
template <class W, int R, int P> void linear_rows(const Linear& a, uint64_t row, uint64_t begin, uint64_t end) {
  uint64_t panel = begin;
  for (; panel + P <= end; panel += P) linear_tile<W, R, P>(a, row, panel);
  for (; panel < end; ++panel) linear_tile<W, R, 1>(a, row, panel);
}

// A block of rows stays in the second cache while the panels pass over it, a few panels in the first while the rows pass over them.
template <class W> void linear_floats(const Linear& a) {
  constexpr int R = F32x16::kTileRows, P = F32x16::kTilePanels;
  constexpr uint64_t row_block = 128;
  for (uint64_t first = 0; first < a.rows; first += row_block) {
    const uint64_t last = first + row_block < a.rows ? first + row_block : a.rows;
    if (last - first == 1) {
      linear_rows<W, 1, F32x16::kRowPanels>(a, first, 0, a.panels);
      continue;
    }
    constexpr uint64_t group = P > 1 ? P : 4;
    for (uint64_t begin = 0; begin < a.panels; begin += group) {
      const uint64_t end = begin + group < a.panels ? begin + group : a.panels;
      uint64_t row = first;
      if constexpr (R > 1) {
        for (; row + R <= last; row += R) linear_rows<W, R, P>(a, row, begin, end);
        if constexpr (R > 4) for (; row + 4 <= last; row += 4) linear_rows<W, 4, P>(a, row, begin, end);
        for (; row + 2 <= last; row += 2) linear_rows<W, 2, P>(a, row, begin, end);
      }
      for (; row < last; ++row) linear_rows<W, 1, F32x16::kRowPanels>(a, row, begin, end);
    }
  }
}

}  // namespace
}  // namespace linnet::ops
