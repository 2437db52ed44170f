// The arithmetic the ops call, one table an instruction set. All tables give the same bits: the order of operations is part of each
// kernel's meaning (docs at the kernels, in *.inl.h), and so is where it rounds.
//
// Vectors may be any length; a kernel touches exactly the elements named, except that `linear` stores and reads whole lanes of 16 outputs.
#pragma once
#include <cstdint>

#include "linnet/op.h"

namespace linnet::ops {

enum Activation : uint32_t { kNone = 0, kRelu = 1, kGelu = 2, kGeluTanh = 3, kSilu = 4 };
inline constexpr uint32_t kActivations = 5;

enum RopeStyle : uint32_t { kHalves = 0, kPairs = 1 };

// y[t][r] = act(sum over k of w[r][k] x[t][k] + bias[r]) * factor[t][r] + residual[t][r], for 16 * panels outputs r of `rows` rows t.
// Splitting panels or rows over calls changes no bit. bias, factor and residual may be null; they and y point at output 0 of this call;
// factor may be y.
struct Linear {
  const void* weights;  // R16, at the first panel of this call
  uint8_t dtype;
  uint64_t k, panels;
  const float* x;
  uint64_t x_stride;
  uint32_t rows;
  float* y;
  uint64_t y_stride;
  const float* bias;
  uint32_t activation;
  const float* factor;
  uint64_t factor_stride;
  const float* residual;
  uint64_t residual_stride;
};

// One query head over the cached positions [first, end) of its kv head. A page's block of this head: keys (or values) + page * page_bytes.
struct Attend {
  const float* q;
  uint32_t head_dim;
  float scale, softcap;  // softcap 0: none
  uint64_t first, end;
  const uint8_t* keys;    // panels: [4][head_dim][16]
  const uint8_t* values;  // rows: [64][head_dim]
  uint8_t key_dtype, value_dtype;
  uint64_t page_bytes;
  const uint32_t* pages;
  float* scratch;  // 2 * head_dim, each half rounded up to 16
  float* y;
};

// Per head h: y[h] = softmax over [first, n) of softcap(x[h] * scale); +0 below first.
struct Softmax {
  const float* x;
  float* y;
  uint64_t first, n;
  float scale, softcap;
};

// A head of a, times kv head's columns of b [positions][stride].
struct Matmul {
  const float* a;
  const float* b;
  uint64_t b_stride, positions;
  uint32_t width;  // columns of the head
  float* y;
};

struct Kernels {
  const char* name;
  const linnet_math* math;
  void (*linear)(const Linear&);
  void (*rms_norm)(const float* x, const float* weight, float* y, uint64_t n, float epsilon);  // y may be x; weight may be null
  void (*layer_norm)(const float* x, const float* weight, const float* bias, float* y, uint64_t n, float epsilon);
  void (*activate)(uint32_t activation, const float* x, float* y, uint64_t n);
  void (*add)(const float* a, const float* b, float* y, uint64_t n);
  void (*mul)(const float* a, const float* b, float* y, uint64_t n);
  void (*scale)(const float* x, float by, float* y, uint64_t n);
  void (*softmax)(const Softmax&);
  void (*rope)(const float* x, const float* table, float* y, uint32_t heads, uint32_t head_dim, uint32_t rotary_dim, uint32_t style);
  void (*attend)(const Attend&);
  void (*dot_rows)(const Matmul&);  // a [width], y [positions]: y[j] = sum over i of a[i] b[j][i]
  void (*sum_rows)(const Matmul&);  // a [positions], y [width]: y[i] = sum over j of a[j] b[j][i]
  // n elements, `stride` elements apart on the stored side. Widening is exact; narrowing as float16.h says. narrow takes f32 and f16.
  void (*widen)(uint8_t dtype, const void* from, uint64_t stride, uint64_t n, float* y);
  void (*narrow)(const float* x, uint64_t n, uint8_t dtype, void* to, uint64_t stride);
};

// NULL: the best this processor runs. nullptr if there is no set of that name, or this processor cannot run it.
const Kernels* select(const char* isa);

const Kernels* scalar_kernels();
#if LINNET_X86
const Kernels* avx2_kernels();
#endif
#if LINNET_AARCH64
const Kernels* neon_kernels();
#endif

}  // namespace linnet::ops
