// Streaming: whole characters at once, nothing early, and in sum the full decode.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <random>

#include "unit/text/support.h"

using namespace linnet::test;
namespace bdata = boost::unit_test::data;

namespace {

// Whether the only known difference applies: a run of <0x..> tokens that begins with whole characters and then breaks.
bool breaks_late(const TestTokenizer& t, const Ids& ids, bool skip_special) {
  linnet::detail::TextStream stream;
  stream.start(&t.core.section(), skip_special);
  std::string run;
  for (size_t i = 0; i <= ids.size(); ++i) {
    if (i < ids.size() && !stream.shown(static_cast<uint32_t>(ids[i]))) continue;
    const int byte = i < ids.size() ? stream.byte_of(static_cast<uint32_t>(ids[i])) : -1;
    if (byte >= 0) {
      run += static_cast<char>(byte);
      continue;
    }
    const size_t whole = linnet::detail::utf8_valid_prefix(run);
    if (whole != 0 && whole != run.size()) return true;
    run.clear();
  }
  return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(decoding)

BOOST_AUTO_TEST_CASE(an_emoji_of_byte_tokens_comes_at_its_last_byte) {  // D1
  for (const char* name : {"llama", "bytelevel"}) {
    const TestTokenizer t = load(name);
    Ids ids = t.encode("😀");
    ids.erase(ids.begin(), ids.end() - 4);
    const auto pieces = t.stream(ids);
    BOOST_TEST(pieces == (std::vector<std::string>{"", "", "", "😀", ""}), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(an_unfinished_character_is_flushed_as_in_a_full_decode) {
  const TestTokenizer llama = load("llama"), bytes = load("bytelevel");
  Ids ids = llama.encode("😀");
  ids.pop_back();
  BOOST_TEST(llama.stream(ids).back() == "\uFFFD\uFFFD\uFFFD");  // one a byte
  BOOST_TEST(join(llama.stream(ids)) == llama.decode(ids));
  ids = bytes.encode("😀");
  ids.pop_back();
  BOOST_TEST(bytes.stream(ids).back() == "\uFFFD");  // one a mistake
  BOOST_TEST(join(bytes.stream(ids)) == bytes.decode(ids));
}

BOOST_AUTO_TEST_CASE(letters_are_not_held_back) {
  for (const char* name : kTokenizers) {
    const TestTokenizer t = load(name);
    std::string text;
    for (int i = 0; i < 200; ++i) text += static_cast<char>('a' + i * 7 % 26);
    const auto ids = t.encode(text);
    const auto pieces = t.stream(ids);
    for (size_t i = 0; i < ids.size(); ++i) BOOST_TEST((!pieces[i].empty() || (i == 0 && t.decode({ids[0]}).empty())));
    BOOST_TEST(pieces.back().empty());
  }
}

BOOST_AUTO_TEST_CASE(the_leading_space_goes_once) {  // D4
  const TestTokenizer t = load("llama");
  const auto pieces = t.stream(t.encode("the the  the"));
  BOOST_TEST(join(pieces) == "the the  the");
  BOOST_TEST(pieces[0][0] == 't');
  // Behind a token that shows, nothing is stripped.
  const Ids bos{1}, words = t.encode("the");
  Ids ids = bos;
  ids.insert(ids.end(), words.begin(), words.end());
  BOOST_TEST(join(t.stream(ids, false)) == "<s> the");
  BOOST_TEST(join(t.stream(ids, true)) == "the");
  BOOST_TEST(t.decode(ids, false) == "<s> the");
}

BOOST_AUTO_TEST_CASE(added_tokens_that_are_not_special_are_text) {
  const TestTokenizer t = load("added");
  BOOST_TEST(t.decode(t.encode("x<a>b<sp>c"), true) == " x<a> b c");
  BOOST_TEST(t.decode(t.encode("x<a>b<sp>c"), false) == " x<a> b<sp> c");
}

// Since 0.23, Hugging Face decodes an added token that is looked for in normalized text to its normalized text, which the decoder undoes.
// Control tokens stay hidden all the same: there, such a one shows in spite of skip_special_tokens.
BOOST_AUTO_TEST_CASE(normalized_added_tokens_decode_to_their_normalized_text) {
  Json word = added_token(3, " and "), control = added_token(4, "<c>", true);
  word["normalized"] = control["normalized"] = true;
  const Json replace = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "_"}},
             back = {{"type", "Replace"}, {"pattern", {{"String", "_"}}}, {"content", " "}};
  const TestTokenizer t(small_tokenizer({"a", "b", "_"}, {},
                                        {{"normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "Prepend"}, {"prepend", "_"}}, replace}}}},
                                         {"decoder", {{"type", "Sequence"}, {"decoders", {back, {{"type", "Fuse"}}}}}},
                                         {"added_tokens", {word, control}}})
                            .dump());
  BOOST_TEST(t.encode(" and b") == (Ids{3, 1}));
  BOOST_TEST(t.encode("<c>a") == (Ids{4, 0}));
  BOOST_TEST(t.decode({3, 1}) == "  and b");
  BOOST_TEST(t.decode({0, 3, 1}) == "a  and b");
  BOOST_TEST(t.decode({4, 0}, false) == " <c>a");
  BOOST_TEST(t.decode({4, 0}, true) == "a");
  BOOST_TEST(join(t.stream({3, 4, 0})) == "  and  <c>a");
  BOOST_TEST(t.core.find(" and ") == 3);
  BOOST_TEST(t.core.find("<c>") == 4);
}

// The one difference between the stream and Hugging Face's decode, as documented in stream.h.
BOOST_AUTO_TEST_CASE(a_run_of_bytes_that_breaks_late) {
  const TestTokenizer t(small_tokenizer({"<0xC3>", "<0xA9>", "<0xFF>", "a"}, {}, {{"decoder", {{"type", "ByteFallback"}}}}).dump());
  BOOST_TEST(t.decode({0, 1, 2, 0, 1, 3}) == "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDa");
  BOOST_TEST(join(t.stream({0, 1, 2, 0, 1, 3})) == "é\uFFFD\uFFFD\uFFFDa");
  BOOST_TEST(join(t.stream({2, 0, 1, 3, 0, 1})) == t.decode({2, 0, 1, 3, 0, 1}));
}

BOOST_DATA_TEST_CASE(random_ids_stream_as_they_decode, bdata::make(kTokenizers), name) {  // D4
  const TestTokenizer t = load(name);
  std::mt19937 random(7);
  const uint32_t size = t.core.section().vocabulary;
  int same = 0;
  for (int i = 0; i < 3000; ++i) {
    Ids ids(random() % 24);
    for (int32_t& id : ids) id = static_cast<int32_t>(random() % 8 == 0 ? random() % (size + 3) : random() % 2 ? random() % 260 : random() % size);
    const bool skip = i % 2;
    if (breaks_late(t, ids, skip)) continue;
    ++same;
    const auto pieces = t.stream(ids, skip);
    BOOST_TEST(join(pieces) == t.decode(ids, skip));
    for (const auto& p : pieces) BOOST_TEST(linnet::detail::utf8_valid(p));
  }
  BOOST_TEST(same > 1000);
}

BOOST_AUTO_TEST_CASE(without_a_decoder_tokens_are_joined_with_spaces) {
  const TestTokenizer t(small_tokenizer({"a", "b", " "}, {}, {{"decoder", nullptr}}).dump());
  BOOST_TEST(t.decode({0, 2, 1, 9, 0}) == "a   b a");
  BOOST_TEST(join(t.stream({0, 2, 1, 9, 0})) == "a   b a");
}

BOOST_AUTO_TEST_CASE(a_small_buffer_is_not_overrun) {
  const TestTokenizer t = load("bytelevel");
  const Ids ids = t.encode("The linnet sang on the garden wall. 😀");
  const std::string whole = t.decode(ids);
  for (size_t capacity = 0; capacity <= whole.size(); ++capacity) {
    std::string room(whole.size() + 8, '#');
    linnet::detail::TextOut out{room.data(), capacity, 0};
    linnet::detail::decode(t.core.section(), ids.data(), ids.size(), false, &out);
    BOOST_TEST(out.size == whole.size());
    BOOST_TEST(room.substr(0, capacity) == whole.substr(0, capacity));
    BOOST_TEST(room.substr(capacity) == std::string(room.size() - capacity, '#'));
  }
}

BOOST_AUTO_TEST_SUITE_END()
