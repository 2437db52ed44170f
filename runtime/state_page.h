// The one description of a state page, read by sessions (which allocate, share and copy pages) and by the ops that fill them.
//
// A page holds 64 positions of one state: its tensors one after the other, each starting on 64 bytes. In a tensor of layout
//   rows    position p's elements are [p][width];
//   panels  positions come in panels of 16: element e of position p is at [p / 16][e][p % 16], so a vector lane is a position.
// A tensor whose width covers several heads is laid out head by head by the op that owns it (ops/attention.cpp: width = kv heads x
// head dimension, each head a panel block or row block of its own), so that one head's 64 positions are one run of bytes.
#pragma once
#include "linnet/op.h"

namespace linnet::detail {

inline constexpr uint32_t kPage = LINNET_PAGE_POSITIONS;

inline uint64_t state_element_bytes(uint8_t dtype) { return dtype == LINNET_F32 || dtype == LINNET_I32 ? 4 : dtype == LINNET_I8 ? 1 : 2; }

inline uint64_t state_tensor_bytes(const linnet_state_tensor& t) { return (uint64_t{kPage} * t.width * state_element_bytes(t.dtype) + 63) / 64 * 64; }

inline uint8_t* state_page(const linnet_state_memory& memory, const linnet_segment& segment, uint64_t position) {
  return memory.base + segment.pages[position / kPage] * memory.page_bytes;
}

}  // namespace linnet::detail
