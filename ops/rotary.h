// The attributes of rotary embedding that rope and attention share.
#pragma once
#include "ops/eval.h"

namespace linnet::ops {

inline constexpr int64_t kMaxHeads = 1 << 16, kMaxHeadDim = 1 << 16;  // so that heads * head_dim cannot overflow

struct Rotary { uint32_t dim, style; };

// `table` is checked to hold dim / 2 cosines and as many sines a row.
inline Rotary read_rotary(Check& check, uint32_t head_dim, const linnet_value& table) {
  Rotary r = {};
  r.dim = static_cast<uint32_t>(check.integer("rotary_dim", 2, head_dim));
  r.style = static_cast<uint32_t>(check.integer("style", kHalves, kHalves, kPairs));
  if (r.dim % 2) check.fail("rotary_dim", r.dim + 1, r.dim, "rotary_dim is %u, and must be even", r.dim);
  check.width(table, "rope table", r.dim);
  return r;
}

}  // namespace linnet::ops
