// Activations, sixteen at a time, as PyTorch defines them.
#pragma once
#include "ops/kernels/load.inl.h"

namespace linnet::ops {
namespace {

template <class L> typename L::F relu(typename L::F x) { return L::select(L::lt(x, L::set(0.0f)), L::set(0.0f), x); }  // keeps NaN

// x/2 (1 + erf(x / sqrt 2))
template <class L> typename L::F gelu(typename L::F x) {
  const typename L::F e = detail::lane_erf<L>(L::mul(x, L::set(0x1.6a09e6p-1f)));
  return L::mul(L::mul(L::set(0.5f), x), L::add(L::set(1.0f), e));
}

// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
template <class L> typename L::F gelu_tanh(typename L::F x) {
  const typename L::F cube = L::fma(L::mul(L::mul(x, x), L::set(0.044715f)), x, x);
  const typename L::F t = detail::lane_tanh<L>(L::mul(L::set(0x1.988454p-1f), cube));
  return L::mul(L::mul(L::set(0.5f), x), L::add(L::set(1.0f), t));
}

// x / (1 + e^-x)
template <class L> typename L::F silu(typename L::F x) {
  return L::div(x, L::add(L::set(1.0f), detail::lane_exp<L>(L::sub(L::set(0.0f), x))));
}

F32x16::F activation(uint32_t kind, F32x16::F x) {
  switch (kind) {
    case kRelu: return relu<F32x16>(x);
    case kGelu: return gelu<F32x16>(x);
    case kGeluTanh: return gelu_tanh<F32x16>(x);
    case kSilu: return silu<F32x16>(x);
    default: return x;
  }
}

void activate(uint32_t kind, const float* x, float* y, uint64_t n) {
  switch (kind) {  // outside the loop, so that each loop is one function
    case kRelu: map(x, y, n, relu<F32x16>); break;
    case kGelu: map(x, y, n, gelu<F32x16>); break;
    case kGeluTanh: map(x, y, n, gelu_tanh<F32x16>); break;
    case kSilu: map(x, y, n, silu<F32x16>); break;
    default: map(x, y, n, [](F32x16::F v) { return v; }); break;
  }
}

}  // namespace
}  // namespace linnet::ops
