#include "ops/prologue.h"

namespace linnet::ops {

Prologue read_prologue(Check& check, uint64_t width) {
  Prologue p = {};
  p.norm = static_cast<uint32_t>(check.integer("norm", kNoNorm, kNoNorm, kLayer));
  if (p.norm == kNoNorm) {
    check.real("epsilon", 0.0f, 0.0, 1e30);  // allowed and unused, so that a converter may always write it
    check.absent_weight(0, "norm weight", "norm is 0");
    check.absent_weight(1, "norm bias", "norm is 0");
    return p;
  }
  p.epsilon = check.real("epsilon", 0.0, 1e30);
  check.optional_vector(0, "norm weight", width);
  if (p.norm == kRms) check.absent_weight(1, "norm bias", "an RMS norm has none");
  else check.optional_vector(1, "norm bias", width);
  return p;
}

InputRows normed_rows(const linnet_op_eval* e, const linnet_thread& thread, const Prologue& p, const linnet_rows& x, float* scratch) {
  if (p.norm == kNoNorm) return {static_cast<const float*>(x.data), x.stride};
  const Kernels& k = kernels(e);
  const uint64_t stride = pad16(x.width);
  const float *weights = floats(weight(e, 0)), *bias = floats(weight(e, 1));
  const Range mine = split(x.rows, thread);
  for (uint64_t t = mine.begin; t < mine.end; ++t) {
    if (p.norm == kRms) k.rms_norm(row(x, t), weights, scratch + t * stride, x.width, p.epsilon);
    else k.layer_norm(row(x, t), weights, bias, scratch + t * stride, x.width, p.epsilon);
  }
  e->host->barrier(&thread);
  return {scratch, stride};
}

}  // namespace linnet::ops
