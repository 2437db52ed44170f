// Text that breaks tokenizers: broken UTF-8, NUL, control tokens spelled by users, characters without a token.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "unit/text/support.h"

using namespace linnet::test;
using namespace std::string_literals;

namespace {

struct Mended {
  std::string bytes, text;
};
std::ostream& operator<<(std::ostream& out, const Mended& m) { return out << Json(m.text).dump(); }

// What stands for broken bytes: one U+FFFD for each longest start of a character, or single byte, that leads nowhere.
const Mended kMended[] = {
    {"\xE6\xAD", "\uFFFD"},
    {"\xE6\xAD x", "\uFFFD x"},
    {"\xFF", "\uFFFD"},
    {"a\xFF\xFE z", "a\uFFFD\uFFFD z"},
    {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},
    {"\xC0\x80", "\uFFFD\uFFFD"},
    {"\x80", "\uFFFD"},
    {"\xF0\x9F\x98", "\uFFFD"},
    {"\xF0\x9F\x98\x80\xF0\x9F", "😀\uFFFD"},
    {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
    {"\xE0\x80\xAF", "\uFFFD\uFFFD\uFFFD"},
    {"\xC3", "\uFFFD"},
    {"\xC3(", "\uFFFD("},
    {"é\xE9", "é\uFFFD"},
    {"\xEF\xBF\xBD", "\uFFFD"},
    {"\xF8\x88\x80\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(encoding)

BOOST_DATA_TEST_CASE(broken_utf8_becomes_replacement_characters, boost::unit_test::data::make(kMended), sample) {
  for (const char* name : kTokenizers) {
    const TestTokenizer t = load(name);
    BOOST_TEST(t.encode(sample.bytes) == t.encode(sample.text));
  }
  const TestTokenizer t = load("bytelevel");
  BOOST_TEST(t.decode(t.encode(sample.bytes)) == sample.text);
}

BOOST_AUTO_TEST_CASE(nul_is_a_character) {
  for (const char* name : {"bytelevel", "llama"}) {
    const TestTokenizer t = load(name);
    for (const std::string& text : {"a\0b"s, "\0"s, "\0\0 x\0"s}) BOOST_TEST(t.decode(t.encode(text)) == text);
  }
  const TestTokenizer t(small_tokenizer({"a", "\0"s, "b", "a\0"s}, {"a \0"s}).dump());
  BOOST_TEST(t.encode("a\0b"s) == (Ids{3, 2}));
  BOOST_TEST(t.decode({3, 2}) == "a\0b"s);
}

BOOST_AUTO_TEST_CASE(control_tokens_in_text_are_the_callers_choice) {
  const TestTokenizer t = load("bytelevel");
  const Ids ids = t.encode("a<|endoftext|>b"), plain = t.encode("a<|endoftext|>b", 0);
  BOOST_TEST(ids.size() == 3u);
  BOOST_TEST(ids[1] == 0);
  for (const int32_t id : plain) BOOST_TEST(id != 0);
  BOOST_TEST(t.decode(plain, true) == "a<|endoftext|>b");
  BOOST_TEST(t.decode(ids, true) == "ab");
}

BOOST_AUTO_TEST_CASE(a_prompt_that_spells_the_start_token_gets_it_twice_if_asked) {
  const TestTokenizer t = load("llama");
  BOOST_TEST(t.encode("<s>", LINNET_PARSE_SPECIAL | LINNET_ADD_SPECIAL) == (Ids{1, 1}));
  BOOST_TEST(t.encode("<s>", LINNET_PARSE_SPECIAL) == (Ids{1}));
  BOOST_TEST(t.encode("", LINNET_ADD_SPECIAL) == (Ids{1}));
  BOOST_TEST(t.encode("", 0).empty());
}

BOOST_AUTO_TEST_CASE(unknown_characters) {
  const std::vector<std::string> tokens{"a", "<unk>", "<0xC3>", "<0xA9>"};
  const auto with = [&](bool fuse, bool bytes, bool unk) {
    Json model = {{"fuse_unk", fuse}, {"byte_fallback", bytes}};
    if (unk) model["unk_token"] = "<unk>";
    return TestTokenizer(small_tokenizer(tokens, {}, {{"model", model}}).dump());
  };
  BOOST_TEST(with(false, false, true).encode("azza") == (Ids{0, 1, 1, 0}));
  BOOST_TEST(with(true, false, true).encode("azza") == (Ids{0, 1, 0}));
  BOOST_TEST(with(true, false, false).encode("azza") == (Ids{0, 0}));
  BOOST_TEST(with(true, true, true).encode("aéa") == (Ids{0, 2, 3, 0}));
  // Hugging Face lets an unknown character wait while byte tokens pass.
  BOOST_TEST(with(true, true, true).encode("zéza") == (Ids{2, 3, 1, 0}));
  BOOST_TEST(with(false, true, true).encode("zéza") == (Ids{2, 3, 1, 1, 0}));
}

BOOST_AUTO_TEST_CASE(merges_go_by_rank_then_from_the_left) {
  const TestTokenizer t(small_tokenizer({"a", "b", "c", "ab", "bc", "aa", "abc", "aaa"}, {"b c", "a b", "a a", "a bc", "aa a"}).dump());
  BOOST_TEST(t.encode("abc") == (Ids{6}));
  BOOST_TEST(t.encode("aaaa") == (Ids{5, 5}));
  BOOST_TEST(t.encode("aaaaa") == (Ids{5, 7}));  // aa aa a, then the rightmost three
  BOOST_TEST(t.encode("abab") == (Ids{3, 3}));
}

BOOST_AUTO_TEST_CASE(a_pair_that_stands_twice_has_its_last_rank) {
  const TestTokenizer t(small_tokenizer({"a", "b", "c", "ab", "bc"}, {"a b", "b c", "a b"}).dump());
  BOOST_TEST(t.encode("abc") == (Ids{0, 4}));
}

BOOST_AUTO_TEST_CASE(ignore_merges_takes_whole_words) {
  const std::vector<std::string> tokens{"a", "b", "ab", "ba", "aba"};
  BOOST_TEST(TestTokenizer(small_tokenizer(tokens, {"b a"}).dump()).encode("aba") == (Ids{0, 3}));
  BOOST_TEST(TestTokenizer(small_tokenizer(tokens, {"b a"}, {{"model", {{"ignore_merges", true}}}}).dump()).encode("aba") == (Ids{4}));
}

// Hugging Face's library panics where a token is found inside spaces that the token before it has stripped. Here it just goes on.
BOOST_AUTO_TEST_CASE(overlapping_strips_do_no_harm) {
  Json left = added_token(3, "A"), spaces = added_token(4, "  ");
  left["rstrip"] = true;
  spaces["lstrip"] = true;
  const TestTokenizer t(small_tokenizer({"a", "x", " "}, {}, {{"added_tokens", {left, spaces}}}).dump());
  BOOST_TEST(t.encode("A   x") == (Ids{3, 4, 1}));
  BOOST_TEST(t.encode("A  a  A") == (Ids{3, 4, 0, 4, 3}));
  BOOST_TEST(t.encode("A" + std::string(1000, ' ') + "x").size() == 502u);
}

BOOST_AUTO_TEST_CASE(spellings) {
  const TestTokenizer t = load("bytelevel");
  for (uint32_t id = 0; id < t.core.section().vocabulary; ++id) BOOST_TEST(t.core.find(t.core.section().spelling(id)) == static_cast<int32_t>(id));
  BOOST_TEST(t.core.find("no such token") == -1);
  BOOST_TEST(t.core.find("") == -1);
  BOOST_TEST(t.core.find(" the") >= 0);
}

BOOST_AUTO_TEST_CASE(a_long_token_is_whole) {
  const std::string name(200, 'n');
  const TestTokenizer t(small_tokenizer({"n", "a"}, {}, {{"added_tokens", {added_token(2, name)}}}).dump());
  BOOST_TEST(t.encode("a" + name + "na") == (Ids{1, 2, 0, 1}));
  BOOST_TEST(join(t.stream({1, 2})) == "a" + name);
}

BOOST_AUTO_TEST_CASE(unknown_flags_are_refused) {
  const TestTokenizer t = load("llama");
  linnet::detail::Vec<int32_t> ids;
  linnet_error error{};
  BOOST_TEST(t.core.encode("a", 4, &ids, &error) == LINNET_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_SUITE_END()
