// The tokens from the highest logit down, ranked only as far as somebody asks: a nucleus is a few hundred tokens of 150 000, and
// sorting the others would cost more than a small model's step.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/sampling/order.h"

namespace linnet::detail {

// Tokens are looked at in blocks whose highest logits are kept: a block below the wanted rank is skipped as a whole.
inline constexpr uint32_t kBlock = 64;
constexpr uint32_t blocks_of(uint32_t vocabulary) { return vocabulary / kBlock + (vocabulary % kBlock != 0); }

// What one call works in, cut from the caller's bytes. `seen` and `list` share their bytes: the penalty is over before candidates exist.
struct Scratch {
  Candidate* list;    // vocabulary + 1: gathering writes one past what it keeps
  uint64_t* seen;     // one bit a token
  int32_t* highest;   // of each block
  int32_t* selected;  // a copy of `highest` to select in
};
size_t scratch_bytes(uint32_t vocabulary);
Scratch cut_scratch(void* bytes, uint32_t vocabulary);

// One pass over the logits: fills `highest` of the scratch and finds the maximum.
struct Scan {
  bool finite;        // no NaN, no +inf; -inf is an ordinary "never"
  int32_t highest;    // order_key of the highest logit
  uint32_t token;     // the lowest id that has it
};
Scan scan(const float* logits, uint32_t vocabulary, const Scratch& scratch);

class Ranking {
 public:
  Ranking(const float* logits, uint32_t vocabulary, const Scratch& scratch) : logits_(logits), vocabulary_(vocabulary), scratch_(scratch) {}
  // The highest `n` tokens are ranked after this, or all that can be drawn if they are fewer; perhaps more than asked.
  void rank(uint32_t n);
  uint32_t ranked() const { return ranked_; }
  // The entries below ranked(), best first. The caller may change these: they are never compared again.
  Candidate* list() const { return scratch_.list; }

 private:
  void gather(uint32_t n);
  const float* logits_;
  uint32_t vocabulary_;
  Scratch scratch_;
  uint32_t ranked_ = 0, gathered_ = 0;  // the list: ranked entries, then those gathered and in no order
  int32_t floor_ = kInfinityKey;        // all tokens with keys from here up are gathered
};

}  // namespace linnet::detail
