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

// What the matrices of an op read: floats, or quantized rows (kernels.h), or both.
struct Reads {
  bool floats = false, codes = false;
  void matrix(const linnet_tensor& w) { (packing::is_integer(w.dtype) ? codes : floats) = true; }
};

// Rows of x as the matrices are to read them, made once for all of them: x itself, or normed, or quantized.
struct InputRows {
  const float* data;
  uint64_t stride;
  const uint8_t* codes;
  uint64_t code_stride;
};

// Scratch for that many rows of a width.
uint64_t prepared_bytes(Check& check, const Prologue& p, const Reads& reads, uint64_t rows, uint64_t width);

// All threads call it. One row is prepared by each thread for itself, in its own scratch, since meeting the others costs more; several are dealt
// out into `scratch`, and it ends with a barrier. The op asks for prepared_bytes of one row of thread memory, and of all rows of step memory.
InputRows prepared_rows(const linnet_op_eval* e, const linnet_thread& thread, const Prologue& p, const Reads& reads, const linnet_rows& x,
                        void* scratch);

// Points `a` at the weights from `panel` on, at rows as they read them, and at the outputs of these panels.
void read_matrix(Linear& a, const linnet_tensor& w, const float* bias, uint64_t panel, const InputRows& in, uint32_t rows, float* y, uint64_t y_stride);

}  // namespace linnet::ops
