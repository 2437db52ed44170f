// The one description of packed weights, read by the packer (converter) and the kernels.
//
// R16, for f32, f16 and bf16: a matrix [rows, K] is cut into panels of 16 rows; a panel is K-major: element (row r, column k) is
// at [r / 16][k][r % 16]. Rows are padded to 16 with zeros; K is not padded. Rank 3 is one such matrix an expert, one after the other.
// A vector lane is an output row, so no sum is ever split over lanes (the numerics contract).
//
// R16K4, for i8 and i4: the same panels of 16 rows. K is cut into groups of 32 columns, the last one padded; each row has one f16 scale
// a group. A panel is a run of superblocks of two groups (an odd last group is a superblock of its own):
//   64 bytes   scales: f16 [2 groups][16 rows] (the missing second group's are 0)
//   codes      of the first group, then of the second
// The codes of a group are units of 64 bytes; a unit holds 4 columns of each row, row r's in bytes 4 r .. 4 r + 3:
//   i8   8 units: byte 4 r + j of unit u is the code of column 4 u + j, a signed byte, -127..127
//   i4   4 units: byte 4 r + j of unit u holds column 4 u + j in its low and column 16 + 4 u + j in its high four bits, 0..15: indices into
//        the tensor's table of 16 levels, which are whole numbers from -127 to 127
// A weight is scale * code, or scale * level. Padding is zero bytes. A processor reads a panel front to back, a unit in one, two or four
// registers, and multiplies it by the same four activations for every row.
#pragma once
#include <cstdint>

#include "linnet/op.h"

namespace linnet::packing {

inline constexpr uint64_t kPanelRows = 16, kGroup = 32, kLevels = 16;

constexpr bool is_integer(uint8_t dtype) { return dtype == LINNET_I8 || dtype == LINNET_I4; }
constexpr uint64_t float_bytes(uint8_t dtype) { return dtype == LINNET_F32 ? 4 : 2; }
constexpr uint64_t panels(uint64_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }
constexpr uint64_t padded_rows(uint64_t rows) { return panels(rows) * kPanelRows; }

// Elements, not bytes.
constexpr uint64_t r16_panel_elements(uint64_t k) { return k * kPanelRows; }
constexpr uint64_t r16_index(uint64_t row, uint64_t column, uint64_t k) {
  return row / kPanelRows * r16_panel_elements(k) + column * kPanelRows + row % kPanelRows;
}

constexpr uint64_t groups(uint64_t k) { return (k + kGroup - 1) / kGroup; }
constexpr uint64_t group_code_bytes(uint8_t dtype) { return dtype == LINNET_I4 ? 256 : 512; }
constexpr uint64_t superblock_bytes(uint8_t dtype) { return 64 + 2 * group_code_bytes(dtype); }
// From the start of a panel: group g's 16 scales, and its codes.
constexpr uint64_t scales_at(uint8_t dtype, uint64_t g) { return g / 2 * superblock_bytes(dtype) + g % 2 * 32; }
constexpr uint64_t codes_at(uint8_t dtype, uint64_t g) { return g / 2 * superblock_bytes(dtype) + 64 + g % 2 * group_code_bytes(dtype); }
// From the start of a group's codes: the byte of row r's column j (both within panel and group), and the bit its code begins at.
constexpr uint64_t code_byte(uint8_t dtype, uint64_t r, uint64_t j) {
  return (dtype == LINNET_I4 ? j % 16 : j) / 4 * 64 + 4 * r + j % 4;
}
constexpr uint32_t code_shift(uint8_t dtype, uint64_t j) { return dtype == LINNET_I4 && j >= 16 ? 4 : 0; }

constexpr uint64_t panel_bytes(uint8_t dtype, uint64_t k) {
  return is_integer(dtype) ? (groups(k) + 1) / 2 * 64 + groups(k) * group_code_bytes(dtype) : r16_panel_elements(k) * float_bytes(dtype);
}
constexpr uint64_t matrix_bytes(uint8_t dtype, uint64_t experts, uint64_t rows, uint64_t k) { return experts * panels(rows) * panel_bytes(dtype, k); }

}  // namespace linnet::packing
