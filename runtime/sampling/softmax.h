// Weights of tokens: exp((logit - highest) / temperature), so that the best token weighs exactly 1.
#pragma once
#include <cstdint>

#include "runtime/sampling/order.h"

namespace linnet::detail {

// What all weights of one distribution share.
struct Scale { float highest, temperature; };
constexpr float log_weight(float logit, Scale scale) { return (logit - scale.highest) / scale.temperature; }

// The work over many tokens, once for any processor and once for those with fma: the same bits, an order of magnitude apart.
struct SoftmaxFunctions {
  // The sum of all weights: 16 sums, strided by token id, then one tree. `block_highest`: the order keys of the highest logit of each block
  // (ranking.h).
  double (*total)(const float* logits, uint32_t vocabulary, Scale scale, const int32_t* block_highest);
  // Puts the tokens' weights in place of their ranks.
  void (*weigh)(Candidate* candidates, uint32_t count, const float* logits, Scale scale);
};
extern const SoftmaxFunctions kSoftmaxPortable;
const SoftmaxFunctions& softmax();  // the best for this processor

}  // namespace linnet::detail
