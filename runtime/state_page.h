// The one description of a state page, read by sessions (which allocate, share and copy pages) and by the ops that fill them.
//
// A page holds 64 positions of one state: its tensors one after the other, each starting on 64 bytes. A tensor holds a vector a head for
// each position, head by head, so that one head's 64 positions are one run of bytes (a block). In a block of vectors of d elements,
//   rows    position p's elements are [p][d];
//   panels  positions come in panels of 16: element e of position p is at [p / 16][e][p % 16], so a vector lane is a position.
// An i8 block holds codes, and a scale for each group of 32 elements of a vector (the last one may be shorter); an element is scale * code:
//   rows    codes [64][d, padded to 16], then f32 scales [64][groups];
//   panels  a panel of 16 positions is a panel of R16K4 (ops/packing.h) whose rows are positions, whose columns a vector's elements.
#pragma once
#include "linnet/op.h"

namespace linnet::detail {

inline constexpr uint32_t kPage = LINNET_PAGE_POSITIONS;

inline uint64_t state_block_bytes(const linnet_state_tensor& t) {
  const uint64_t d = t.width / t.heads, groups = (d + 31) / 32;
  switch (t.dtype) {
    case LINNET_F32:
    case LINNET_I32: return kPage * d * 4;
    case LINNET_I8: return t.layout == LINNET_STATE_PANELS ? kPage / 16 * ((groups + 1) / 2 * 64 + groups * 512) : kPage * ((d + 15) / 16 * 16 + groups * 4);
    default: return kPage * d * 2;
  }
}

inline uint64_t state_tensor_bytes(const linnet_state_tensor& t) { return (t.heads * state_block_bytes(t) + 63) / 64 * 64; }

inline uint8_t* state_page(const linnet_state_memory& memory, const linnet_segment& segment, uint64_t position) {
  return memory.base + segment.pages[position / kPage] * memory.page_bytes;
}

}  // namespace linnet::detail
