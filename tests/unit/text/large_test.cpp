// Sizes of the largest tokenizers, and words of the largest texts. No clocks: steps are counted.
#include <boost/test/unit_test.hpp>
#include <random>

#include "unit/text/support.h"

using namespace linnet::test;

BOOST_AUTO_TEST_SUITE(large)

// All strings of up to six of eight letters, the first 260,000, each made by merging any two halves of it: 800,000 merges.
BOOST_AUTO_TEST_CASE(a_vocabulary_of_260k_with_800k_merges_is_written_and_read) {
  constexpr size_t kTokens = 260000, kMerges = 800000;
  std::vector<std::string> tokens;
  for (char c = 'a'; c <= 'h'; ++c) tokens.emplace_back(1, c);
  for (size_t i = 0; tokens.size() < kTokens; ++i)
    for (char c = 'a'; c <= 'h' && tokens.size() < kTokens; ++c) tokens.push_back(tokens[i] + c);
  std::string json = R"({"version":"1.0","decoder":{"type":"Fuse"},"model":{"type":"BPE","vocab":{)";
  for (size_t i = 0; i < kTokens; ++i) json += (i ? ",\"" : "\"") + tokens[i] + "\":" + std::to_string(i);
  json += "},\"merges\":[";
  size_t merges = 0;
  for (size_t i = 0; i < kTokens && merges < kMerges; ++i)
    for (size_t k = 1; k < tokens[i].size() && merges < kMerges; ++k)
      json += (merges++ ? ",\"" : "\"") + tokens[i].substr(0, k) + " " + tokens[i].substr(k) + "\"";
  json += "]}}";
  BOOST_TEST_REQUIRE(merges == kMerges);
  const TestTokenizer t(json);
  BOOST_TEST(t.section.size < size_t{64} << 20);
  BOOST_TEST(t.core.section().vocabulary == kTokens);
  const Ids ids = t.encode("abcdefgh");
  BOOST_TEST(t.decode(ids) == "abcdefgh");
  BOOST_TEST(ids.size() <= 3u);
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    const size_t id = random() % kTokens;
    BOOST_REQUIRE(t.core.find(tokens[id]) == static_cast<int32_t>(id));
  }
}

// One word of 100 KB and one of 200 KB: the work must double, not fourfold.
BOOST_AUTO_TEST_CASE(the_work_for_one_word_grows_with_its_length) {
  const auto steps = [](const TestTokenizer& t, const std::string& text) {
    linnet::detail::Vec<int32_t> ids;
    linnet_error error{};
    uint64_t n = 0;
    BOOST_TEST_REQUIRE(t.core.encode(text, 0, &ids, &error, &n) == LINNET_OK);
    return static_cast<double>(n);
  };
  for (const char* name : {"llama", "bytelevel"}) {
    const TestTokenizer t = load(name);
    std::mt19937 random(9);
    std::string letters;
    while (letters.size() < 200000) letters += static_cast<char>('a' + random() % 26);
    for (const std::string& text : {letters, std::string(200000, 'a'), std::string(200000, ' '), std::string(200000, '\n')}) {
      const double half = steps(t, text.substr(0, 100000)), whole = steps(t, text);
      BOOST_TEST(whole <= 2.1 * half + 16);
      BOOST_TEST(whole <= 4.0 * 200000);
    }
  }
}

// Equal pairs everywhere, ranks that tie, results that feed each other: merging ends, with at most three queued merges a character.
BOOST_AUTO_TEST_CASE(merges_that_feed_each_other_end) {
  const TestTokenizer t(small_tokenizer({"a", "aa", "aaa", "aaaa", "aaaaa"}, {"a a", "aa a", "aa aa", "a aaa", "aaa aa"}).dump());
  for (const size_t n : {1u, 2u, 3u, 17u, 100u, 4096u}) {
    const std::string text(n, 'a');
    BOOST_TEST(t.decode(t.encode(text)) == text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
