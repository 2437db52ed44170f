// Byte-pair encoding of one word: its characters' ids, then merges, lowest rank first, leftmost among equals.
#pragma once
#include <cstdint>
#include <string_view>

#include "linnet/types.h"
#include "runtime/memory.h"
#include "runtime/text/section.h"

namespace linnet::detail {

// Ids that every word needs, found once.
struct BpeAlphabet {
  uint32_t bytes[256];  // byte_level: the token of each byte. Else: the <0x..> token of each
  uint32_t ascii[128];  // not byte_level: the token of each ASCII character
  void build(const TokenizerSection& section);
};

class Bpe {
 public:
  Bpe(const TokenizerSection& section, const BpeAlphabet& alphabet, const linnet_allocator& allocator)
      : section_(section), alphabet_(alphabet), symbols_(allocator), queue_(allocator) {}

  // Appends the ids of one word, which is not empty.
  linnet_code encode(std::string_view word, Vec<int32_t>* ids, linnet_error* error);

  uint64_t steps() const { return steps_; }  // merges tried so far: what the time goes with

 private:
  struct Symbol {
    uint32_t id;
    int32_t previous, next;
  };  // id kEmptySlot: merged into its left neighbour
  struct Merge {
    uint32_t rank, position, result;
  };

  bool start_bytes(std::string_view word);
  bool start_characters(std::string_view word);
  bool add(uint32_t id);
  bool add_unknown();
  bool flush_unknown();
  bool offer(int32_t left);
  bool merge_all();

  const TokenizerSection& section_;
  const BpeAlphabet& alphabet_;
  Vec<Symbol> symbols_;
  Vec<Merge> queue_;  // a heap
  bool unknown_ = false;
  uint64_t steps_ = 0;
};

}  // namespace linnet::detail
