// A tokenizer ready to use: the checked section, and the little that is worked out from it once.
#pragma once
#include <string_view>

#include "linnet/c.h"
#include "runtime/memory.h"
#include "runtime/text/added.h"
#include "runtime/text/bpe.h"
#include "runtime/text/pattern.h"
#include "runtime/text/section.h"

namespace linnet::detail {

class Tokenizer {
 public:
  explicit Tokenizer(const linnet_allocator& allocator) : allocator_(allocator) {}

  // Verifies the section, which must outlive the tokenizer.
  linnet_code open(const void* section, size_t bytes, linnet_error* error);

  // Appends the ids of `text`; flags are linnet_encode_flags. The steps that merging took are added to *steps, where that is not null.
  linnet_code encode(std::string_view text, uint32_t flags, Vec<int32_t>* ids, linnet_error* error, uint64_t* steps = nullptr) const;

  // The id of a token's own spelling, added tokens included; -1: none.
  int32_t find(std::string_view spelling) const;

  const TokenizerSection& section() const { return section_; }
  const linnet_allocator& allocator() const { return allocator_; }

 private:
  friend class Encoder;
  linnet_allocator allocator_;
  TokenizerSection section_;
  BpeAlphabet alphabet_{};
  AddedIndex raw_, normalized_;
  Pattern pattern_;
  WordCharacters words_;
};

}  // namespace linnet::detail
