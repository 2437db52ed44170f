// Building messages. Numbers are written by to_chars, so no locale can change them.
#pragma once
#include <charconv>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "converter/error.h"

namespace linnet::converter {

inline void append(std::string& to, std::string_view text) { to += text; }
template <typename T>
  requires std::integral<T> || std::floating_point<T>
void append(std::string& to, T number) {
  char digits[64];
  to.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

template <typename... Parts>
std::string cat(const Parts&... parts) {
  std::string text;
  (append(text, parts), ...);
  return text;
}

template <typename... Parts>
[[noreturn]] void fail(linnet_code code, const Parts&... parts) {
  throw ConvertError(code, cat(parts...));
}

// Text from a stranger's file, fit for a terminal: control characters become '?', long text is cut.
inline std::string shown(std::string_view text, size_t longest = 120) {
  std::string out;
  for (const char c : text.substr(0, longest)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  if (text.size() > longest) out += "...";
  return out;
}

inline std::string shown(std::span<const uint64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size() && i < 8; ++i) out += (i ? ", " : "") + cat(shape[i]);
  return out + (shape.size() > 8 ? ", ...]" : "]");
}

}  // namespace linnet::converter
