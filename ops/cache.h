// Where an op's vectors lie in a state page (runtime/state_page.h): head by head, each head's 64 positions one run of bytes.
#pragma once
#include "ops/eval.h"
#include "runtime/state_page.h"

namespace linnet::ops {

// Tensor `tensor` of a state, seen as `heads` vectors a position.
struct StateHeads {
  uint64_t offset, element_bytes, head_dim;
  uint8_t dtype, layout;

  StateHeads(const linnet_state& s, uint32_t tensor, uint64_t heads)
      : offset(s.tensor_offsets[tensor]), element_bytes(detail::state_element_bytes(s.tensors[tensor].dtype)),
        head_dim(s.tensors[tensor].width / heads), dtype(s.tensors[tensor].dtype), layout(s.tensors[tensor].layout) {}

  // From the start of a page to a head's block.
  uint64_t block(uint64_t head) const { return offset + head * head_dim * detail::kPage * element_bytes; }
  // From the start of a page to the head's vector at a position, whose elements are stride() apart.
  uint64_t vector(uint64_t head, uint64_t position) const {
    const uint64_t p = position % detail::kPage;
    return block(head) + element_bytes * (layout == LINNET_STATE_PANELS ? p / 16 * 16 * head_dim + p % 16 : p * head_dim);
  }
  uint64_t stride() const { return layout == LINNET_STATE_PANELS ? 16 : 1; }
};

// The first position a row at `position` can see.
inline uint64_t first_visible(const linnet_state& s, uint64_t position) {
  return s.kind == LINNET_WINDOW && position + 1 > s.window ? position + 1 - s.window : 0;
}

}  // namespace linnet::ops
