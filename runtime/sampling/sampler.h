// From adjusted logits to one token: temperature, top-k, top-p, min-p, draw.
#pragma once
#include "linnet/c.h"
#include "runtime/sampling/ranking.h"

namespace linnet::detail {

// Temperatures below this are 0: at 1e-4, a logit 0.01 below the best already weighs nothing.
inline constexpr float kGreedyBelow = 1e-4f;

// Everything up to the point where one token is chosen: checks, adjusts, scans. LINNET_NOT_FINITE if no token can be.
linnet_code prepare(float* logits, uint32_t vocabulary, const int32_t* history, uint64_t history_count, const linnet_sampling* sampling,
                    const Scratch& scratch, Scan* out, linnet_error* error);

// The tokens that may be drawn, best first, with their weights; their probabilities are weight / total.
struct Kept {
  const Candidate* candidates;
  uint32_t count;
  double total;
};
Kept keep(const float* logits, uint32_t vocabulary, const linnet_sampling& sampling, const Scan& scanned, const Scratch& scratch);

// The token at `u` in [0, 1) of the cumulative weights: the first that reaches beyond u * total.
linnet_sampled choose(const float* logits, uint32_t vocabulary, const linnet_sampling& sampling, const Scan& scanned, const Scratch& scratch,
                      double u);

}  // namespace linnet::detail
