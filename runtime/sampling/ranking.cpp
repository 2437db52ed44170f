#include "runtime/sampling/ranking.h"

#include <algorithm>
#include <cstring>

namespace linnet::detail {
namespace {

constexpr int32_t kLowestDrawable = -kInfinityKey + 1;

uint32_t block_end(uint32_t block, uint32_t vocabulary) { return block + 1 < blocks_of(vocabulary) ? (block + 1) * kBlock : vocabulary; }

}  // namespace

size_t scratch_bytes(uint32_t vocabulary) {
  // The last term lets the caller's pointer have any alignment.
  return sizeof(Candidate) * (size_t{vocabulary} + 1) + 2 * sizeof(int32_t) * size_t{blocks_of(vocabulary)} + alignof(Candidate) - 1;
}

Scratch cut_scratch(void* bytes, uint32_t vocabulary) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(bytes);
  auto* const list = reinterpret_cast<Candidate*>(static_cast<unsigned char*>(bytes) + (0 - address) % alignof(Candidate));
  auto* const highest = reinterpret_cast<int32_t*>(list + vocabulary + 1);
  return {list, list, highest, highest + blocks_of(vocabulary)};
}

Scan scan(const float* logits, uint32_t vocabulary, const Scratch& scratch) {
  const uint32_t blocks = blocks_of(vocabulary);
  int32_t top = INT32_MIN, bottom = INT32_MAX;
  for (uint32_t b = 0; b < blocks; ++b) {
    const uint32_t end = block_end(b, vocabulary);
    int32_t high = INT32_MIN, low = INT32_MAX;
    for (uint32_t i = b * kBlock; i < end; ++i) {
      const int32_t key = order_key(logits[i]);
      high = std::max(high, key);
      low = std::min(low, key);
    }
    scratch.highest[b] = high;
    top = std::max(top, high);
    bottom = std::min(bottom, low);
  }
  uint32_t at = 0;
  while (scratch.highest[at] != top) ++at;
  uint32_t token = at * kBlock;
  while (order_key(logits[token]) != top) ++token;
  return {top < kInfinityKey && bottom >= -kInfinityKey, top, token};
}

// Lowers the floor until at least `n` tokens are gathered, or all.
void Ranking::gather(uint32_t n) {
  const uint32_t blocks = blocks_of(vocabulary_);
  int32_t floor = kLowestDrawable;
  if (n <= blocks) {
    // n blocks reach up to the n-th highest block maximum, so at least n tokens do, and few more: no other bound is that cheap.
    std::memcpy(scratch_.selected, scratch_.highest, sizeof(int32_t) * blocks);
    std::nth_element(scratch_.selected, scratch_.selected + (n - 1), scratch_.selected + blocks, [](int32_t a, int32_t b) { return a > b; });
    floor = std::max(floor, scratch_.selected[n - 1]);
  }
  Candidate* const list = scratch_.list;
  uint32_t count = gathered_;
  for (uint32_t b = 0; b < blocks; ++b) {
    if (scratch_.highest[b] < floor) continue;
    const uint32_t end = block_end(b, vocabulary_);
    for (uint32_t i = b * kBlock; i < end; ++i) {  // written always, kept sometimes: the branch could not be predicted
      const int32_t key = order_key(logits_[i]);
      list[count] = candidate(key, i);
      count += key >= floor && key < floor_;
    }
  }
  gathered_ = count;
  floor_ = floor;
}

void Ranking::rank(uint32_t n) {
  if (n <= ranked_) return;
  if (n > gathered_ && floor_ > kLowestDrawable) gather(n);
  n = std::min(n, gathered_);
  Candidate* const first = scratch_.list + ranked_;
  Candidate* const last = scratch_.list + gathered_;
  Candidate* end = scratch_.list + n;
  if (last - end > end - first) std::nth_element(first, end, last);
  else end = last;  // little is left over: one sort is cheaper than coming back
  std::sort(first, end);
  ranked_ = static_cast<uint32_t>(end - scratch_.list);
}

}  // namespace linnet::detail
