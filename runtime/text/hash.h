// The hash tables of the tokenizer section: one description, read by the converter that builds them and the runtime that searches them.
#pragma once
#include <cstdint>
#include <string_view>

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

namespace linnet::detail {

inline constexpr uint32_t kEmptySlot = 0xFFFFFFFFu;
inline constexpr uint32_t kSlotBlock = 512;  // every aligned block of so many slots has an empty one: what a search costs, whoever wrote the table

// Limits that hold for a section; what the converter writes keeps them, and the verifier refuses what does not.
inline constexpr uint32_t kMaxVocabulary = 1u << 22;
inline constexpr uint32_t kMaxTokenBytes = 0xFFFF;
inline constexpr uint32_t kMaxAddedBytes = 512;  // text to look for: what one position of a text costs at most
inline constexpr uint32_t kMaxStepBytes = 256;   // a literal to look for or to put in its place
inline constexpr uint32_t kMaxSteps = 16;        // in one list
inline constexpr uint32_t kMaxGrowth = 64;       // how many times longer normalizing or decoding may make a text
inline constexpr uint32_t kMaxTemplate = 64;     // ids on one side

inline uint64_t token_hash(std::string_view spelling) { return XXH3_64bits(spelling.data(), spelling.size()); }

// MurmurHash3's 64-bit finalizer: neighbouring ids must not become neighbouring slots, or runs grow.
inline uint64_t pair_hash(uint32_t left, uint32_t right) {
  uint64_t h = uint64_t{left} << 32 | right;
  h ^= h >> 33;
  h *= 0xFF51AFD7ED558CCDu;
  h ^= h >> 33;
  h *= 0xC4CEB9FE1A85EC53u;
  return h ^ h >> 33;
}

// Slots for `used` entries: a power of two, at most two in three used, so that there is always an empty one to stop at.
inline uint64_t table_slots(uint64_t used) {
  uint64_t n = 2;
  while (n * 2 < used * 3) n *= 2;
  return n;
}

// Whether every search in a table ends, and soon. No branch on what a slot holds: slots are as good as random.
template <typename Used>
bool searchable(uint64_t slots, const Used& used) {
  const uint64_t block = slots < kSlotBlock ? slots : kSlotBlock;
  for (uint64_t start = 0; start < slots; start += block) {
    uint32_t empty = 0;
    for (uint64_t i = start; i < start + block; ++i) empty |= !used(i);
    if (!empty) return false;
  }
  return true;
}

}  // namespace linnet::detail
