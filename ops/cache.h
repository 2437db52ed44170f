// Where an op's vectors lie in a state page, and how they get there (runtime/state_page.h).
#pragma once
#include <cstring>

#include "ops/eval.h"
#include "ops/kernels/kernels.h"
#include "ops/packing.h"
#include "runtime/state_page.h"

namespace linnet::ops {

// A tensor of a state: a vector of head_dim elements a head and position.
class StateHeads {
 public:
  const uint64_t head_dim;
  const uint8_t dtype;

  StateHeads(const linnet_state& s, uint32_t tensor)
      : head_dim(s.tensors[tensor].width / s.tensors[tensor].heads), dtype(s.tensors[tensor].dtype), offset_(s.tensor_offsets[tensor]),
        block_(detail::state_block_bytes(s.tensors[tensor])), panels_(s.tensors[tensor].layout == LINNET_STATE_PANELS) {}

  // From the start of a page to a head's block.
  uint64_t block(uint64_t head) const { return offset_ + head * block_; }

  // What `write` needs of scratch, 64-byte aligned.
  static uint64_t scratch_bytes(uint64_t head_dim) { return QuantizedRow(head_dim).bytes; }

  void write(const Kernels& kernels, const float* x, uint8_t* page, uint64_t head, uint64_t position, void* scratch) const {
    uint8_t* to = page + block(head);
    const uint64_t p = position % detail::kPage;
    if (dtype != LINNET_I8) return kernels.narrow(x, head_dim, dtype, to + element(p), stride());
    const QuantizedRow row(head_dim);
    const uint64_t groups = packing::groups(head_dim);
    auto* codes = static_cast<uint8_t*>(scratch);
    kernels.quantize(x, head_dim, 0, groups, codes);
    if (panels_) {
      uint8_t* panel = to + p / 16 * packing::panel_bytes(dtype, head_dim);
      for (uint64_t i = 0; i < head_dim; i += 4) std::memcpy(panel + code(p, i), codes + i, 4);
      for (uint64_t g = 0; g < groups; ++g) kernels.narrow(scales(codes, row) + g, 1, LINNET_F16, panel + scale(p, g), 1);
    } else {
      std::memcpy(to + p * pad16(head_dim), codes, pad16(head_dim));
      std::memcpy(to + detail::kPage * pad16(head_dim) + p * groups * sizeof(float), scales(codes, row), groups * sizeof(float));
    }
  }

  void read(const Kernels& kernels, const uint8_t* page, uint64_t head, uint64_t position, float* x) const {
    const uint8_t* from = page + block(head);
    const uint64_t p = position % detail::kPage, groups = packing::groups(head_dim);
    if (dtype != LINNET_I8) return kernels.widen(dtype, from + element(p), stride(), head_dim, x);
    const uint8_t* panel = from + p / 16 * packing::panel_bytes(dtype, head_dim);
    const float* row_scales = reinterpret_cast<const float*>(from + detail::kPage * pad16(head_dim)) + p * groups;
    for (uint64_t i = 0; i < head_dim; ++i) {
      float by = row_scales[i / packing::kGroup];
      if (panels_) kernels.widen(LINNET_F16, panel + scale(p, i / packing::kGroup), 1, 1, &by);
      x[i] = by * static_cast<float>(static_cast<int8_t>(panels_ ? panel[code(p, i)] : from[p * pad16(head_dim) + i]));
    }
  }

 private:
  static const float* scales(const uint8_t* quantized, const QuantizedRow& row) { return reinterpret_cast<const float*>(quantized + row.scales); }
  // Of floats: from a head's block to position p's first element, and from one element to the next, in elements.
  uint64_t element(uint64_t p) const { return (panels_ ? p / 16 * 16 * head_dim + p % 16 : p * head_dim) * packing::float_bytes(dtype); }
  uint64_t stride() const { return panels_ ? 16 : 1; }
  // Of codes, from the start of position p's panel.
  uint64_t code(uint64_t p, uint64_t i) const {
    return packing::codes_at(dtype, i / packing::kGroup) + packing::code_byte(dtype, p % 16, i % packing::kGroup);
  }
  uint64_t scale(uint64_t p, uint64_t g) const { return packing::scales_at(dtype, g) + p % 16 * sizeof(uint16_t); }

  uint64_t offset_, block_;
  bool panels_;
};

// The first position a row at `position` can see.
inline uint64_t first_visible(const linnet_state& s, uint64_t position) {
  return s.kind == LINNET_WINDOW && position + 1 > s.window ? position + 1 - s.window : 0;
}

}  // namespace linnet::ops
