// A tokenizer section as plain pointers into its bytes, after everything in it has been checked.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "linnet/types.h"
#include "runtime/text/hash.h"

namespace linnet::detail {

enum : uint8_t { kTokenPresent = 1, kTokenSpecial = 2, kTokenAdded = 4, kTokenRenamed = 8 };
enum : uint8_t { kAddedSpecial = 1, kAddedLstrip = 2, kAddedRstrip = 4, kAddedSingleWord = 8 };

struct MergeSlot {
  uint32_t left, right, rank, result;
};  // as in the schema

// Text to look for, sorted by bytes. Entry i is text[ends[i-1] .. ends[i]); ends[-1] is `base`.
struct AddedList {
  const char* text = nullptr;
  const uint32_t* ends = nullptr;
  const uint32_t* ids = nullptr;
  const uint8_t* flags = nullptr;
  uint32_t count = 0, base = 0;
  std::string_view entry(uint32_t i) const {
    const uint32_t start = i ? ends[i - 1] : base;
    return {text + start, ends[i] - start};
  }
};

// One step of the normalizer. prepend: text is empty.
struct NormalizerStep {
  bool prepend;
  std::string_view text, content;
};

struct TokenizerSection {
  uint32_t vocabulary = 0;
  const char* tokens = nullptr;
  const uint32_t* ends = nullptr;
  const uint8_t* flags = nullptr;
  const uint32_t* token_slots = nullptr;
  uint64_t token_mask = 0;
  const MergeSlot* merge_slots = nullptr;
  uint64_t merge_mask = 0;
  int64_t unk = -1;
  bool byte_fallback = false, fuse_unk = false, ignore_merges = false;

  AddedList added_raw, added_normalized;
  NormalizerStep normalizers[kMaxSteps];
  uint32_t normalizer_count = 0;

  const uint32_t* renamed_ids = nullptr;  // ascending
  const char* renamed_text = nullptr;
  const uint32_t* renamed_ends = nullptr;
  uint32_t renamed_count = 0;

  bool byte_level = false;                           // the vocabulary is in bytes; else in characters
  bool add_prefix_space = false, use_regex = false;  // of byte_level

  bool join_with_spaces = false;                   // no decoder
  std::string_view replace_text, replace_content;  // decoder; replace_text empty: none
  bool decode_byte_fallback = false;
  std::string_view strip;  // one character; empty: none
  uint32_t strip_count = 0;

  const uint32_t* before = nullptr;
  const uint32_t* after = nullptr;
  uint32_t before_count = 0, after_count = 0;
  std::string_view chat_template;
  uint32_t longest_token = 0;  // bytes, of spellings and what ids decode to

  bool present(uint64_t id) const { return id < vocabulary && (flags[id] & kTokenPresent); }
  std::string_view spelling(uint32_t id) const {
    const uint32_t start = id ? ends[id - 1] : 0;
    return {tokens + start, ends[id] - start};
  }

  // What an id decodes to, before the decoder.
  std::string_view decoded(uint32_t id) const {
    if (!(flags[id] & kTokenRenamed)) return spelling(id);
    const uint32_t i = static_cast<uint32_t>(std::lower_bound(renamed_ids, renamed_ids + renamed_count, id) - renamed_ids);
    if (i == renamed_count || renamed_ids[i] != id) return spelling(id);
    const uint32_t start = i ? renamed_ends[i - 1] : 0;
    return {renamed_text + start, renamed_ends[i] - start};
  }

  // The model's own token of this spelling, or kEmptySlot. Ends: the verifier has seen empty slots everywhere.
  uint32_t find(std::string_view text) const {
    for (uint64_t slot = token_hash(text) & token_mask;; slot = (slot + 1) & token_mask) {
      const uint32_t id = token_slots[slot];
      if (id == kEmptySlot || spelling(id) == text) return id;
    }
  }
  const MergeSlot* find_merge(uint32_t left, uint32_t right) const {
    for (uint64_t i = pair_hash(left, right) & merge_mask;; i = (i + 1) & merge_mask) {
      const MergeSlot& slot = merge_slots[i];
      if (slot.left == left && slot.right == right) return &slot;
      if (slot.left == kEmptySlot) return nullptr;
    }
  }
};

// Checks everything in a section, in time linear in its size, and points into it. `data` is 8-byte aligned and outlives `out`.
linnet_code read_tokenizer(const void* data, size_t bytes, TokenizerSection* out, linnet_error* error);
inline linnet_code verify_tokenizer(const void* data, size_t bytes, linnet_error* error) {
  TokenizerSection ignored;
  return read_tokenizer(data, bytes, &ignored, error);
}

}  // namespace linnet::detail
