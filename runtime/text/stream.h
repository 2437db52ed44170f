// Ids to text, token by token: whole characters, as soon as they are whole.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

#include "runtime/text/section.h"
#include "runtime/text/utf8.h"

namespace linnet::detail {

// Where text goes: what fits is written, all of it is counted.
struct TextOut {
  char* data = nullptr;
  size_t capacity = 0, size = 0;
  void put(std::string_view text) {
    if (size < capacity && !text.empty()) std::memcpy(data + size, text.data(), text.size() < capacity - size ? text.size() : capacity - size);
    size += text.size();
  }
};

// What the pieces add up to is what Hugging Face's decode gives for all the ids, but for one case that no stream can have both ways: a run
// of <0x..> tokens that is not UTF-8 as a whole. Hugging Face replaces every byte of such a run; here the characters at its start that
// were whole have been told already, and the bytes from the first mistake on are replaced.
class TextStream {
 public:
  void start(const TokenizerSection* section, bool skip_special);
  void feed(uint32_t id, TextOut* out);
  // The ids end here: a character that is not whole becomes what it becomes in a full decode. Further ids go on in the same text.
  void finish(TextOut* out);

  // Every byte of the run of <0x..> tokens that begins with the next id is replaced: for those who can look ahead.
  void spoil_run() { spoiled_ = true; }
  bool shown(uint32_t id) const { return section_->present(id) && !(skip_special_ && (section_->flags[id] & kTokenSpecial)); }
  bool in_run() const { return in_run_; }
  // The byte that a <0x..> token stands for, or -1.
  int byte_of(uint32_t id) const;

  // Bytes that one feed, or finish, puts out at most.
  static size_t longest_piece(const TokenizerSection& section);

 private:
  void put(std::string_view text, TextOut* out);
  void put_run_byte(uint8_t byte, TextOut* out);
  void end_run(TextOut* out);
  void put_bytes(std::string_view bytes, TextOut* out);
  void put_replaced(std::string_view text, TextOut* out);

  const TokenizerSection* section_ = nullptr;
  bool skip_special_ = false;
  bool first_ = true;
  bool in_run_ = false, spoiled_ = false;
  uint32_t strip_left_ = 0;
  Utf8Part part_;
};

// Text of ids, exactly as Hugging Face's decode without clean-up.
void decode(const TokenizerSection& section, const int32_t* ids, size_t count, bool skip_special, TextOut* out);

}  // namespace linnet::detail
