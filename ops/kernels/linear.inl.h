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

// R rows times P panels, held in registers.
template <class W, int R, int P> void linear_tile(const Linear& a, uint64_t row, uint64_t panel) {
  const typename W::T* w = static_cast<const typename W::T*>(a.weights) + panel * a.k * kPanel;
  const float* x = a.x + row * a.x_stride;
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

// A few panels stay in cache while all rows pass over them.
template <class W> void linear_all(const Linear& a) {
  constexpr uint64_t group = 4;
  constexpr int R = F32x16::kTileRows;
  for (uint64_t begin = 0; begin < a.panels; begin += group) {
    const uint64_t end = begin + group < a.panels ? begin + group : a.panels;
    uint32_t row = 0;
    if constexpr (R > 1) {
      for (; row + R <= a.rows; row += R) linear_rows<W, R, 1>(a, row, begin, end);
      for (; row + 2 <= a.rows; row += 2) linear_rows<W, 2, 2>(a, row, begin, end);
    }
    for (; row < a.rows; ++row) linear_rows<W, 1, F32x16::kTilePanels>(a, row, begin, end);
  }
}

void linear(const Linear& a) {
  with_dtype(a.dtype, [&](auto loader) { linear_all<decltype(loader)>(a); });
}

// The host table's form of it. Weights it cannot read give NaN, which fails the step, never silently wrong numbers.
void math_linear(const linnet_tensor* w, uint64_t first, uint64_t panels, const float* x, uint64_t x_stride, uint32_t rows, float* y,
                 uint64_t y_stride) {
  const uint64_t k = w->shape[2];
  Linear a = {};
  a.dtype = w->dtype;
  a.k = k;
  a.panels = panels;
  a.x = x, a.x_stride = x_stride, a.rows = rows;
  a.y = y, a.y_stride = y_stride;
  const bool readable = w->layout == LINNET_R16 && w->rank == 2 && w->dtype <= LINNET_BF16 && first % kPanel == 0;
  if (readable) {
    a.weights = static_cast<const uint8_t*>(w->data) + first * k * (w->dtype == LINNET_F32 ? 4 : 2);
    linear(a);
    return;
  }
  for (uint32_t t = 0; t < rows; ++t) for (uint64_t i = 0; i < panels * kPanel; ++i) y[t * y_stride + i] = __builtin_nanf("");
}

}  // namespace
}  // namespace linnet::ops
