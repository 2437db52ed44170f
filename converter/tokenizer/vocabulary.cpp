// The model (BPE), the added tokens, and what tokenizer_config.json names.
#include <algorithm>
#include <array>

#include "converter/tokenizer/parts.h"
#include "runtime/text/hash.h"

namespace linnet::converter {

namespace {

// GPT-2's stand-ins: printable bytes are the character of the same number, the others, in order, those from 256 on.
std::array<int16_t, 512> stand_ins() {
  std::array<int16_t, 512> bytes;
  bytes.fill(-1);
  int next = 256;
  for (int b = 0; b < 256; ++b) {
    const bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    bytes[printable ? b : next++] = static_cast<int16_t>(b);
  }
  return bytes;
}

}  // namespace

std::optional<std::string> byte_level_bytes(std::string_view token) {
  static const std::array<int16_t, 512> bytes = stand_ins();
  std::string out;
  for (size_t i = 0; i < token.size();) {
    const uint8_t lead = static_cast<uint8_t>(token[i++]);
    uint32_t c = lead;
    if (lead >= 0x80) {  // all stand-ins are of two bytes at most; the text is UTF-8, as JSON must be
      if (lead >= 0xE0 || i == token.size()) return std::nullopt;
      c = (lead & 0x1Fu) << 6 | (static_cast<uint8_t>(token[i++]) & 0x3Fu);
    }
    if (c >= bytes.size() || bytes[c] < 0) return std::nullopt;
    out += static_cast<char>(bytes[c]);
  }
  return out;
}

namespace {

std::pair<std::string_view, std::string_view> split_merge(const Json& merge) {
  if (merge.is_array()) {
    if (merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string()) damaged("model: a merge is not a pair of texts");
    return {merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>()};
  }
  if (!merge.is_string()) damaged("model: a merge is neither a pair nor a text");
  const std::string_view text = merge.get_ref<const std::string&>();
  const size_t space = text.find(' ');
  if (space == text.npos || text.find(' ', space + 1) != text.npos)
    damaged(cat("model: the merge \"", shown(text), "\" is not two tokens with a space between"));
  return {text.substr(0, space), text.substr(space + 1)};
}

void read_vocabulary(const Json& model, TokenizerParts* parts) {
  const Json* vocab = member(model, "vocab");
  if (!vocab || !vocab->is_object()) damaged("model: no vocab of texts and ids");
  parts->vocabulary.reserve(vocab->size());
  std::vector<std::string_view> owners;
  for (const auto& [token, value] : vocab->items()) {
    const uint32_t id = id_of(value, cat("model: token ", shown(token)));
    if (id >= detail::kMaxVocabulary)
      damaged(cat("model: token ", shown(token), " has id ", id, ", beyond the ", detail::kMaxVocabulary, " that Linnet holds"));
    if (id >= owners.size()) owners.resize(id + 1);
    if (owners[id].data()) damaged(cat("model: tokens ", shown(owners[id]), " and ", shown(token), " both have id ", id));
    owners[id] = token;
    parts->vocabulary.emplace(token, id);
  }
}

void read_merges(const Json& merges, TokenizerParts* parts) {
  if (!merges.is_array()) damaged("model: merges is not a list");
  const auto id = [&](std::string_view token, std::string_view merge) {
    const auto found = parts->vocabulary.find(token);
    if (found == parts->vocabulary.end())
      damaged(cat("model: the merge ", shown(merge), " names ", shown(token), ", which is not in the vocabulary"));
    return found->second;
  };
  std::unordered_map<uint64_t, size_t> seen;  // a pair that stands twice: the last rank counts
  seen.reserve(merges.size());
  parts->merges.reserve(merges.size());
  uint32_t rank = 0;
  std::string whole;
  for (const Json& merge : merges) {
    if (merge.is_string() && merge.get_ref<const std::string&>().starts_with("#version")) continue;
    const auto [left, right] = split_merge(merge);
    whole.assign(left).append(right);
    const TokenizerMerge m{id(left, whole), id(right, whole), rank++, id(whole, whole)};
    const auto [at, first] = seen.emplace(uint64_t{m.left} << 32 | m.right, parts->merges.size());
    if (first) parts->merges.push_back(m);
    else parts->merges[at->second] = m;
  }
}

}  // namespace

void read_model(const Json& root, TokenizerParts* parts) {
  const Json* model = member(root, "model");
  if (!model || !model->is_object()) damaged("no model");
  const Json* merges = member(*model, "merges");
  const Json* vocab = member(*model, "vocab");
  const bool untyped = !member(*model, "type");
  if (!untyped && text_of(*model, "type", "model") != "BPE") refuse(cat("model ", shown(text_of(*model, "type", "model"))));
  if (untyped && !merges)
    refuse(vocab && vocab->is_array() ? "model Unigram (a model without a type whose vocab is a list)"
                                      : "a model without a type and without merges (WordPiece, WordLevel)");
  if (!merges) damaged("model: no merges");
  if (const Json* dropout = member(*model, "dropout"); dropout && !(dropout->is_number() && dropout->get<double>() == 0)) refuse("model dropout");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (member(*model, affix) && !text_of(*model, affix, "model").empty()) refuse(cat("model ", affix, " ", shown(text_of(*model, affix, "model"))));
  parts->byte_fallback = flag_of(*model, "byte_fallback", false, "model");
  parts->fuse_unk = flag_of(*model, "fuse_unk", false, "model");
  parts->ignore_merges = flag_of(*model, "ignore_merges", false, "model");
  read_vocabulary(*model, parts);
  read_merges(*merges, parts);

  // A vocabulary with all bytes leaves nothing unknown.
  bool complete = parts->byte_level;
  if (complete) {
    size_t bytes = 0;
    for (const auto& [token, id] : parts->vocabulary) {
      const auto text = token.size() <= 2 ? byte_level_bytes(token) : std::nullopt;
      bytes += text && text->size() == 1;
    }
    complete = bytes == 256;
  }
  if (complete) {
    parts->byte_fallback = false;
    return;
  }
  if (parts->byte_level && parts->byte_fallback) refuse("model byte_fallback with pre_tokenizer ByteLevel and a vocabulary that lacks bytes");
  if (!member(*model, "unk_token")) return;
  const std::string_view unk = text_of(*model, "unk_token", "model");
  const auto found = parts->vocabulary.find(unk);
  if (found == parts->vocabulary.end()) refuse(cat("unk_token ", shown(unk), ", which is not in the vocabulary,"));
  parts->unk = found->second;
}

// Ids as Hugging Face gives them: a token of the vocabulary keeps its own, others are numbered on. A file that says otherwise is one whose
// ids nobody can be sure of.
void read_added(const Json& root, TokenizerParts* parts) {
  const Json* list = member(root, "added_tokens");
  if (!list) return;
  if (!list->is_array()) damaged("added_tokens is not a list");
  const auto size = static_cast<uint32_t>(parts->vocabulary.size());
  std::optional<uint32_t> highest;
  std::vector<bool> taken;
  for (const auto& [token, id] : parts->vocabulary) {
    if (id >= taken.size()) taken.resize(id + 1);
    taken[id] = true;
  }
  std::unordered_map<std::string, size_t> seen;
  for (const Json& entry : *list) {
    if (!entry.is_object()) damaged("an added token is not an object");
    TokenizerAdded a;
    a.content = text_of(entry, "content", "added token");
    const std::string where = cat("added token ", shown(a.content));
    const Json* id = member(entry, "id");
    if (!id) damaged(cat(where, ": no id"));
    a.id = id_of(*id, where);
    const std::pair<const char*, bool*> flags[] = {
        {"special", &a.special}, {"lstrip", &a.lstrip}, {"rstrip", &a.rstrip}, {"single_word", &a.single_word}, {"normalized", &a.normalized}};
    for (const auto& [field, value] : flags) {
      if (!member(entry, field)) damaged(cat(where, ": no ", field));
      *value = flag_of(entry, field, false, where);
    }
    if (a.content.empty()) continue;  // matches nothing
    if (const auto [at, first] = seen.emplace(a.content, parts->added.size()); !first) {
      const TokenizerAdded& b = parts->added[at->second];
      if (b.id == a.id && b.special == a.special && b.lstrip == a.lstrip && b.rstrip == a.rstrip && b.single_word == a.single_word &&
          b.normalized == a.normalized)
        continue;
      refuse(cat(where, " standing twice, with different settings,"));
    }
    const auto own = parts->vocabulary.find(a.content);
    const uint32_t given = own != parts->vocabulary.end() ? own->second : !highest ? size : *highest >= size || size == 0 ? *highest + 1 : size;
    if (given != a.id) refuse(cat(where, " with id ", a.id, ", where Hugging Face's tokenizers would give it ", given, ","));
    if (own == parts->vocabulary.end() && a.id < taken.size() && taken[a.id]) damaged(cat(where, " has the id ", a.id, " of another token"));
    if (a.id >= detail::kMaxVocabulary) damaged(cat(where, " has id ", a.id, ", beyond the ", detail::kMaxVocabulary, " that Linnet holds"));
    highest = std::max(highest.value_or(0), a.id);
    parts->added.push_back(a);
  }
}

void read_config(const Json& config, TokenizerParts* parts) {
  const auto token = [&](const char* name) -> std::optional<uint32_t> {
    const Json* value = member(config, name);
    if (value && value->is_object()) value = member(*value, "content");
    return value && value->is_string() ? parts->find(value->get_ref<const std::string&>()) : std::nullopt;
  };
  parts->bos = token("bos_token");
  parts->eos = token("eos_token");
  parts->pad = token("pad_token");
  const Json* chat = member(config, "chat_template");
  if (!chat) return;
  if (chat->is_string()) parts->chat_template = chat->get<std::string>();
  if (chat->is_array())  // several, by name: the one that is used when none is named
    for (const Json& entry : *chat)
      if (entry.is_object() && entry.contains("name") && entry["name"] == "default")
        parts->chat_template = text_of(entry, "template", "tokenizer_config.json chat_template");
}

}  // namespace linnet::converter
