// Writes the section: flat arrays and hash tables, in the order of ids and ranks, so that the same input gives the same bytes.
#include <algorithm>

#include "converter/tokenizer/parts.h"
#include "converter/tokenizer/tokenizer.h"
#include "runtime/container.h"
#include "runtime/text/hash.h"
#include "runtime/text/normalize.h"
#include "schema/tokenizer_generated.h"

namespace linnet::converter {

namespace {

using detail::kEmptySlot;

// A blob of texts and where each ends.
struct Texts {
  std::vector<uint8_t> blob;
  std::vector<uint32_t> ends;
  void add(std::string_view text) {
    blob.insert(blob.end(), text.begin(), text.end());
    ends.push_back(static_cast<uint32_t>(blob.size()));
  }
  std::string_view get(size_t i) const {
    const uint32_t start = i ? ends[i - 1] : 0;
    return {reinterpret_cast<const char*>(blob.data()) + start, ends[i] - start};
  }
};

// A hash table in which every search ends soon; larger if need be.
template <typename Slot, typename Entries, typename Hash, typename Used>
std::vector<Slot> build_table(const Entries& entries, const Slot& empty, const Hash& hash, const Used& used) {
  for (uint64_t slots = detail::table_slots(entries.size());; slots *= 2) {
    std::vector<Slot> table(slots, empty);
    for (const auto& entry : entries) {
      uint64_t i = hash(entry) & (slots - 1);
      while (used(table[i])) i = (i + 1) & (slots - 1);
      table[i] = Slot(entry);
    }
    if (detail::searchable(slots, [&](uint64_t i) { return used(table[i]); })) return table;
    if (slots > (uint64_t{1} << 25)) fail(LINNET_UNSUPPORTED, "tokenizer.json: the vocabulary or the merges are too many for a hash table");
  }
}

class Writer {
 public:
  explicit Writer(const TokenizerParts& parts) : parts_(parts), builder_(1 << 20) {}

  std::string run(TokenizerReport* report) {
    collect_tokens();
    const auto tokens = builder_.CreateVector(tokens_.blob), flags = builder_.CreateVector(flags_);
    const auto ends = builder_.CreateVector(tokens_.ends), token_slots = builder_.CreateVector(token_table());
    const auto merge_slots = builder_.CreateVectorOfStructs(merge_table());
    collect_added();
    const auto added_text = builder_.CreateVector(added_.blob), added_flags = builder_.CreateVector(added_flags_);
    const auto added_ends = builder_.CreateVector(added_.ends), added_ids = builder_.CreateVector(added_ids_);
    const auto renamed_text = builder_.CreateVector(renamed_.blob);
    const auto renamed_ends = builder_.CreateVector(renamed_.ends), renamed_ids = builder_.CreateVector(renamed_ids_);
    const auto normalizers = steps(parts_.normalizers), pre_tokenizers = steps(parts_.pre_tokenizers), decoders = steps(parts_.decoders);
    const auto strings = builder_.CreateVector(strings_.blob);
    const auto string_ends = builder_.CreateVector(strings_.ends);
    const auto before = template_ids(parts_.before), after = template_ids(parts_.after);
    flatbuffers::Offset<flatbuffers::String> chat;
    if (!parts_.chat_template.empty()) chat = builder_.CreateString(parts_.chat_template);

    format::TokenizerBuilder t(builder_);
    t.add_model(format::TokenizerModel::bpe);
    t.add_tokens(tokens);
    t.add_ends(ends);
    t.add_flags(flags);
    t.add_token_slots(token_slots);
    t.add_merge_slots(merge_slots);
    t.add_byte_fallback(parts_.byte_fallback);
    t.add_fuse_unk(parts_.fuse_unk);
    t.add_ignore_merges(parts_.ignore_merges);
    if (parts_.unk) t.add_unk(*parts_.unk);
    if (parts_.bos) t.add_bos(*parts_.bos);
    if (parts_.eos) t.add_eos(*parts_.eos);
    if (parts_.pad) t.add_pad(*parts_.pad);
    t.add_added_text(added_text);
    t.add_added_ends(added_ends);
    t.add_added_ids(added_ids);
    t.add_added_flags(added_flags);
    t.add_added_raw(added_raw_);
    t.add_renamed_ids(renamed_ids);
    t.add_renamed_text(renamed_text);
    t.add_renamed_ends(renamed_ends);
    t.add_strings(strings);
    t.add_string_ends(string_ends);
    t.add_normalizers(normalizers);
    t.add_pre_tokenizers(pre_tokenizers);
    t.add_decoders(decoders);
    t.add_before(before);
    t.add_after(after);
    if (!chat.IsNull()) t.add_chat_template(chat);
    builder_.Finish(t.Finish());

    if (builder_.GetSize() > detail::kSectionCap)
      fail(LINNET_UNSUPPORTED, "tokenizer.json: compiled, it has ", builder_.GetSize(), " bytes, more than the ", detail::kSectionCap,
           " of a file's section");
    report->kind = parts_.byte_level ? "byte-level BPE" : "BPE";
    report->vocabulary = static_cast<uint32_t>(flags_.size());
    report->added = static_cast<uint32_t>(parts_.added.size());
    report->chat_template = !parts_.chat_template.empty();
    return {reinterpret_cast<const char*>(builder_.GetBufferPointer()), builder_.GetSize()};
  }

 private:
  // A byte-level token is what its stand-ins stand for, or, if one of its characters is none, itself: that is how it decodes.
  void collect_tokens() {
    struct Token {
      std::string_view text;
      bool own = false, added = false, special = false;
      std::string renamed = {};
    };
    uint32_t size = 0;
    for (const auto& [text, id] : parts_.vocabulary) size = std::max(size, id + 1);
    for (const TokenizerAdded& a : parts_.added) size = std::max(size, a.id + 1);
    if (size == 0) damaged("the vocabulary is empty");
    std::vector<Token> tokens(size);
    for (const auto& [text, id] : parts_.vocabulary) {
      tokens[id].text = text;
      tokens[id].own = true;
    }
    for (const TokenizerAdded& a : parts_.added) {
      tokens[a.id].text = a.content;
      tokens[a.id].added = true;
      tokens[a.id].special = a.special;
      if (a.normalized) tokens[a.id].renamed = normalized(a.content);
    }
    for (uint32_t id = 0; id < size; ++id) {
      const Token& t = tokens[id];
      if (t.text.size() > detail::kMaxTokenBytes) refuse(cat("a token of ", t.text.size(), " bytes (id ", id, ")"));
      const bool present = t.own || t.added;
      const auto bytes = parts_.byte_level ? byte_level_bytes(t.text) : std::nullopt;
      tokens_.add(bytes ? std::string_view(*bytes) : t.text);
      const bool renamed = !t.renamed.empty() && t.renamed != t.text;  // so that the decoder undoes what the normalizer did
      if (renamed) {
        const auto renamed_bytes = parts_.byte_level ? byte_level_bytes(t.renamed) : std::nullopt;
        renamed_.add(renamed_bytes ? *renamed_bytes : t.renamed);
        renamed_ids_.push_back(id);
      }
      flags_.push_back(static_cast<uint8_t>((present ? 1 : 0) | (t.special ? 2 : 0) | (t.added ? 4 : 0) | (renamed ? 8 : 0)));
      if (t.own && (bytes || !parts_.byte_level)) own_.push_back(id);
    }
  }

  std::vector<uint32_t> token_table() const {
    return build_table<uint32_t>(
        own_, kEmptySlot, [&](uint32_t id) { return detail::token_hash(tokens_.get(id)); }, [](uint32_t slot) { return slot != kEmptySlot; });
  }

  std::vector<format::MergeSlot> merge_table() const {
    std::vector<format::MergeSlot> merges;
    merges.reserve(parts_.merges.size());
    for (const TokenizerMerge& m : parts_.merges) merges.emplace_back(m.left, m.right, m.rank, m.result);
    return build_table<format::MergeSlot>(
        merges, format::MergeSlot(kEmptySlot, 0, 0, 0), [](const format::MergeSlot& m) { return detail::pair_hash(m.left(), m.right()); },
        [](const format::MergeSlot& m) { return m.left() != kEmptySlot; });
  }

  // The text to look for: as it is, or as the normalizer leaves it. Of two that become the same, special tokens go first, then the file's order.
  void collect_added() {
    struct Entry {
      std::string text;
      const TokenizerAdded* token;
    };
    std::vector<Entry> lists[2];
    for (const bool special : {true, false})
      for (const TokenizerAdded& a : parts_.added)
        if (a.special == special) lists[a.normalized].push_back({a.normalized ? normalized(a.content) : a.content, &a});
    for (auto& list : lists) {
      std::stable_sort(list.begin(), list.end(), [](const Entry& a, const Entry& b) { return a.text < b.text; });
      list.erase(std::unique(list.begin(), list.end(), [](const Entry& a, const Entry& b) { return a.text == b.text; }), list.end());
      for (const Entry& e : list) {
        if (e.text.empty()) refuse(cat("added token ", shown(e.token->content), ", of which the normalizer leaves nothing,"));
        if (e.text.size() > detail::kMaxAddedBytes) refuse(cat("an added token of ", e.text.size(), " bytes (id ", e.token->id, ")"));
        added_.add(e.text);
        added_ids_.push_back(e.token->id);
        added_flags_.push_back(static_cast<uint8_t>((e.token->special ? 1 : 0) | (e.token->lstrip ? 2 : 0) | (e.token->rstrip ? 4 : 0) |
                                                    (e.token->single_word ? 8 : 0)));
      }
      if (&list == &lists[0]) added_raw_ = static_cast<uint32_t>(list.size());
    }
  }

  std::string normalized(std::string_view text) const {
    std::vector<detail::NormalizerStep> steps;
    for (const TokenizerStep& s : parts_.normalizers) steps.push_back({!s.text, s.text ? std::string_view(*s.text) : std::string_view(), *s.content});
    detail::Vec<char> buffers[2];
    std::string_view out;
    if (!detail::normalize(steps.data(), static_cast<uint32_t>(steps.size()), text, buffers, &out))
      fail(LINNET_NO_MEMORY, "out of memory while normalizing added tokens");
    return std::string(out);
  }

  uint32_t string(const std::string& text) {
    if (text.size() > detail::kMaxStepBytes) refuse(cat("a step with a text of ", text.size(), " bytes"));
    strings_.add(text);
    return static_cast<uint32_t>(strings_.ends.size() - 1);
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<format::Step>>> steps(const std::vector<TokenizerStep>& list) {
    if (list.size() > detail::kMaxSteps) refuse(cat("a list of ", list.size(), " steps"));
    std::vector<flatbuffers::Offset<format::Step>> offsets;
    uint64_t growth = 1;
    for (const TokenizerStep& s : list) {
      const size_t from = s.text ? s.text->size() : 0, to = s.content ? s.content->size() : 0;
      if (&list == &parts_.normalizers && from == 0) growth *= to + 1;
      else if (from && to > from) growth *= (to + from - 1) / from;
      if (growth > detail::kMaxGrowth) refuse(cat("a list of steps that makes text more than ", detail::kMaxGrowth, " times longer"));
      flatbuffers::Optional<uint32_t> text, content;
      if (s.text) text = string(*s.text);
      if (s.content) content = string(*s.content);
      format::StepBuilder b(builder_);
      b.add_kind(s.kind);
      b.add_flags(s.flags);
      if (text) b.add_text(*text);
      if (content) b.add_content(*content);
      b.add_start(s.start);
      b.add_stop(s.stop);
      offsets.push_back(b.Finish());
    }
    return builder_.CreateVector(offsets);
  }

  flatbuffers::Offset<flatbuffers::Vector<uint32_t>> template_ids(const std::vector<uint32_t>& ids) {
    if (ids.size() > detail::kMaxTemplate) refuse(cat("a template of ", ids.size(), " tokens"));
    for (const uint32_t id : ids)
      if (id >= flags_.size() || !flags_[id]) damaged(cat("the post_processor adds id ", id, ", which is no token"));
    return builder_.CreateVector(ids);
  }

  const TokenizerParts& parts_;
  flatbuffers::FlatBufferBuilder builder_;
  Texts tokens_, added_, renamed_, strings_;
  std::vector<uint8_t> flags_, added_flags_;
  std::vector<uint32_t> own_, added_ids_, renamed_ids_;
  uint32_t added_raw_ = 0;
};

}  // namespace

std::string write_section(const TokenizerParts& parts, TokenizerReport* report) { return Writer(parts).run(report); }

}  // namespace linnet::converter
