// Verification of the tokenizer section: first that it is a FlatBuffer, then that what it says holds together.
#include "runtime/text/section.h"

#include "runtime/container.h"
#include "runtime/status.h"
#include "runtime/text/utf8.h"
#include "schema/tokenizer_generated.h"

namespace linnet::detail {

namespace {

constexpr const char* kName = "tokenizer section";

static_assert(sizeof(MergeSlot) == sizeof(format::MergeSlot) && alignof(MergeSlot) == alignof(format::MergeSlot));
static_assert(kTokenPresent == static_cast<uint8_t>(format::TokenFlag::present) &&
              kTokenSpecial == static_cast<uint8_t>(format::TokenFlag::special) && kTokenAdded == static_cast<uint8_t>(format::TokenFlag::added) &&
              kTokenRenamed == static_cast<uint8_t>(format::TokenFlag::renamed));
static_assert(kAddedSpecial == static_cast<uint8_t>(format::AddedFlag::special) && kAddedLstrip == static_cast<uint8_t>(format::AddedFlag::lstrip) &&
              kAddedRstrip == static_cast<uint8_t>(format::AddedFlag::rstrip) &&
              kAddedSingleWord == static_cast<uint8_t>(format::AddedFlag::single_word));

linnet_code bad(linnet_error* error, const char* message) { return fail(error, LINNET_BAD_FILE, kName, {}, "%s", message); }
template <typename... Args>
linnet_code bad(linnet_error* error, const char* format, Args... args) {
  return fail(error, LINNET_BAD_FILE, kName, {}, format, args...);
}
linnet_code unknown(linnet_error* error, const char* message) { return fail(error, LINNET_UNSUPPORTED, kName, {}, "%s", message); }
template <typename... Args>
linnet_code unknown(linnet_error* error, const char* format, Args... args) {
  return fail(error, LINNET_UNSUPPORTED, kName, {}, format, args...);
}

// Absent vectors read as empty ones.
template <typename T>
uint32_t size_of(const flatbuffers::Vector<T>* v) {
  return v ? v->size() : 0;
}
template <typename T>
const T* data_of(const flatbuffers::Vector<T>* v) {
  return v && v->size() ? reinterpret_cast<const T*>(v->Data()) : nullptr;
}

// ends must rise to the blob's size.
linnet_code check_ends(const char* what, const uint32_t* ends, uint32_t count, uint32_t blob, uint32_t shortest, uint32_t longest, uint32_t* seen,
                       linnet_error* error) {
  uint32_t before = 0, most = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (ends[i] < before || ends[i] > blob) return bad(error, "%s %u ends at byte %u, outside [%u, %u]", what, i, ends[i], before, blob);
    const uint32_t n = ends[i] - before;
    if (n < shortest || n > longest) return bad(error, "%s %u has %u bytes, outside [%u, %u]", what, i, n, shortest, longest);
    if (n > most) most = n;
    before = ends[i];
  }
  if (before != blob) return bad(error, "%s texts end at byte %u of %u", what, before, blob);
  *seen = most;
  return LINNET_OK;
}

class Reader {
 public:
  Reader(const format::Tokenizer& root, TokenizerSection* out, linnet_error* error) : root_(root), out_(*out), error_(error) {}

  linnet_code run() {
    if (root_.model() != format::TokenizerModel::bpe)
      return unknown(error_, "tokenizer model kind %u is not one that this library reads (bpe): update Linnet", static_cast<unsigned>(root_.model()));
    if (const auto code = vocabulary()) return code;
    if (const auto code = tables()) return code;
    if (const auto code = options()) return code;
    if (const auto code = strings()) return code;
    if (const auto code = normalizers()) return code;
    if (const auto code = pre_tokenizers()) return code;
    if (const auto code = decoders()) return code;
    if (const auto code = renamed()) return code;
    if (const auto code = token_text()) return code;
    return added();
  }

 private:
  linnet_code vocabulary() {
    out_.vocabulary = size_of(root_.ends());
    out_.ends = data_of(root_.ends());
    out_.flags = data_of(root_.flags());
    out_.tokens = reinterpret_cast<const char*>(data_of(root_.tokens()));
    if (!out_.tokens) out_.tokens = "";
    if (out_.vocabulary == 0 || out_.vocabulary > kMaxVocabulary)
      return bad(error_, "%u tokens are outside [1, %u]", out_.vocabulary, kMaxVocabulary);
    if (size_of(root_.flags()) != out_.vocabulary) return bad(error_, "%u token flags for %u tokens", size_of(root_.flags()), out_.vocabulary);
    if (const auto code = check_ends("token", out_.ends, out_.vocabulary, size_of(root_.tokens()), 0, kMaxTokenBytes, &out_.longest_token, error_))
      return code;
    for (uint32_t i = 0; i < out_.vocabulary; ++i) {
      const uint8_t f = out_.flags[i];
      if (f & ~(kTokenPresent | kTokenSpecial | kTokenAdded | kTokenRenamed)) return bad(error_, "token %u has unknown flags %u", i, f);
      if (!(f & kTokenPresent) && (f || !out_.spelling(i).empty())) return bad(error_, "token %u is a hole and yet has text or flags", i);
    }
    return LINNET_OK;
  }

  linnet_code tables() {
    const uint32_t slots = size_of(root_.token_slots()), *tokens = data_of(root_.token_slots());
    if (const auto code = shape("token", slots, [&](uint64_t i) { return tokens[i] != kEmptySlot; })) return code;
    uint32_t outside = 0;
    for (uint32_t i = 0; i < slots; ++i) outside |= (tokens[i] >= out_.vocabulary) & (tokens[i] != kEmptySlot);
    if (outside) return bad(error_, "the token table holds ids beyond the vocabulary");
    out_.token_slots = tokens;
    out_.token_mask = slots - 1;

    const uint32_t merges = size_of(root_.merge_slots());
    const MergeSlot* slot = root_.merge_slots() ? reinterpret_cast<const MergeSlot*>(root_.merge_slots()->Data()) : nullptr;
    if (const auto code = shape("merge", merges, [&](uint64_t i) { return slot[i].left != kEmptySlot; })) return code;
    for (uint32_t i = 0; i < merges; ++i)
      outside |= ((slot[i].left >= out_.vocabulary) | (slot[i].right >= out_.vocabulary) | (slot[i].result >= out_.vocabulary)) &
                 (slot[i].left != kEmptySlot);
    if (outside) return bad(error_, "the merge table holds ids beyond the vocabulary");
    out_.merge_slots = slot;
    out_.merge_mask = merges - 1;
    return LINNET_OK;
  }

  template <typename Used>
  linnet_code shape(const char* what, uint32_t slots, const Used& used) {
    if (slots < 2 || (slots & (slots - 1))) return bad(error_, "the %s table has %u slots, not a power of two", what, slots);
    if (!searchable(slots, used)) return bad(error_, "the %s table has %u used slots in a row, or no empty one", what, kSlotBlock);
    return LINNET_OK;
  }

  linnet_code options() {
    out_.byte_fallback = root_.byte_fallback();
    out_.fuse_unk = root_.fuse_unk();
    out_.ignore_merges = root_.ignore_merges();
    const struct {
      const char* name;
      flatbuffers::Optional<uint32_t> id;
    } ids[] = {{"unk", root_.unk()}, {"bos", root_.bos()}, {"eos", root_.eos()}, {"pad", root_.pad()}};
    for (const auto& i : ids)
      if (i.id && !out_.present(*i.id)) return bad(error_, "%s is %u, which is no token", i.name, *i.id);
    if (root_.unk()) out_.unk = *root_.unk();

    out_.before = data_of(root_.before());
    out_.before_count = size_of(root_.before());
    out_.after = data_of(root_.after());
    out_.after_count = size_of(root_.after());
    if (out_.before_count > kMaxTemplate || out_.after_count > kMaxTemplate) return bad(error_, "the template adds more than %u ids", kMaxTemplate);
    for (uint32_t i = 0; i < out_.before_count + out_.after_count; ++i) {
      const uint32_t id = i < out_.before_count ? out_.before[i] : out_.after[i - out_.before_count];
      if (!out_.present(id)) return bad(error_, "the template adds id %u, which is no token", id);
    }
    if (const auto* text = root_.chat_template()) {
      out_.chat_template = {text->c_str(), text->size()};
      if (!utf8_valid(out_.chat_template)) return bad(error_, "the chat template is not UTF-8");
    }
    return LINNET_OK;
  }

  linnet_code strings() {
    string_ends_ = data_of(root_.string_ends());
    string_count_ = size_of(root_.string_ends());
    strings_ = reinterpret_cast<const char*>(data_of(root_.strings()));
    uint32_t longest;
    return check_ends("string", string_ends_, string_count_, size_of(root_.strings()), 0, UINT32_MAX, &longest, error_);
  }

  // The string of a step; absent, too long or broken ones are refused.
  linnet_code step_text(const char* what, flatbuffers::Optional<uint32_t> id, size_t shortest, std::string_view* out) {
    if (!id || *id >= string_count_) return bad(error_, "%s has no text", what);
    const uint32_t start = *id ? string_ends_[*id - 1] : 0;
    const size_t n = string_ends_[*id] - start;
    *out = n ? std::string_view{strings_ + start, n} : std::string_view{""};
    if (n < shortest || n > kMaxStepBytes || !utf8_valid(*out))
      return bad(error_, "%s has a text of %zu bytes, outside [%zu, %u], or not UTF-8", what, n, shortest, kMaxStepBytes);
    return LINNET_OK;
  }

  using Steps = flatbuffers::Vector<flatbuffers::Offset<format::Step>>;
  linnet_code count_steps(const char* what, const Steps* steps) {
    return size_of(steps) > kMaxSteps ? bad(error_, "%u %s steps are more than %u", size_of(steps), what, kMaxSteps) : LINNET_OK;
  }

  // A stranger's steps must not turn a short text into a huge one. Prepending counts as for a piece of one byte: a text may fall into many.
  linnet_code grow(uint64_t* growth, std::string_view text, std::string_view content) {
    if (text.empty()) *growth *= content.size() + 1;
    else if (content.size() > text.size()) *growth *= (content.size() + text.size() - 1) / text.size();
    return *growth > kMaxGrowth ? bad(error_, "the steps make text more than %u times longer", kMaxGrowth) : LINNET_OK;
  }

  linnet_code normalizers() {
    const auto* steps = root_.normalizers();
    if (const auto code = count_steps("normalizer", steps)) return code;
    uint64_t growth = 1;
    for (uint32_t i = 0; i < size_of(steps); ++i) {
      const format::Step& s = *steps->Get(i);
      NormalizerStep& n = out_.normalizers[i];
      n.prepend = s.kind() == static_cast<uint8_t>(format::NormalizerKind::prepend);
      if (!n.prepend && s.kind() != static_cast<uint8_t>(format::NormalizerKind::replace))
        return unknown(error_, "normalizer step kind %u is not one that this library reads: update Linnet", s.kind());
      if (const auto code = step_text("a normalizer step", s.content(), 0, &n.content)) return code;
      if (!n.prepend)
        if (const auto code = step_text("a replace step", s.text(), 1, &n.text)) return code;
      if (const auto code = grow(&growth, n.text, n.content)) return code;
    }
    out_.normalizer_count = size_of(steps);
    return LINNET_OK;
  }

  linnet_code pre_tokenizers() {
    const auto* steps = root_.pre_tokenizers();
    if (const auto code = count_steps("pre-tokenizer", steps)) return code;
    for (uint32_t i = 0; i < size_of(steps); ++i) {
      const format::Step& s = *steps->Get(i);
      constexpr uint32_t known = static_cast<uint32_t>(format::StepFlag::add_prefix_space) | static_cast<uint32_t>(format::StepFlag::use_regex);
      if (s.kind() != static_cast<uint8_t>(format::PreTokenizerKind::byte_level) || i > 0 || (s.flags() & ~known))
        return unknown(error_, "pre-tokenizer step %u, of kind %u, is not one that this library reads there: update Linnet", i, s.kind());
      out_.byte_level = true;
      out_.add_prefix_space = s.flags() & static_cast<uint32_t>(format::StepFlag::add_prefix_space);
      out_.use_regex = s.flags() & static_cast<uint32_t>(format::StepFlag::use_regex);
    }
    return LINNET_OK;
  }

  // byte_level alone, nothing, or replace, byte_fallback, fuse, strip: each at most once, in this order.
  linnet_code decoders() {
    using Kind = format::DecoderKind;
    const auto* steps = root_.decoders();
    if (const auto code = count_steps("decoder", steps)) return code;
    const uint32_t count = size_of(steps);
    const bool byte_level = count == 1 && steps->Get(0)->kind() == static_cast<uint8_t>(Kind::byte_level);
    if (byte_level != out_.byte_level)
      return unknown(error_, "a byte-level vocabulary and the decoder do not go together: this library cannot read the file");
    if (byte_level) return LINNET_OK;
    out_.join_with_spaces = count == 0;
    int last = -1;
    bool fused = false;
    for (uint32_t i = 0; i < count; ++i) {
      const format::Step& s = *steps->Get(i);
      const auto kind = static_cast<Kind>(s.kind());
      if ((kind != Kind::replace && kind != Kind::byte_fallback && kind != Kind::fuse && kind != Kind::strip) || static_cast<int>(s.kind()) <= last)
        return unknown(error_, "decoder step %u, of kind %u, is not one that this library reads there: update Linnet", i, s.kind());
      last = s.kind();
      uint64_t growth = 1;
      if (kind == Kind::replace) {
        if (const auto code = step_text("a replace decoder", s.text(), 1, &out_.replace_text)) return code;
        if (const auto code = step_text("a replace decoder", s.content(), 0, &out_.replace_content)) return code;
        if (const auto code = grow(&growth, out_.replace_text, out_.replace_content)) return code;
      } else if (kind == Kind::byte_fallback) {
        out_.decode_byte_fallback = true;
      } else if (kind == Kind::fuse) {
        fused = true;
      } else {
        if (const auto code = step_text("a strip decoder", s.content(), 1, &out_.strip)) return code;
        if (!fused || s.stop() || utf8_length(static_cast<uint8_t>(out_.strip[0])) != out_.strip.size())
          return unknown(error_,
                         "the strip decoder is not of the kind that this library reads (after fuse, one character, at the start): update Linnet");
        out_.strip_count = s.start();
      }
    }
    return LINNET_OK;
  }

  linnet_code renamed() {
    out_.renamed_ids = data_of(root_.renamed_ids());
    out_.renamed_ends = data_of(root_.renamed_ends());
    out_.renamed_text = reinterpret_cast<const char*>(data_of(root_.renamed_text()));
    const uint32_t count = size_of(root_.renamed_ends());
    if (size_of(root_.renamed_ids()) != count) return bad(error_, "%u renamed tokens with %u ids", count, size_of(root_.renamed_ids()));
    uint32_t longest;
    if (const auto code = check_ends("renamed token", out_.renamed_ends, count, size_of(root_.renamed_text()), 1, kMaxTokenBytes, &longest, error_))
      return code;
    if (longest > out_.longest_token) out_.longest_token = longest;
    for (uint32_t i = 0; i < count; ++i)
      if (out_.renamed_ids[i] >= out_.vocabulary || (i && out_.renamed_ids[i - 1] >= out_.renamed_ids[i]))
        return bad(error_, "renamed token %u has id %u, out of order or beyond the vocabulary", i, out_.renamed_ids[i]);
    out_.renamed_count = count;
    return LINNET_OK;
  }

  // Decoded text is UTF-8 whatever the ids. Byte-level tokens may be anything: their decoder mends what they add up to.
  linnet_code token_text() {
    if (out_.byte_level) return LINNET_OK;
    if (!utf8_valid({out_.tokens, size_of(root_.tokens())})) return bad(error_, "token text is not UTF-8");
    for (uint32_t i = 0; i < out_.vocabulary; ++i) {
      const std::string_view s = out_.spelling(i);
      if (!s.empty() && (s[0] & 0xC0) == 0x80) return bad(error_, "token %u begins inside a character", i);
    }
    for (uint32_t i = 0; i < out_.renamed_count; ++i)
      if (const uint32_t start = i ? out_.renamed_ends[i - 1] : 0; !utf8_valid({out_.renamed_text + start, out_.renamed_ends[i] - start}))
        return bad(error_, "renamed token %u is not UTF-8", i);
    return LINNET_OK;
  }

  linnet_code added() {
    const uint32_t count = size_of(root_.added_ends()), raw = root_.added_raw();
    const auto* ends = data_of(root_.added_ends());
    const auto* text = reinterpret_cast<const char*>(data_of(root_.added_text()));
    const auto* ids = data_of(root_.added_ids());
    const auto* flags = data_of(root_.added_flags());
    if (size_of(root_.added_ids()) != count || size_of(root_.added_flags()) != count || raw > count)
      return bad(error_, "%u added tokens with %u ids, %u flags, %u of them raw", count, size_of(root_.added_ids()), size_of(root_.added_flags()),
                 raw);
    uint32_t longest;
    if (const auto code = check_ends("added token", ends, count, size_of(root_.added_text()), 1, kMaxAddedBytes, &longest, error_)) return code;
    for (uint32_t i = 0; i < count; ++i) {
      if (!out_.present(ids[i])) return bad(error_, "added token %u has id %u, which is no token", i, ids[i]);
      if (flags[i] & ~(kAddedSpecial | kAddedLstrip | kAddedRstrip | kAddedSingleWord))
        return bad(error_, "added token %u has unknown flags %u", i, flags[i]);
    }
    out_.added_raw = {text, ends, ids, flags, raw, 0};
    if (raw < count) out_.added_normalized = {text, ends + raw, ids + raw, flags + raw, count - raw, raw ? ends[raw - 1] : 0};
    for (const AddedList* list : {&out_.added_raw, &out_.added_normalized})
      for (uint32_t i = 0; i < list->count; ++i) {
        if (!utf8_valid(list->entry(i))) return bad(error_, "added token %u is not UTF-8", i);
        if (i && !(list->entry(i - 1) < list->entry(i))) return bad(error_, "added token %u is not in order", i);
      }
    return LINNET_OK;
  }

  const format::Tokenizer& root_;
  TokenizerSection& out_;
  linnet_error* error_;
  const uint32_t* string_ends_ = nullptr;
  const char* strings_ = nullptr;
  uint32_t string_count_ = 0;
};

}  // namespace

linnet_code read_tokenizer(const void* data, size_t bytes, TokenizerSection* out, linnet_error* error) {
  *out = {};
  if (!data || reinterpret_cast<uintptr_t>(data) % 8)
    return fail(error, LINNET_INVALID_ARGUMENT, kName, {8, 0}, "the tokenizer section must lie on a multiple of 8 bytes");
  if (bytes < 8 || bytes > kSectionCap)
    return fail(error, LINNET_BAD_FILE, kName, {kSectionCap, bytes}, "%zu bytes are outside [8, %llu]", bytes,
                static_cast<unsigned long long>(kSectionCap));
  // The tree is root -> vector -> step, and tables stand only in three short lists; offsets may be shared, so the limit counts visits.
  flatbuffers::Verifier verifier(static_cast<const uint8_t*>(data), bytes, 8, static_cast<flatbuffers::uoffset_t>(bytes / 4));
  if (!format::VerifyTokenizerBuffer(verifier)) return bad(error, "not a well-formed tokenizer section: the file is damaged");
  return Reader(*format::GetTokenizer(data), out, error).run();
}

}  // namespace linnet::detail
