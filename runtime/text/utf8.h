// UTF-8, byte by byte: what is whole, what is broken, and how much of it is one mistake.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace linnet::detail {

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the character that `lead` begins; 0: none begins so.
inline uint32_t utf8_length(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

// Whether `next` may follow `lead` as the second byte: overlong forms, surrogates and what lies beyond U+10FFFF are told here.
inline bool utf8_second(uint8_t lead, uint8_t next) {
  switch (lead) {
    case 0xE0: return next >= 0xA0 && next <= 0xBF;
    case 0xED: return next >= 0x80 && next <= 0x9F;
    case 0xF0: return next >= 0x90 && next <= 0xBF;
    case 0xF4: return next >= 0x80 && next <= 0x8F;
    default: return (next & 0xC0) == 0x80;
  }
}

// A character being put together.
struct Utf8Part {
  uint8_t bytes[4];
  uint8_t size = 0;

  enum class Step { whole, more, refused };
  // Takes the next byte of a character. refused: it does not go on from what is here, which stays as it was.
  Step take(uint8_t byte) {
    if (size == 0 ? utf8_length(byte) == 0 : size == 1 ? !utf8_second(bytes[0], byte) : (byte & 0xC0) != 0x80) return Step::refused;
    bytes[size++] = byte;
    return size == utf8_length(bytes[0]) ? Step::whole : Step::more;
  }
  std::string_view view() const { return {reinterpret_cast<const char*>(bytes), size}; }
};

// Bytes at the start of `text` that are whole, valid characters.
inline size_t utf8_valid_prefix(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    uint64_t eight;
    if (text.size() - i >= 8 && (std::memcpy(&eight, text.data() + i, 8), (eight & 0x8080808080808080u) == 0)) {
      i += 8;
      continue;
    }
    const uint8_t lead = static_cast<uint8_t>(text[i]);
    const uint32_t n = utf8_length(lead);
    if (n == 0 || n > text.size() - i) return i;
    if (n >= 2 && !utf8_second(lead, static_cast<uint8_t>(text[i + 1]))) return i;
    for (uint32_t k = 2; k < n; ++k)
      if ((text[i + k] & 0xC0) != 0x80) return i;
    i += n;
  }
  return i;
}
inline bool utf8_valid(std::string_view text) { return utf8_valid_prefix(text) == text.size(); }

// Bytes of one mistake at the start of `text`, which does not begin with a whole character: the longest start of a character that is
// there, or one byte. Each becomes one U+FFFD (the practice that Unicode recommends, and Rust and Python follow).
inline size_t utf8_mistake(std::string_view text) {
  Utf8Part part;
  size_t n = 0;
  while (n < text.size() && part.take(static_cast<uint8_t>(text[n])) != Utf8Part::Step::refused) ++n;
  return n ? n : 1;
}

// The character at `text`, which must be valid from here.
inline uint32_t utf8_decode(const char* text, uint32_t* length) {
  const auto* b = reinterpret_cast<const uint8_t*>(text);
  const uint32_t n = utf8_length(b[0]);
  *length = n;
  switch (n) {
    case 2: return (b[0] & 0x1Fu) << 6 | (b[1] & 0x3Fu);
    case 3: return (b[0] & 0x0Fu) << 12 | (b[1] & 0x3Fu) << 6 | (b[2] & 0x3Fu);
    case 4: return (b[0] & 0x07u) << 18 | (b[1] & 0x3Fu) << 12 | (b[2] & 0x3Fu) << 6 | (b[3] & 0x3Fu);
    default: return b[0];
  }
}

// Where the character that ends before `end` begins; `end` > 0, valid text.
inline size_t utf8_back(std::string_view text, size_t end) {
  do --end;
  while (end > 0 && (text[end] & 0xC0) == 0x80);
  return end;
}

// Unicode's White_Space.
inline bool is_space(uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

}  // namespace linnet::detail
