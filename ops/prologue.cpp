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

uint64_t prepared_bytes(Check& check, const Prologue& p, const Reads& reads, uint64_t rows, uint64_t width) {
  uint64_t bytes = p.norm != kNoNorm ? check.row_bytes(rows, width) : 0;
  if (reads.codes) bytes = check.sum(bytes, check.product(rows, QuantizedRow(width).bytes));
  return bytes;
}

InputRows prepared_rows(const linnet_op_eval* e, const linnet_thread& thread, const Prologue& p, const Reads& reads, const linnet_rows& x,
                        void* scratch) {
  InputRows in = {static_cast<const float*>(x.data), x.stride, nullptr, 0};
  if (p.norm == kNoNorm && !reads.codes) return in;
  const bool alone = x.rows == 1;
  float* normed = static_cast<float*>(alone ? thread.scratch : scratch);
  const uint64_t stride = pad16(x.width);
  uint8_t* codes = reinterpret_cast<uint8_t*>(normed) + (p.norm != kNoNorm ? x.rows * stride * sizeof(float) : 0);
  if (p.norm != kNoNorm) in.data = normed, in.stride = stride;
  if (reads.codes) in.codes = codes, in.code_stride = QuantizedRow(x.width).bytes;
  const Kernels& k = kernels(e);
  const float *weights = floats(weight(e, 0)), *bias = floats(weight(e, 1));
  const Range mine = alone ? Range{0, 1} : split(x.rows, thread);
  for (uint64_t t = mine.begin; t < mine.end; ++t) {
    if (p.norm == kRms) k.rms_norm(row(x, t), weights, normed + t * stride, x.width, p.epsilon);
    else if (p.norm == kLayer) k.layer_norm(row(x, t), weights, bias, normed + t * stride, x.width, p.epsilon);
    if (reads.codes) k.quantize(in.data + t * in.stride, x.width, 0, packing::groups(x.width), codes + t * in.code_stride);
  }
  if (!alone) e->host->barrier(&thread);
  return in;
}

void read_matrix(Linear& a, const linnet_tensor& w, const float* bias, uint64_t panel, const InputRows& in, uint32_t rows, float* y, uint64_t y_stride) {
  const uint64_t output = panel * packing::kPanelRows;
  a.weights = static_cast<const uint8_t*>(w.data) + panel * packing::panel_bytes(w.dtype, w.shape[2]);
  a.dtype = w.dtype, a.levels = w.levels, a.k = w.shape[2];
  a.x = in.data, a.x_stride = in.stride;
  a.codes = in.codes, a.code_stride = in.code_stride, a.rows = rows;
  a.y = y + output, a.y_stride = y_stride;
  a.bias = bias ? bias + output : nullptr;
}

}  // namespace linnet::ops
