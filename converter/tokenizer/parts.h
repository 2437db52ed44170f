// What tokenizer.json says, taken apart: between reading and writing.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "converter/message.h"

namespace linnet::converter {

struct TokenizerReport;

using Json = nlohmann::json;

struct TokenizerStep {
  uint8_t kind;
  uint32_t flags = 0;
  std::optional<std::string> text = {}, content = {};
  uint32_t start = 0, stop = 0;
};

struct TokenizerAdded {
  std::string content;
  uint32_t id;
  bool special, lstrip, rstrip, single_word, normalized;
};

struct TokenizerMerge {
  uint32_t left, right, rank, result;
};

struct TokenizerParts {
  std::vector<TokenizerStep> normalizers, pre_tokenizers, decoders;
  bool byte_level = false;
  std::vector<uint32_t> before, after;

  std::unordered_map<std::string_view, uint32_t> vocabulary;  // the model's own; views into the parsed file
  std::vector<TokenizerMerge> merges;
  std::optional<uint32_t> unk;
  bool byte_fallback = false, fuse_unk = false, ignore_merges = false;

  std::vector<TokenizerAdded> added;
  std::optional<uint32_t> bos, eos, pad;
  std::string chat_template;

  // The id of a token by its content, added tokens first; nothing where there is none.
  std::optional<uint32_t> find(std::string_view content) const;
};

// The ends of messages.
[[noreturn]] void refuse(std::string_view what);   // not supported
[[noreturn]] void damaged(std::string_view what);  // not what a tokenizer.json looks like

// Fields with their types checked. `where` names the object in messages.
const Json* member(const Json& object, const char* name);  // null: absent, or null
bool flag_of(const Json& object, const char* name, bool otherwise, std::string_view where);
std::string_view text_of(const Json& object, const char* name, std::string_view where);
uint32_t id_of(const Json& value, std::string_view where);

// steps.cpp
void read_normalizers(const Json& root, TokenizerParts* parts);
void read_pre_tokenizers(const Json& root, TokenizerParts* parts);
void read_decoders(const Json& root, TokenizerParts* parts);
void read_post_processor(const Json& root, TokenizerParts* parts);
// vocabulary.cpp
void read_model(const Json& root, TokenizerParts* parts);
void read_added(const Json& root, TokenizerParts* parts);
void read_config(const Json& config, TokenizerParts* parts);

// The bytes that a byte-level token stands for; nothing if a character of it stands for none.
std::optional<std::string> byte_level_bytes(std::string_view token);

// section.cpp
std::string write_section(const TokenizerParts& parts, TokenizerReport* report);

}  // namespace linnet::converter
