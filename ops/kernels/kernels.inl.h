// Everything a kernel set is made of, written once over F32x16. Include one dot_<isa>.h before this file; nothing here has external
// linkage but the set's one function, so the linker can never put a function compiled for one processor into another's path.
#pragma once
#include "ops/kernels/activation.inl.h"
#include "ops/kernels/attention.inl.h"
#include "ops/kernels/host_math.inl.h"

namespace linnet::ops {
namespace {

template <F32x16::F (*fn)(F32x16::F)> void math_map(const float* x, float* y, size_t n) { map(x, y, n, fn); }

template <int shift> void math_sine(const float* x, float* y, size_t n) {
  size_t i = 0;
  for (; i + F64::kLanes <= n; i += F64::kLanes) F64::store(y + i, detail::lane_sine<F64, shift>(F64::load(x + i)));
  for (; i < n; ++i) y[i] = static_cast<float>(detail::lane_sine<detail::DoubleLane, shift>(static_cast<double>(x[i])));
}

}  // namespace
}  // namespace linnet::ops

#define LINNET_KERNELS(isa)                                                                                                              \
  const Kernels* isa##_kernels() {                                                                                                       \
    static constexpr linnet_math math = {sizeof(linnet_math), #isa, math_map<detail::lane_exp<F32x16>>, math_map<detail::lane_tanh<F32x16>>, \
                                         math_map<detail::lane_erf<F32x16>>, math_map<detail::lane_log<F32x16>>, math_sine<0>, math_sine<1>,  \
                                         math_linear, math_dequantize};                                                                  \
    static constexpr Kernels kernels = {#isa,    &math,  linear, quantize, rms_norm, layer_norm, activate, add, mul,                    \
                                        scale,   softmax, rope,  attend, fold, finish_attention, dot_rows, sum_rows, widen, narrow};                \
    return &kernels;                                                                                                                     \
  }
