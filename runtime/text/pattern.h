// PCRE2, with the library's memory and limits, and every failure reported.
#pragma once
#include <cstddef>
#include <string_view>

#include "linnet/types.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;
struct pcre2_real_general_context_8;

namespace linnet::detail {

// The pattern of GPT-2's pre-tokenizer, which tokenizer.json calls ByteLevel with use_regex.
extern const std::string_view kByteLevelPattern;

// A compiled pattern; may be used by several threads.
class Pattern {
 public:
  Pattern() = default;
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  linnet_code compile(std::string_view pattern, const linnet_allocator& allocator, linnet_error* error);
  explicit operator bool() const { return code_ != nullptr; }

 private:
  friend class Matcher;
  linnet_allocator allocator_{};
  pcre2_real_general_context_8* general_ = nullptr;
  pcre2_real_code_8* code_ = nullptr;
};

// One thread's use of a pattern.
class Matcher {
 public:
  Matcher() = default;
  ~Matcher();
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;
  linnet_code prepare(const Pattern& pattern, linnet_error* error);
  // The first match of `text`, which is valid UTF-8, at or after `from`. *found false: none.
  linnet_code find(std::string_view text, size_t from, bool* found, size_t* start, size_t* end, linnet_error* error);

 private:
  const Pattern* pattern_ = nullptr;
  pcre2_real_match_data_8* data_ = nullptr;
  pcre2_real_match_context_8* context_ = nullptr;
};

// What Hugging Face's single_word takes for a part of a word: \w of the Rust regex crate.
class WordCharacters {
 public:
  linnet_code prepare(const linnet_allocator& allocator, linnet_error* error);
  linnet_code contains(std::string_view text, size_t at, bool* yes, linnet_error* error) const;

 private:
  Pattern pattern_;
};

}  // namespace linnet::detail
