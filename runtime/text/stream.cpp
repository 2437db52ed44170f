#include "runtime/text/stream.h"

namespace linnet::detail {

void TextStream::start(const TokenizerSection* section, bool skip_special) {
  *this = {};
  section_ = section;
  skip_special_ = skip_special;
  strip_left_ = section->strip.empty() ? 0 : section->strip_count;
}

size_t TextStream::longest_piece(const TokenizerSection& s) {
  size_t n = s.longest_token;
  if (s.byte_level) n *= kReplacement.size();
  else if (!s.replace_text.empty() && s.replace_content.size() > s.replace_text.size())
    n *= (s.replace_content.size() + s.replace_text.size() - 1) / s.replace_text.size();
  return n + 1 + 4 * kReplacement.size();  // a space between, and what was waiting
}

// The strip decoder: so many of one character may be missing at the start of the whole text.
void TextStream::put(std::string_view text, TextOut* out) {
  while (strip_left_ && !text.empty()) {
    const std::string_view strip = section_->strip;
    if (text.size() < strip.size() || std::memcmp(text.data(), strip.data(), strip.size()) != 0) strip_left_ = 0;
    else {
      --strip_left_;
      text.remove_prefix(strip.size());
    }
  }
  out->put(text);
}

// The replace decoder, then put.
void TextStream::put_replaced(std::string_view text, TextOut* out) {
  const std::string_view from = section_->replace_text;
  if (!from.empty())
    for (size_t hit; (hit = text.find(from)) != std::string_view::npos; text.remove_prefix(hit + from.size())) {
      put({text.data(), hit}, out);
      put(section_->replace_content, out);
    }
  put(text, out);
}

namespace {

int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

// Rust's parser takes a sign, so "<0x+F>" is a byte too.
int parse_byte(std::string_view s) {
  if (s.size() != 6 || s[0] != '<' || s[1] != '0' || s[2] != 'x' || s[5] != '>') return -1;
  const int high = s[3] == '+' ? 0 : hex(s[3]), low = hex(s[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace

int TextStream::byte_of(uint32_t id) const {
  if (!section_->decode_byte_fallback) return -1;
  const std::string_view text = section_->decoded(id), from = section_->replace_text;
  if (from.empty() || text.find(from) == std::string_view::npos) return parse_byte(text);
  // Bytes are recognized after the replacement.
  char replaced[6];
  TextOut out{replaced, sizeof replaced, 0};
  std::string_view rest = text;
  for (size_t hit; (hit = rest.find(from)) != std::string_view::npos; rest.remove_prefix(hit + from.size())) {
    out.put({rest.data(), hit});
    out.put(section_->replace_content);
  }
  out.put(rest);
  return out.size == sizeof replaced ? parse_byte({replaced, sizeof replaced}) : -1;
}

void TextStream::put_run_byte(uint8_t byte, TextOut* out) {
  in_run_ = true;
  const auto step = spoiled_ ? Utf8Part::Step::refused : part_.take(byte);
  if (step == Utf8Part::Step::more) return;
  if (step == Utf8Part::Step::whole) {
    put(part_.view(), out);
  } else {
    for (uint32_t i = 0; i < part_.size + 1u; ++i) put(kReplacement, out);
    spoiled_ = true;
  }
  part_.size = 0;
}

void TextStream::end_run(TextOut* out) {
  for (; part_.size; --part_.size) put(kReplacement, out);
  in_run_ = spoiled_ = false;
}

// Bytes of byte-level tokens: what is whole passes, each mistake becomes one U+FFFD, an open end waits.
void TextStream::put_bytes(std::string_view bytes, TextOut* out) {
  while (!bytes.empty()) {
    if (part_.size == 0) {
      const size_t whole = utf8_valid_prefix(bytes);
      put({bytes.data(), whole}, out);
      bytes.remove_prefix(whole);
      if (bytes.empty()) return;
    }
    const auto step = part_.take(static_cast<uint8_t>(bytes[0]));
    if (step == Utf8Part::Step::whole) put(part_.view(), out);
    if (step == Utf8Part::Step::refused) put(kReplacement, out);
    if (step != Utf8Part::Step::refused || part_.size == 0) bytes.remove_prefix(1);
    if (step != Utf8Part::Step::more) part_.size = 0;
  }
}

void TextStream::feed(uint32_t id, TextOut* out) {
  if (!shown(id)) return;
  const std::string_view text = section_->decoded(id);
  if (section_->byte_level) return put_bytes(text, out);
  if (section_->join_with_spaces && !first_) put(" ", out);
  first_ = false;
  if (const int byte = byte_of(id); byte >= 0) return put_run_byte(static_cast<uint8_t>(byte), out);
  end_run(out);
  put_replaced(text, out);
}

void TextStream::finish(TextOut* out) {
  if (!section_->byte_level) return end_run(out);
  if (part_.size) put(kReplacement, out);
  part_.size = 0;
}

void decode(const TokenizerSection& section, const int32_t* ids, size_t count, bool skip_special, TextOut* out) {
  TextStream stream;
  stream.start(&section, skip_special);
  for (size_t i = 0; i < count; ++i) {
    const auto id = static_cast<uint32_t>(ids[i]);
    if (stream.shown(id) && !stream.in_run() && stream.byte_of(id) >= 0) {
      // A run of bytes is one piece of UTF-8 or none. Each is looked through once, when it begins.
      Utf8Part part;
      bool whole = true;
      for (size_t k = i; whole && k < count; ++k) {
        if (!stream.shown(static_cast<uint32_t>(ids[k]))) continue;
        const int byte = stream.byte_of(static_cast<uint32_t>(ids[k]));
        if (byte < 0) break;
        const auto step = part.take(static_cast<uint8_t>(byte));
        whole = step != Utf8Part::Step::refused;
        if (step == Utf8Part::Step::whole) part.size = 0;
      }
      if (!whole || part.size) stream.spoil_run();
    }
    stream.feed(id, out);
  }
  stream.finish(out);
}

}  // namespace linnet::detail
