// Normalizers, pre-tokenizers, decoders and post-processors, each a tree of types whose Sequences are walked.
#include "converter/tokenizer/parts.h"
#include "schema/tokenizer_generated.h"

namespace linnet::converter {

namespace {

// Calls `each` for every step of a tree, in order, with its type.
template <typename Each>
void walk(const Json& step, std::string_view what, const char* list, const Each& each, int depth = 0) {
  if (depth > 16) refuse(cat("a ", what, " Sequence inside more than 16 others"));
  if (!step.is_object()) damaged(cat("a ", what, " is not an object"));
  const std::string_view type = text_of(step, "type", what);
  if (type != "Sequence") return each(step, type);
  const Json* steps = member(step, list);
  if (!steps || !steps->is_array()) damaged(cat("a ", what, " Sequence has no list of ", list));
  for (const Json& s : *steps) walk(s, what, list, each, depth + 1);
}

std::string name(std::string_view what, std::string_view type) { return cat(what, " ", shown(type)); }

// The literal that a Replace looks for.
std::string literal(const Json& step, std::string_view where) {
  const Json* pattern = member(step, "pattern");
  if (!pattern || !pattern->is_object()) damaged(cat(where, ": no pattern"));
  if (const Json* text = member(*pattern, "String"); text && text->is_string()) {
    if (text->get_ref<const std::string&>().empty()) refuse(cat(where, " of an empty text"));
    return text->get<std::string>();
  }
  refuse(cat(where, " with a Regex"));
}

TokenizerStep replace(const Json& step, uint8_t kind, std::string_view where) {
  TokenizerStep s{kind};
  s.text = literal(step, where);
  s.content = text_of(step, "content", where);
  return s;
}

}  // namespace

void read_normalizers(const Json& root, TokenizerParts* parts) {
  using Kind = format::NormalizerKind;
  const Json* tree = member(root, "normalizer");
  if (!tree) return;
  walk(*tree, "normalizer", "normalizers", [&](const Json& step, std::string_view type) {
    if (type == "Replace") {
      parts->normalizers.push_back(replace(step, static_cast<uint8_t>(Kind::replace), "normalizer Replace"));
    } else if (type == "Prepend") {
      TokenizerStep s{static_cast<uint8_t>(Kind::prepend)};
      s.content = text_of(step, "prepend", "normalizer Prepend");
      parts->normalizers.push_back(s);
    } else {
      refuse(name("normalizer", type));
    }
  });
}

void read_pre_tokenizers(const Json& root, TokenizerParts* parts) {
  const Json* tree = member(root, "pre_tokenizer");
  if (!tree) return;
  walk(*tree, "pre_tokenizer", "pretokenizers", [&](const Json& step, std::string_view type) {
    if (type != "ByteLevel") refuse(name("pre_tokenizer", type));
    if (parts->byte_level) refuse("a second pre_tokenizer ByteLevel");
    parts->byte_level = true;
    TokenizerStep s{static_cast<uint8_t>(format::PreTokenizerKind::byte_level)};
    if (flag_of(step, "add_prefix_space", true, "pre_tokenizer ByteLevel")) s.flags |= static_cast<uint32_t>(format::StepFlag::add_prefix_space);
    if (flag_of(step, "use_regex", true, "pre_tokenizer ByteLevel")) s.flags |= static_cast<uint32_t>(format::StepFlag::use_regex);
    parts->pre_tokenizers.push_back(s);
  });
}

// The runtime decodes as a stream, so only chains that it can follow token by token: ByteLevel alone, or Replace, ByteFallback, Fuse and
// Strip, each at most once and in this order (what Llama and its kin have); or no decoder, which joins tokens with spaces.
void read_decoders(const Json& root, TokenizerParts* parts) {
  using Kind = format::DecoderKind;
  auto& steps = parts->decoders;
  const Json* tree = member(root, "decoder");
  if (tree)
    walk(*tree, "decoder", "decoders", [&](const Json& step, std::string_view type) {
      const std::string where = name("decoder", type);
      TokenizerStep s{};
      if (type == "ByteLevel") {
        s.kind = static_cast<uint8_t>(Kind::byte_level);
      } else if (type == "Replace") {
        s = replace(step, static_cast<uint8_t>(Kind::replace), where);
      } else if (type == "ByteFallback") {
        s.kind = static_cast<uint8_t>(Kind::byte_fallback);
      } else if (type == "Fuse") {
        s.kind = static_cast<uint8_t>(Kind::fuse);
      } else if (type == "Strip") {
        s.kind = static_cast<uint8_t>(Kind::strip);
        s.content = text_of(step, "content", where);
        for (const char* end : {"start", "stop"})
          if (!member(step, end)) damaged(cat(where, ": no ", end));
        s.start = id_of(step["start"], cat(where, " start"));
        if (id_of(step["stop"], cat(where, " stop"))) refuse(cat(where, " at the end of the text (stop is not 0)"));
        if (steps.empty() || steps.back().kind != static_cast<uint8_t>(Kind::fuse)) refuse(cat(where, " that does not follow Fuse"));
      } else {
        refuse(where);
      }
      const bool byte_level = s.kind == static_cast<uint8_t>(Kind::byte_level);
      if (!steps.empty() && (byte_level || steps.back().kind == static_cast<uint8_t>(Kind::byte_level) || steps.back().kind >= s.kind))
        refuse(cat(where, " after ", member(*tree, "type") && (*tree)["type"] == "Sequence" ? "the decoders before it" : "another"));
      steps.push_back(s);
    });
  const bool byte_level = !steps.empty() && steps[0].kind == static_cast<uint8_t>(Kind::byte_level);
  if (parts->byte_level && !byte_level) refuse("pre_tokenizer ByteLevel without decoder ByteLevel");
  if (!parts->byte_level && byte_level) refuse("decoder ByteLevel without pre_tokenizer ByteLevel");
  // An empty list means "joined with spaces"; an empty Sequence joins with nothing, as Fuse does.
  if (tree && steps.empty()) steps.push_back({static_cast<uint8_t>(Kind::fuse)});
}

void read_post_processor(const Json& root, TokenizerParts* parts) {
  const Json* tree = member(root, "post_processor");
  if (!tree) return;
  walk(*tree, "post_processor", "processors", [&](const Json& step, std::string_view type) {
    if (type == "ByteLevel") return;  // offsets only
    if (type != "TemplateProcessing") refuse(name("post_processor", type));
    const Json* single = member(step, "single");
    const Json* special = member(step, "special_tokens");
    if (!single || !single->is_array()) damaged("post_processor TemplateProcessing: single is not a list");
    std::vector<uint32_t> before, after;
    bool seen = false;
    for (const Json& piece : *single) {
      if (!piece.is_object() || piece.size() != 1) damaged("post_processor TemplateProcessing: a piece is not an object of one entry");
      if (const Json* sequence = member(piece, "Sequence")) {
        if (seen || text_of(*sequence, "id", "post_processor TemplateProcessing") != "A")
          refuse("post_processor TemplateProcessing whose single form is not one sequence A");
        seen = true;
        continue;
      }
      const Json* token = member(piece, "SpecialToken");
      if (!token) damaged("post_processor TemplateProcessing: a piece is neither Sequence nor SpecialToken");
      const std::string id{text_of(*token, "id", "post_processor TemplateProcessing")};
      const Json* entry = special ? member(*special, id.c_str()) : nullptr;
      const Json* ids = entry ? member(*entry, "ids") : nullptr;
      if (!ids || !ids->is_array()) damaged(cat("post_processor TemplateProcessing: no ids for ", shown(id)));
      for (const Json& i : *ids) (seen ? after : before).push_back(id_of(i, "post_processor TemplateProcessing"));
    }
    if (!seen) refuse("post_processor TemplateProcessing without the sequence");
    // A later one goes around the earlier.
    parts->before.insert(parts->before.begin(), before.begin(), before.end());
    parts->after.insert(parts->after.end(), after.begin(), after.end());
  });
}

}  // namespace linnet::converter
