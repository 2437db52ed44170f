// The arithmetic the ops call, one table an instruction set. All tables give the same bits: the order of operations is part of each
// kernel's meaning (docs at the kernels, in *.inl.h), and so is where it rounds.
//
// Vectors may be any length; a kernel touches exactly the elements named, except that `linear` stores and reads whole lanes of 16 outputs.
#pragma once
#include <cstdint>

#include "linnet/op.h"
#include "ops/packing.h"

namespace linnet::ops {

enum Activation : uint32_t { kNone = 0, kRelu = 1, kGelu = 2, kGeluTanh = 3, kSilu = 4 };
inline constexpr uint32_t kActivations = 5;

enum RopeStyle : uint32_t { kHalves = 0, kPairs = 1 };

// y[t][r] = act(sum over k of w[r][k] x[t][k] + bias[r]) * factor[t][r] + residual[t][r], for 16 * panels outputs r of `rows` rows t.
// Splitting panels or rows over calls changes no bit. bias, factor and residual may be null; they and y point at output 0 of this call;
// factor may be y.
struct Linear {
  const void* weights;  // R16 or R16K4 (packing.h), at the first panel of this call
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
  // Of integer weights, which read these instead of x: rows as `quantize` writes them, code_stride bytes apart; and i4's table of levels.
  const uint8_t* codes;
  uint64_t code_stride;
  const float* levels;
};

// A row of activations as integer weights read it, 64-byte aligned: an int8 code for each column (0 in the padding of the last group), then an
// f32 scale a group, then an int32 a group: -128 times the sum of its codes.
struct QuantizedRow {
  uint64_t scales, offsets, bytes;  // where the two tables begin; the whole, a multiple of 64
  explicit constexpr QuantizedRow(uint64_t k) : scales(0), offsets(0), bytes(0) {
    const uint64_t groups = packing::groups(k);
    scales = (groups * packing::kGroup + 63) / 64 * 64;
    offsets = scales + (groups * 4 + 63) / 64 * 64;
    bytes = offsets + (groups * 4 + 63) / 64 * 64;
  }
};

// Queries over the cached positions of one kv head: query i sees [first[i], end[i]). A page's block of this head: keys (or values) +
// page * page_bytes. One call computes one segment of positions; `fold` joins segments in ascending order.
inline constexpr uint32_t kAttendQueries = 64;    // at most, in a call
inline constexpr uint64_t kAttendSegment = 256;
struct Attend {
  const float* q;
  uint64_t q_stride;
  uint32_t queries, head_dim;
  float scale, softcap;  // softcap 0: none
  const uint64_t *first, *end;
  const uint8_t* keys;    // in panels, and
  const uint8_t* values;  // in rows, as runtime/state_page.h says
  uint8_t key_dtype, value_dtype;  // f32 or f16 each, or i8 both
  uint64_t page_bytes;
  const uint32_t* pages;
  float* widened;  // 64 * head_dim floats of scratch
  // Of i8 keys, which read these instead of q: queries as `quantize` writes them, code_stride bytes apart.
  const uint8_t* codes;
  uint64_t code_stride;
};
// What a query has of a segment, or of all of them so far: the largest score, the sum of weights, and from float 16 on the sum of values.
constexpr uint64_t attend_record(uint32_t head_dim) { return 16 + (head_dim + 15) / 16 * 16; }  // floats
inline void attend_nothing(float* record, uint32_t head_dim) {
  record[0] = -__builtin_inff();
  for (uint64_t i = 1; i < attend_record(head_dim); ++i) record[i] = 0.0f;
}

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
  // Groups [first, last) of a row of k floats; writes a QuantizedRow(k)'s entries of those groups. A group's largest magnitude m gives
  // scale = m / 127 and code = round-half-to-even(x * (127 / m)); m < 2^-100 gives scale and codes 0; an infinity or NaN scale NaN and codes 0.
  void (*quantize)(const float* x, uint64_t k, uint64_t first, uint64_t last, uint8_t* row);
  void (*rms_norm)(const float* x, const float* weight, float* y, uint64_t n, float epsilon);  // y may be x; weight may be null
  void (*layer_norm)(const float* x, const float* weight, const float* bias, float* y, uint64_t n, float epsilon);
  void (*activate)(uint32_t activation, const float* x, float* y, uint64_t n);
  void (*add)(const float* a, const float* b, float* y, uint64_t n);
  void (*mul)(const float* a, const float* b, float* y, uint64_t n);
  void (*scale)(const float* x, float by, float* y, uint64_t n);
  void (*softmax)(const Softmax&);
  void (*rope)(const float* x, const float* table, float* y, uint32_t heads, uint32_t head_dim, uint32_t rotary_dim, uint32_t style);
  void (*attend)(const Attend&, uint64_t segment, float* partial);  // partial: a record a query
  void (*fold)(const float* partial, uint32_t head_dim, float* total);  // total starts as attend_nothing
  void (*finish_attention)(const float* total, uint32_t head_dim, float* y);
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
const Kernels* avxvnni_kernels();
const Kernels* avx512_kernels();
#endif
#if LINNET_AARCH64
const Kernels* neon_kernels();
const Kernels* neon_dot_kernels();
#endif

}  // namespace linnet::ops
