// Hugging Face's answers for the four small tokenizers, both ways (generate_tokenizers.py).
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "unit/text/support.h"

using namespace linnet::test;
namespace bdata = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(golden)

BOOST_DATA_TEST_CASE(text_to_ids_and_back, bdata::make(kTokenizers), name) {
  const std::string base = name;
  const TestTokenizer t = load(base);
  const Json expected = Json::parse(read_data(base + ".expected.json"));
  BOOST_TEST(expected["cases"].size() >= 60u);
  for (const Json& c : expected["cases"]) {
    const std::string text = c["text"];
    BOOST_TEST_CONTEXT(Json(text).dump()) {
      const Ids ids = c["ids_with_special"];
      BOOST_TEST(t.encode(text) == Ids(c["ids"]));
      BOOST_TEST(t.encode(text, LINNET_PARSE_SPECIAL | LINNET_ADD_SPECIAL) == ids);
      BOOST_TEST(t.encode(text, 0) == Ids(c["ids_plain"]));
      BOOST_TEST(t.decode(ids, false) == std::string(c["decoded"]));
      BOOST_TEST(t.decode(ids, true) == std::string(c["decoded_skip_special"]));
      BOOST_TEST(join(t.stream(ids, false)) == std::string(c["decoded"]));
      BOOST_TEST(join(t.stream(ids, true)) == std::string(c["decoded_skip_special"]));
    }
  }
}

// Ids that no text gives: halves of characters, holes, ids beyond the vocabulary, tokens in odd places.
BOOST_DATA_TEST_CASE(any_ids_to_text, bdata::make(kTokenizers), name) {
  const std::string base = name;
  const TestTokenizer t = load(base);
  const Json expected = Json::parse(read_data(base + ".expected.json"));
  for (const Json& c : expected["decodes"]) {
    const Ids ids = c["ids"];
    BOOST_TEST_CONTEXT(c["ids"].dump()) {
      BOOST_TEST(t.decode(ids, false) == std::string(c["decoded"]));
      BOOST_TEST(t.decode(ids, true) == std::string(c["decoded_skip_special"]));
    }
  }
}

// The same file with its merges spelled the other way: pairs since tokenizers 0.20, "a b" before.
BOOST_DATA_TEST_CASE(merges_as_pairs_and_as_strings, bdata::make(kTokenizers), name) {
  const std::string base = name;
  Json file = Json::parse(read_data(base + ".json"));
  for (Json& merge : file["model"]["merges"]) {
    BOOST_TEST_REQUIRE(merge.is_array());
    merge = std::string(merge[0]) + " " + std::string(merge[1]);
  }
  const std::string strings = file.dump(), pairs = read_data(base + ".json");
  BOOST_CHECK(linnet::converter::compile_tokenizer(strings, "") == linnet::converter::compile_tokenizer(pairs, ""));
  file["model"].erase("type");  // as old files have it
  BOOST_CHECK(linnet::converter::compile_tokenizer(file.dump(), "") == linnet::converter::compile_tokenizer(pairs, ""));
}

BOOST_AUTO_TEST_SUITE_END()
