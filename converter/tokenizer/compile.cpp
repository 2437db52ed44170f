#include "converter/tokenizer/parts.h"
#include "converter/tokenizer/tokenizer.h"

namespace linnet::converter {

void refuse(std::string_view what) {
  fail(LINNET_UNSUPPORTED, "tokenizer.json: ", what, " is not supported yet");
}
void damaged(std::string_view what) { fail(LINNET_BAD_FILE, "tokenizer.json: ", what); }

const Json* member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

bool flag_of(const Json& object, const char* name, bool otherwise, std::string_view where) {
  const Json* value = member(object, name);
  if (!value) return otherwise;
  if (!value->is_boolean()) damaged(cat(where, ": ", name, " is not true or false"));
  return value->get<bool>();
}

std::string_view text_of(const Json& object, const char* name, std::string_view where) {
  const Json* value = member(object, name);
  if (!value || !value->is_string()) damaged(cat(where, ": ", name, " is not a text"));
  return value->get_ref<const std::string&>();
}

uint32_t id_of(const Json& value, std::string_view where) {
  if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<int64_t>() < 0) || value.get<uint64_t>() > UINT32_MAX)
    damaged(cat(where, ": the id is not a number from 0 on"));
  return value.get<uint32_t>();
}

std::optional<uint32_t> TokenizerParts::find(std::string_view content) const {
  for (const TokenizerAdded& a : added)
    if (a.content == content) return a.id;
  const auto found = vocabulary.find(content);
  return found == vocabulary.end() ? std::nullopt : std::optional(found->second);
}

namespace {

Json parse(const std::string& text, const char* file) {
  try {
    Json root = Json::parse(text);
    if (!root.is_object()) fail(LINNET_BAD_FILE, file, ": not a JSON object");
    return root;
  } catch (const Json::exception& e) { fail(LINNET_BAD_FILE, file, ": ", shown(e.what(), 200)); }
}

}  // namespace

std::string compile_tokenizer(const std::string& tokenizer_json, const std::string& config_json, const TokenizerOptions& options,
                              TokenizerReport* report) {
  TokenizerReport ignored;
  if (!report) report = &ignored;
  *report = {};
  const Json root = parse(tokenizer_json, "tokenizer.json");
  if (member(root, "version") && text_of(root, "version", "tokenizer.json") != "1.0") refuse(cat("version ", shown(text_of(root, "version", ""))));
  TokenizerParts parts;
  // Steps first: whether the vocabulary is in bytes depends on them.
  read_normalizers(root, &parts);
  read_pre_tokenizers(root, &parts);
  read_decoders(root, &parts);
  read_model(root, &parts);
  read_added(root, &parts);
  read_post_processor(root, &parts);
  if (!config_json.empty()) read_config(parse(config_json, "tokenizer_config.json"), &parts);
  if (!options.chat_template.empty()) parts.chat_template = options.chat_template;
  return write_section(parts, report);
}

}  // namespace linnet::converter
