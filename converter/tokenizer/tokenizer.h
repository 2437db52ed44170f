// tokenizer.json -> the tokenizer section of a .linnet file. What is not supported is refused by name, never approximated.
#pragma once
#include <cstdint>
#include <string>

namespace linnet::converter {

struct TokenizerOptions {
  std::string chat_template;  // the text of chat_template.jinja, which goes before tokenizer_config.json's; empty: there is none
};

struct TokenizerReport {
  std::string kind;         // "byte-level BPE"
  uint32_t vocabulary = 0;  // ids, holes included
  uint32_t added = 0;
  bool chat_template = false;
};

// Both texts are whole files; config may be empty. Throws ConvertError. The same input gives the same bytes.
std::string compile_tokenizer(const std::string& tokenizer_json, const std::string& config_json, const TokenizerOptions& options = {},
                              TokenizerReport* report = nullptr);

}  // namespace linnet::converter
