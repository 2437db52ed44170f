// What the text tests share: a compiled tokenizer in aligned memory, and calls that return what they found.
#pragma once
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "converter/tokenizer/tokenizer.h"
#include "runtime/text/stream.h"
#include "runtime/text/tokenizer.h"

namespace linnet::test {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

inline std::string read_data(const std::string& name) {
  std::ifstream file(LINNET_SOURCE_DIR "/tests/unit/text/data/" + name, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Bytes of a section where a section lies: on 8 bytes, in memory of just its size, so that a sanitizer sees a step beyond.
struct Section {
  explicit Section(std::string_view bytes) : size(bytes.size()), data(static_cast<uint8_t*>(::operator new(size, std::align_val_t(16)))) {
    std::memcpy(data, bytes.data(), size);
  }
  ~Section() { ::operator delete(data, std::align_val_t(16)); }
  Section(const Section&) = delete;
  size_t size;
  uint8_t* data;
};

struct TestTokenizer {
  explicit TestTokenizer(const std::string& json, const std::string& config = "")
      : section(converter::compile_tokenizer(json, config)), core(detail::allocator_or_malloc(nullptr)) {
    linnet_error error{};
    if (core.open(section.data, section.size, &error)) throw std::runtime_error(error.message);
  }
  Ids encode(std::string_view text, uint32_t flags = LINNET_PARSE_SPECIAL) const {
    detail::Vec<int32_t> ids;
    linnet_error error{};
    if (core.encode(text, flags, &ids, &error)) throw std::runtime_error(error.message);
    return Ids(ids.begin(), ids.end());
  }
  std::string decode(const Ids& ids, bool skip_special = false) const {
    detail::TextOut out;
    detail::decode(core.section(), ids.data(), ids.size(), skip_special, &out);
    std::string text(out.size, '\0');
    out = {text.data(), text.size(), 0};
    detail::decode(core.section(), ids.data(), ids.size(), skip_special, &out);
    return text;
  }
  // One piece a token, and what finishing adds.
  std::vector<std::string> stream(const Ids& ids, bool skip_special = false) const {
    detail::TextStream stream;
    stream.start(&core.section(), skip_special);
    std::vector<std::string> pieces;
    std::string room(detail::TextStream::longest_piece(core.section()), '\0');
    for (size_t i = 0; i <= ids.size(); ++i) {
      detail::TextOut out{room.data(), room.size(), 0};
      if (i < ids.size()) stream.feed(static_cast<uint32_t>(ids[i]), &out);
      else stream.finish(&out);
      if (out.size > out.capacity) throw std::runtime_error("a piece is longer than longest_piece");
      pieces.emplace_back(room.data(), out.size);
    }
    return pieces;
  }
  Section section;
  detail::Tokenizer core;
};

inline std::string join(const std::vector<std::string>& pieces) {
  std::string text;
  for (const auto& p : pieces) text += p;
  return text;
}

// A tokenizer.json of characters: tokens numbered in order, merges as "a b". Fields of `changes` replace those of the file.
inline Json small_tokenizer(const std::vector<std::string>& tokens, const std::vector<std::string>& merges = {},
                            const Json& changes = Json::object()) {
  Json vocab = Json::object();
  for (size_t i = 0; i < tokens.size(); ++i) vocab[tokens[i]] = i;
  Json root = {{"version", "1.0"},
               {"truncation", nullptr},
               {"padding", nullptr},
               {"added_tokens", Json::array()},
               {"normalizer", nullptr},
               {"pre_tokenizer", nullptr},
               {"post_processor", nullptr},
               {"decoder", {{"type", "Fuse"}}},
               {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
  for (const auto& [key, value] : changes.items())
    if (key == "model") root["model"].update(value);
    else root[key] = value;
  return root;
}
inline Json added_token(uint32_t id, const std::string& content, bool special = false) {
  return {{"id", id},        {"content", content},   {"special", special}, {"lstrip", false},
          {"rstrip", false}, {"single_word", false}, {"normalized", false}};
}

inline const char* const kTokenizers[] = {"bytelevel", "llama", "added", "pieces"};

inline TestTokenizer load(const std::string& name) { return TestTokenizer(read_data(name + ".json")); }

}  // namespace linnet::test

namespace std {  // for BOOST_TEST's messages; the names are looked up in std because the type is a std::vector
inline ostream& operator<<(ostream& out, const vector<int32_t>& ids) {
  out << '[';
  for (size_t i = 0; i < ids.size(); ++i) out << (i ? ", " : "") << ids[i];
  return out << ']';
}
}  // namespace std
