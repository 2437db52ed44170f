// Stop strings: the text ends before the first of them to be completed, wherever the borders of tokens lie.
#pragma once
#include <cstdint>
#include <string_view>

#include "linnet/types.h"
#include "runtime/memory.h"
#include "runtime/text/stream.h"

namespace linnet::detail {

// Text goes in in pieces and comes out as soon as it cannot be the beginning of a stop string any more. What is held back is always the
// beginning of some stop string, so that no text needs to be kept: only how far each string has come (Knuth, Morris and Pratt's automaton).
class StopFilter {
 public:
  explicit StopFilter(const linnet_allocator& allocator) : text_(allocator), fallback_(allocator), strings_(allocator) {}

  // Empty strings, and such as are not UTF-8, are refused. Replaces what was set before.
  linnet_code set(const char* const* stops, uint32_t count, linnet_error* error);
  // Begins a new text.
  void restart();
  // True: a stop string ended inside `piece`; `out` has all the text before it, and nothing more is to be put.
  bool put(std::string_view piece, TextOut* out);
  // The text is over: what was held back comes out.
  void flush(TextOut* out);
  // Bytes held back at most.
  size_t longest() const { return longest_; }

 private:
  struct String {
    uint32_t start, size, matched;
  };
  void release(size_t count, TextOut* out);

  Vec<char> text_;
  Vec<uint32_t> fallback_;  // for each byte: how much of the string still matches when the next byte does not
  Vec<String> strings_;
  size_t longest_ = 0;
  uint32_t held_ = 0;  // the string whose beginning is held back
  uint32_t held_size_ = 0;
};

}  // namespace linnet::detail
