// The order of tokens (higher logit first, lower id on a tie) in integers. Comparing bits instead of floats makes NaN and infinities
// ordinary values that no compiler flag can wish away, and makes one 64-bit number of a token's whole rank.
#pragma once
#include <bit>
#include <cstdint>

namespace linnet::detail {

// Integers in the order of the floats: -0 and +0 are both 0, infinities are +-kInfinityKey, NaNs lie outside of them.
inline constexpr int32_t kInfinityKey = 0x7F800000;
constexpr int32_t order_key(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return static_cast<int32_t>(bits >> 31 ? 0x80000000u - bits : bits);
}
constexpr float from_order_key(int32_t key) {
  return std::bit_cast<float>(key < 0 ? 0x80000000u - static_cast<uint32_t>(key) : static_cast<uint32_t>(key));
}
constexpr bool is_finite(float x) { return order_key(x) < kInfinityKey && order_key(x) > -kInfinityKey; }

// A candidate is a token with its rank in the upper half: ascending numbers are descending logits, then ascending ids. Once ranked, the
// upper half is free to hold the token's weight instead.
using Candidate = uint64_t;
constexpr Candidate candidate(int32_t key, uint32_t token) { return uint64_t{0x7FFFFFFFu - static_cast<uint32_t>(key)} << 32 | token; }
constexpr Candidate weighed(float weight, uint32_t token) { return uint64_t{std::bit_cast<uint32_t>(weight)} << 32 | token; }
constexpr uint32_t token_of(Candidate c) { return static_cast<uint32_t>(c); }
constexpr float weight_of(Candidate c) { return std::bit_cast<float>(static_cast<uint32_t>(c >> 32)); }

}  // namespace linnet::detail
