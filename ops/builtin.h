// Every built-in op. Their context is null here; builtin.cpp registers copies whose context is the kernel set.
#pragma once
#include "linnet/op.h"

namespace linnet::ops {

constexpr linnet_op_def op(const char* name, decltype(linnet_op_def::plan) plan, decltype(linnet_op_def::init) init,
                           decltype(linnet_op_def::eval) eval) {
  return {sizeof(linnet_op_def), LINNET_OP_ABI, name, 1, 1, plan, init, eval, nullptr, nullptr};
}

extern const linnet_op_def kEmbedding, kRmsNorm, kLayerNorm, kLinear, kFeedForward, kRopeTable, kRope, kAttention, kSelectRows, kActivation, kAdd,
    kMul, kMatmul, kScaledMaskedSoftmax, kStateAppend, kStateView;

}  // namespace linnet::ops
