// The norm that linear and feed_forward can take before their first matrix: weights 0 and 1, attributes norm and epsilon.
#pragma once
#include "ops/eval.h"

namespace linnet::ops {

enum Norm : uint32_t { kNoNorm = 0, kRms = 1, kLayer = 2 };

struct Prologue {
  uint32_t norm;
  float epsilon;
};

Prologue read_prologue(Check& check, uint64_t width);

// Rows of x as the matrices are to read them: x itself, or normed into `scratch` (rows padded to 16). All threads call it; it ends with a
// barrier if it wrote anything.
struct InputRows {
  const float* data;
  uint64_t stride;
};
InputRows normed_rows(const linnet_op_eval* e, const linnet_thread& thread, const Prologue& p, const linnet_rows& x, float* scratch);

}  // namespace linnet::ops
