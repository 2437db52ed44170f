// The one description of packed weights, read by the packer (converter) and the kernels.
//
// R16, for f32, f16 and bf16: a matrix [rows, K] is cut into panels of 16 rows; a panel is K-major: element (row r, column k) is
// at [r / 16][k][r % 16]. Rows are padded to 16 with zeros; K is not padded. Rank 3 is one such matrix an expert, one after the other.
// A vector lane is an output row, so no sum is ever split over lanes (the numerics contract).
#pragma once
#include <cstdint>

#include "linnet/op.h"

namespace linnet::packing {

inline constexpr uint64_t kPanelRows = 16;

constexpr uint64_t float_bytes(uint8_t dtype) { return dtype == LINNET_F32 ? 4 : 2; }
constexpr uint64_t panels(uint64_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }
constexpr uint64_t padded_rows(uint64_t rows) { return panels(rows) * kPanelRows; }

// Elements, not bytes.
constexpr uint64_t r16_panel_elements(uint64_t k) { return k * kPanelRows; }
constexpr uint64_t r16_index(uint64_t row, uint64_t column, uint64_t k) {
  return row / kPanelRows * r16_panel_elements(k) + column * kPanelRows + row % kPanelRows;
}
constexpr uint64_t r16_bytes(uint8_t dtype, uint64_t experts, uint64_t rows, uint64_t k) {
  return experts * padded_rows(rows) * k * float_bytes(dtype);
}

}  // namespace linnet::packing
