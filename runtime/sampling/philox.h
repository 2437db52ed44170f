// Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC'11): a random function of a
// counter instead of a state that has to be carried along. So a draw depends on seed and position alone, and a session that was
// truncated, forked or saved draws what it would have drawn anyway.
#pragma once
#include <array>
#include <cstdint>

namespace linnet::detail {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// Independent sequences of one seed. Ids are for ever: a seed must give the same text in every version.
enum class Stream : uint32_t { token = 0 };

// A number in [0, 1), a multiple of 2^-53: the upper 53 bits of the block's first two words, the second word leading.
constexpr double uniform(uint64_t seed, uint64_t position, Stream stream) {
  const PhiloxCounter bits = philox({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), static_cast<uint32_t>(stream), 0},
                                    {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return static_cast<double>((uint64_t{bits[1]} << 32 | bits[0]) >> 11) * 0x1p-53;
}

}  // namespace linnet::detail
