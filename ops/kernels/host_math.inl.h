// What the host's table offers to ops of any author: a weight times rows, and a weight's row as floats, whatever its format. Formats that cannot be
// read give NaN, which fails the step, never silently wrong numbers.
#pragma once
#include "ops/kernels/integer.inl.h"

namespace linnet::ops {
namespace {

bool readable(const linnet_tensor* w) {
  return w->layout == LINNET_R16K4 ? packing::is_integer(w->dtype) && (w->dtype == LINNET_I8 || w->levels)
                                   : w->layout == LINNET_R16 && w->dtype <= LINNET_BF16;
}

void not_a_number(float* y, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) y[i] = __builtin_nanf("");
}

// Integer weights read rows as `quantize` leaves them; here that is done a row at a time, in the stack.
template <uint8_t dtype> void quantized_linear(Linear a) {
  constexpr uint64_t most = 64;  // groups at once
  const uint64_t groups = packing::groups(a.k), stride = packing::panel_bytes(dtype, a.k);
  alignas(64) uint8_t codes[QuantizedRow(most * kGroupColumns).bytes];
  const Dot::Table table = level_table(a.levels);
  for (uint64_t row = 0; row < a.rows; ++row) {
    for (uint64_t begin = 0; begin < groups; begin += most) {
      const uint64_t end = begin + most < groups ? begin + most : groups, first = begin * kGroupColumns;
      const uint64_t columns = a.k - first < most * kGroupColumns ? a.k - first : most * kGroupColumns;
      quantize(a.x + row * a.x_stride + first, columns, 0, end - begin, codes);
      for (uint64_t panel = 0; panel < a.panels; ++panel) {
        float* y = a.y + row * a.y_stride + panel * kPanel;
        const uint8_t* at = static_cast<const uint8_t*>(a.weights) + panel * stride + begin / 2 * packing::superblock_bytes(dtype);
        F32x16::F acc[1][1] = {{begin ? F32x16::load(y) : F32x16::set(0.0f)}};
        integer_tile<1, 1>(Packed<dtype>{at, stride, table, false}, QuantizedRow(columns), codes, 0, 0, end - begin, acc);
        F32x16::store(y, acc[0][0]);
      }
    }
  }
}

void math_linear(const linnet_tensor* w, uint64_t first, uint64_t panels, const float* x, uint64_t x_stride, uint32_t rows, float* y,
                 uint64_t y_stride) {
  Linear a = {};
  a.dtype = w->dtype, a.levels = w->levels;
  a.k = w->shape[2], a.panels = panels;
  a.x = x, a.x_stride = x_stride, a.rows = rows;
  a.y = y, a.y_stride = y_stride;
  if (!readable(w) || w->rank != 2 || first % kPanel) {
    for (uint32_t t = 0; t < rows; ++t) not_a_number(y + t * y_stride, panels * kPanel);
    return;
  }
  a.weights = static_cast<const uint8_t*>(w->data) + first / kPanel * packing::panel_bytes(w->dtype, a.k);
  if (w->dtype == LINNET_I8) quantized_linear<LINNET_I8>(a);
  else if (w->dtype == LINNET_I4) quantized_linear<LINNET_I4>(a);
  else linear(a);
}

// One row of a 1-D, 2-D or 3-D weight.
void math_dequantize(const linnet_tensor* w, uint64_t row, float* y) {
  const uint64_t k = w->shape[2];
  const uint8_t* data = static_cast<const uint8_t*>(w->data);
  if (w->layout == LINNET_PLAIN && w->dtype <= LINNET_BF16) return widen(w->dtype, data + row * k * packing::float_bytes(w->dtype), 1, k, y);
  if (!readable(w)) return not_a_number(y, k);
  const uint64_t in_expert = row % w->shape[1], lane = in_expert % kPanel;
  const uint8_t* panel = data + (row / w->shape[1] * packing::panels(w->shape[1]) + in_expert / kPanel) * packing::panel_bytes(w->dtype, k);
  if (w->layout == LINNET_R16) return widen(w->dtype, panel + lane * packing::float_bytes(w->dtype), kPanel, k, y);
  dequantize_row(w->dtype, w->levels, panel, lane, k, y);
}

}  // namespace
}  // namespace linnet::ops
