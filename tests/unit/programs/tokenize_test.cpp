// linnet-tokenize: Hugging Face's ids, and back.
#include <boost/test/data/test_case.hpp>
#include <nlohmann/json.hpp>

#include "program.h"

using namespace linnet;
using namespace linnet::tests;
using Json = nlohmann::json;

namespace {

std::string tokenize(std::vector<std::string> more, const Setting& setting = {}) {
  more.insert(more.begin(), "MODEL");
  return output_of("linnet-tokenize", more, setting);
}

const char* const kOdd = "na\xc3\xafve \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x90\xa6\n\ttab  two\r\n";

// A small llama file with a sentencepiece-like tokenizer, which adds a token of its own.
std::string adding_model() {
  static const TempDir t;
  static const std::string path = [] {
    fs::create_directories(t / "m");
    const fs::path golden_folder = golden("llama-minimal-config");
    for (const char* file : {"config.json", "model.safetensors"}) fs::copy_file(golden_folder / file, t / (std::string("m/") + file));
    fs::copy_file(fs::path(LINNET_SOURCE_DIR) / "tests/unit/text/data/llama.json", t / "m/tokenizer.json");
    ConvertOptions options;
    options.source = t / "m";
    options.output = t / "adding.linnet";
    linnet_error error{};
    BOOST_REQUIRE_MESSAGE(convert(options, nullptr, &error) == LINNET_OK, error.message);
    return options.output;
  }();
  return path;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tokenize_program)

BOOST_AUTO_TEST_CASE(ids_are_hugging_faces) {
  const TempDir t;
  const Json expected = Json::parse(slurp(fs::path(LINNET_SOURCE_DIR) / "examples/models/linnet-tales/expected-greedy.json"));
  for (const Json& p : expected["prompts"]) {
    const std::string prompt = p["prompt"], text = p["text"];
    std::vector<int> all = p["ids"];
    for (const int id : p["greedy_ids"]) all.push_back(id);
    spill(t / "text.txt", prompt);
    BOOST_TEST(Json::parse(tokenize({prompt})) == p["ids"]);
    BOOST_TEST(Json::parse(tokenize({"-f", t / "text.txt"})) == p["ids"]);
    BOOST_TEST(Json::parse(tokenize({}, {.input = prompt})) == p["ids"]);
    BOOST_TEST(tokenize({"--decode", Json(all).dump()}) == text);  // exactly: no newline
  }
}

BOOST_AUTO_TEST_CASE(there_and_back) {
  const TempDir t;
  for (const std::string& text :
       {std::string(kOdd), std::string(" "), std::string("\n"), std::string(), std::string("a\0b", 3), std::string(70000, 'x')}) {
    const std::string ids = tokenize({}, {.input = text});
    BOOST_TEST(ids.starts_with("["));
    BOOST_TEST(ids.ends_with("]\n"));
    BOOST_TEST((tokenize({"--decode"}, {.input = ids}) == text));
    BOOST_TEST((tokenize({"--decode"}, {.input = ids.substr(1, ids.size() - 3)}) == text));  // 1, 2, 3
    spill(t / "ids.json", ids);
    BOOST_TEST((tokenize({"--decode", "-f", t / "ids.json"}) == text));
  }
}

BOOST_AUTO_TEST_CASE(special_tokens_in_a_text) {
  const Json plain = Json::parse(tokenize({"Once<|endoftext|>"})), parsed = Json::parse(tokenize({"--parse-special", "Once<|endoftext|>"}));
  BOOST_TEST(parsed == Json({515, 0}));
  BOOST_TEST(plain.size() > 2u);
  BOOST_TEST(plain[0] == 515);
  for (const Json& id : plain) BOOST_TEST(id != 0);
  BOOST_TEST(tokenize({"--decode", plain.dump()}) == "Once<|endoftext|>");
  BOOST_TEST(tokenize({"--decode", "--skip-special", plain.dump()}) == "Once<|endoftext|>");  // its letters, not the token
  BOOST_TEST(tokenize({"--decode", "515,0,501"}) == "Once<|endoftext|> upon");
  BOOST_TEST(tokenize({"--decode", "--skip-special", "515,0,501"}) == "Once upon");
  expect_failure(2, "linnet-tokenize", {"MODEL", "--skip-special", "a"}, {"--skip-special", "--decode"});
  for (const char* flag : {"--parse-special", "--add-special"}) expect_failure(2, "linnet-tokenize", {"MODEL", "--decode", flag, "1"}, {flag});
}

// What transformers adds by itself is the first of its ids with special tokens.
BOOST_AUTO_TEST_CASE(special_tokens_that_are_added) {
  const auto ids = [](std::vector<std::string> more) {
    more.insert(more.begin(), adding_model());
    return Json::parse(output_of("linnet-tokenize", more));
  };
  const Json tokenizer = Json::parse(slurp(fs::path(LINNET_SOURCE_DIR) / "tests/unit/text/data/llama.json"));
  const int bos = tokenizer["model"]["vocab"]["<s>"];
  Json with = ids({"--add-special", "Once"});
  const Json without = ids({"Once"});
  BOOST_REQUIRE(with.size() == without.size() + 1);
  BOOST_TEST(with[0] == bos);
  with.erase(0);
  BOOST_TEST(with == without);
  BOOST_TEST(tokenize({"--add-special", "Once"}) == "[515]\n");  // the bundled one adds nothing
}

BOOST_AUTO_TEST_CASE(one_line_a_token) {
  BOOST_TEST(tokenize({"--tokens", "Once upon a time"}) == "     515  \"Once\"\n     501  \" upon\"\n     259  \" a\"\n     420  \" time\"\n");
  BOOST_TEST(tokenize({"--tokens", "--decode", "515,0"}) == "     515  \"Once\"\n       0  \"<|endoftext|>\"  special\n");
  // Halves of characters and what a terminal would act on are escaped; one line each.
  std::string lines = tokenize({"--tokens", "\xf0\x9f\x90\xa6\n\"\\\x1b"});
  for (const char* part : {"\"\\n\"\n", "\\\"", "\\\\", "\\x1B"}) BOOST_TEST(holds(lines, part), part << " in " << lines);
  for (const char c : lines) BOOST_TEST((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
}

BOOST_AUTO_TEST_CASE(no_tokenizer) {
  const std::string model = convert_golden("gpt2-f16");
  expect_failure(1, "linnet-tokenize", {model, "a"}, {model, "no tokenizer"});
}

BOOST_AUTO_TEST_SUITE_END()
