// Text to ids: added tokens out of the text as given, then of each piece's normalized text, then words, then merges.
#include "runtime/status.h"
#include "runtime/text/normalize.h"
#include "runtime/text/tokenizer.h"
#include "runtime/text/utf8.h"

namespace linnet::detail {

namespace {

// Every mistake in the UTF-8 becomes one U+FFFD.
bool mend(std::string_view text, size_t valid, Vec<char>* out) {
  for (;;) {
    if (!out->append(text.data(), valid)) return false;
    text.remove_prefix(valid);
    if (text.empty()) return true;
    if (!out->append(kReplacement.data(), kReplacement.size())) return false;
    text.remove_prefix(utf8_mistake(text));
    valid = utf8_valid_prefix(text);
  }
}

}  // namespace

class Encoder {
 public:
  Encoder(const Tokenizer& tokenizer, bool special, Vec<int32_t>* ids, linnet_error* error)
      : t_(tokenizer),
        s_(tokenizer.section_),
        special_(special),
        ids_(*ids),
        error_(error),
        bpe_(s_, t_.alphabet_, t_.allocator_),
        normalized_{Vec<char>(t_.allocator_), Vec<char>(t_.allocator_)},
        prefixed_(t_.allocator_) {}

  linnet_code run(std::string_view text) {
    if (t_.pattern_)
      if (const auto code = matcher_.prepare(t_.pattern_, error_)) return code;
    linnet_code code;
    AddedPiece piece;
    AddedSplitter raw(s_.added_raw, t_.raw_, t_.words_, text, special_);
    while (raw.next(&piece, &code, error_))
      if (const auto failed = piece.token ? push(piece.id) : given(piece.text)) return failed;
    return code;
  }
  linnet_code push(uint32_t id) { return ids_.push(static_cast<int32_t>(id)) ? LINNET_OK : no_memory(error_, ids_.size() * 4, "ids"); }
  uint64_t steps() const { return bpe_.steps(); }

 private:
  // Text between the added tokens that are looked for in the text as given.
  linnet_code given(std::string_view text) {
    std::string_view plain;
    if (!normalize(s_.normalizers, s_.normalizer_count, text, normalized_, &plain)) return no_memory(error_, text.size(), "normalizing");
    linnet_code code;
    AddedPiece piece;
    AddedSplitter splitter(s_.added_normalized, t_.normalized_, t_.words_, plain, special_);
    while (splitter.next(&piece, &code, error_))
      if (const auto failed = piece.token ? push(piece.id) : words(piece.text)) return failed;
    return code;
  }

  linnet_code words(std::string_view text) {
    if (!s_.byte_level) return bpe_.encode(text, &ids_, error_);
    if (s_.add_prefix_space && text[0] != ' ') {
      prefixed_.clear();
      if (!prefixed_.push(' ') || !prefixed_.append(text.data(), text.size())) return no_memory(error_, text.size(), "encoding");
      text = {prefixed_.data(), prefixed_.size()};
    }
    if (!s_.use_regex) return bpe_.encode(text, &ids_, error_);
    for (size_t at = 0; at < text.size();) {
      bool found;
      size_t start, end;
      if (const auto code = matcher_.find(text, at, &found, &start, &end, error_)) return code;
      if (!found || end <= at) start = end = text.size();  // what no match holds is a word too
      if (start > at)
        if (const auto code = bpe_.encode({text.data() + at, start - at}, &ids_, error_)) return code;
      if (end > start)
        if (const auto code = bpe_.encode({text.data() + start, end - start}, &ids_, error_)) return code;
      at = end;
    }
    return LINNET_OK;
  }

  const Tokenizer& t_;
  const TokenizerSection& s_;
  bool special_;
  Vec<int32_t>& ids_;
  linnet_error* error_;
  Bpe bpe_;
  Matcher matcher_;
  Vec<char> normalized_[2];
  Vec<char> prefixed_;
};

linnet_code Tokenizer::open(const void* section, size_t bytes, linnet_error* error) {
  if (const auto code = read_tokenizer(section, bytes, &section_, error)) return code;
  alphabet_.build(section_);
  raw_.build(section_.added_raw);
  normalized_.build(section_.added_normalized);
  if (section_.byte_level && section_.use_regex)
    if (const auto code = pattern_.compile(kByteLevelPattern, allocator_, error)) return code;
  for (const AddedList* list : {&section_.added_raw, &section_.added_normalized})
    for (uint32_t i = 0; i < list->count; ++i)
      if (list->flags[i] & kAddedSingleWord)
        if (const auto code = words_.prepare(allocator_, error)) return code;
  return LINNET_OK;
}

linnet_code Tokenizer::encode(std::string_view text, uint32_t flags, Vec<int32_t>* ids, linnet_error* error, uint64_t* steps) const {
  if (flags & ~static_cast<uint32_t>(LINNET_PARSE_SPECIAL | LINNET_ADD_SPECIAL))
    return fail(error, LINNET_INVALID_ARGUMENT, "flags", {}, "unknown encode flags %u", flags);
  Vec<char> mended(allocator_);
  const size_t valid = utf8_valid_prefix(text);
  if (valid != text.size()) {
    if (!mend(text, valid, &mended)) return no_memory(error, text.size(), "encoding");
    text = {mended.data(), mended.size()};
  }
  Encoder encoder(*this, flags & LINNET_PARSE_SPECIAL, ids, error);
  const bool add = flags & LINNET_ADD_SPECIAL;
  for (uint32_t i = 0; add && i < section_.before_count; ++i)
    if (const auto code = encoder.push(section_.before[i])) return code;
  if (const auto code = encoder.run(text)) return code;
  for (uint32_t i = 0; add && i < section_.after_count; ++i)
    if (const auto code = encoder.push(section_.after[i])) return code;
  if (steps) *steps += encoder.steps();
  return LINNET_OK;
}

int32_t Tokenizer::find(std::string_view spelling) const {
  const uint32_t id = section_.find(spelling);
  if (id != kEmptySlot) return static_cast<int32_t>(id);
  for (const AddedList* list : {&section_.added_raw, &section_.added_normalized})
    for (uint32_t i = 0; i < list->count; ++i)
      if (section_.spelling(list->ids[i]) == spelling) return static_cast<int32_t>(list->ids[i]);
  return -1;
}

}  // namespace linnet::detail
