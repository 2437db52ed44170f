// Replies over a scripted session: what is fed when, what is shown, why it ends, and what a second turn starts from.
#include "runtime/text/reply.h"

#include <boost/test/unit_test.hpp>
#include <deque>

#include "unit/text/support.h"

using namespace linnet::test;
using linnet::detail::Reply;
using linnet::detail::ReplyLimits;
using linnet::detail::ReplySession;

namespace {

// Allocations are counted; the standard one does the work.
size_t allocations = 0;
linnet_allocator counting() {
  return {[](void*, size_t size, size_t alignment) {
            ++allocations;
            return linnet::detail::malloc_alloc(nullptr, size, alignment);
          },
          linnet::detail::malloc_free, nullptr};
}

// A session that draws what the script says and remembers what it was fed.
struct Script {
  Ids draws, fed;
  size_t context = 1000, drawn = 0, feeds = 0;
  linnet_code feed_error = LINNET_OK, sample_error = LINNET_OK;  // once
  size_t feed_error_after = 0;                                   // tokens of that feed that still go in
  const volatile int* watched = nullptr;

  static Script& of(void* c) { return *static_cast<Script*>(c); }
  static linnet_code feed(void* c, const int32_t* tokens, size_t count, linnet_error* error) {
    Script& s = of(c);
    ++s.feeds;
    for (size_t i = 0; i < count; ++i) {
      if (s.feed_error && i == s.feed_error_after) {
        error->code = std::exchange(s.feed_error, LINNET_OK);
        return error->code;
      }
      if (s.fed.size() == s.context) return error->code = LINNET_CONTEXT_FULL;
      s.fed.push_back(tokens[i]);
    }
    return LINNET_OK;
  }
  static linnet_code sample(void* c, const linnet_sampling*, linnet_sampled* out, linnet_error* error) {
    Script& s = of(c);
    if (s.sample_error) return error->code = std::exchange(s.sample_error, LINNET_OK);
    BOOST_TEST_REQUIRE(s.drawn < s.draws.size());
    *out = {s.draws[s.drawn++], 0};
    return LINNET_OK;
  }
  static uint64_t position(void* c) { return of(c).fed.size(); }
  static const int32_t* tokens(void* c) { return of(c).fed.data(); }
  static void watch(void* c, const volatile int* flag) { of(c).watched = flag; }
  ReplySession session() { return {this, feed, sample, position, tokens, watch}; }
};

// Characters as tokens: a is 0 ... z is 25, then the space, the bytes of an emoji, and a control token.
constexpr int32_t kSpace = 26, kEmoji = 27, kControl = 31, kEnd = 40, kOtherEnd = 41;
const TestTokenizer& letters() {
  static const TestTokenizer t = [] {
    std::vector<std::string> tokens;
    for (char c = 'a'; c <= 'z'; ++c) tokens.emplace_back(1, c);
    for (const char* s : {" ", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"}) tokens.emplace_back(s);
    const Json decoders = {
        {"type", "Sequence"},
        {"decoders", {{{"type", "ByteFallback"}}, {{"type", "Fuse"}}, {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
    return TestTokenizer(small_tokenizer(tokens, {}, {{"decoder", decoders}, {"added_tokens", {added_token(kControl, "<c>", true)}}}).dump());
  }();
  return t;
}
Ids spell(const std::string& text) {
  Ids ids;
  for (const char c : text) ids.push_back(c == ' ' ? kSpace : c - 'a');
  return ids;
}

const uint32_t kEnds[] = {kEnd, kOtherEnd};

linnet_write_options options(int64_t max_tokens = -1) {
  linnet_write_options o{};
  o.size = sizeof o;
  o.max_tokens = max_tokens;
  o.skip_special = 1;
  return o;
}

struct Fixture {
  explicit Fixture(Ids draws, size_t context = 1000, bool text = true) : reply(make(text, context)) {
    script.draws = std::move(draws);
    script.context = context;
    BOOST_TEST_REQUIRE(reply.prepare(nullptr) == LINNET_OK);
  }
  Reply make(bool text, size_t context) {
    return Reply(counting(), script.session(), ReplyLimits{context, 50, kEnds, 2}, text ? &letters().core.section() : nullptr);
  }
  linnet_code begin(const Ids& prompt, const linnet_write_options& o) { return reply.begin(prompt.data(), prompt.size(), o, &error); }
  // All pieces; finish and code say how it ended.
  std::vector<std::string> run() {
    std::vector<std::string> pieces;
    const char* text;
    size_t n;
    while ((code = reply.next(&text, &n, &finish, &error)) == LINNET_OK && text) pieces.emplace_back(text, n);
    return pieces;
  }
  Ids tokens() const { return Ids(reply.tokens().begin(), reply.tokens().end()); }
  Script script;
  Reply reply;
  linnet_error error{};
  linnet_finish finish = LINNET_FINISH_NONE;
  linnet_code code = LINNET_OK;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(replies)

BOOST_AUTO_TEST_CASE(max_tokens_is_exact) {
  for (const int64_t n : {0, 1, 2, 5}) {
    Fixture f(spell("abcdefgh"));
    BOOST_TEST_REQUIRE(f.begin(spell("xy"), options(n)) == LINNET_OK);
    const auto pieces = f.run();
    BOOST_TEST(f.finish == LINNET_FINISH_LENGTH);
    BOOST_TEST(join(pieces) == std::string("abcdefgh").substr(0, static_cast<size_t>(n)));
    BOOST_TEST(f.tokens().size() == static_cast<size_t>(n));
    BOOST_TEST(f.script.drawn == static_cast<size_t>(n));
    BOOST_TEST(f.script.fed.size() == 2 + static_cast<size_t>(n ? n - 1 : 0));  // the last token costs no step
  }
  Fixture f({});
  BOOST_TEST(f.begin(spell("xy"), options(-2)) == LINNET_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(either_end_token_stops_and_neither_is_told) {
  for (const int32_t end : {kEnd, kOtherEnd}) {
    Ids draws = spell("hi");
    draws.push_back(end);
    Fixture f(draws);
    f.begin(spell("a"), options());
    BOOST_TEST(join(f.run()) == "hi");
    BOOST_TEST(f.finish == LINNET_FINISH_STOP);
    BOOST_TEST(f.tokens() == spell("hi"));
    BOOST_TEST(f.run().empty());  // and it stays finished
    BOOST_TEST(f.finish == LINNET_FINISH_STOP);
  }
  Ids draws = spell("hi");
  draws.push_back(kEnd);
  draws.push_back(0);
  Fixture f(draws);
  linnet_write_options o = options(4);
  o.ignore_eos = 1;
  f.begin(spell("a"), o);
  BOOST_TEST(join(f.run()) == "hia");  // an id beyond the tokenizer has no text
  BOOST_TEST(f.tokens().size() == 4u);
}

BOOST_AUTO_TEST_CASE(whole_characters_one_token_a_piece) {
  Fixture f({kEmoji, kEmoji + 1, kEmoji + 2, kEmoji + 3, 0});
  f.begin(spell("x"), options(5));
  BOOST_TEST(f.run() == (std::vector<std::string>{"", "", "", "😀", "a"}), boost::test_tools::per_element());
  Fixture cut({kEmoji, kEmoji + 1});
  cut.begin(spell("x"), options(2));
  BOOST_TEST(join(cut.run()) == "\uFFFD\uFFFD");
}

BOOST_AUTO_TEST_CASE(the_text_goes_on_from_the_prompt) {
  Fixture f(spell(" go"));
  f.begin(spell("once"), options(3));
  BOOST_TEST(join(f.run()) == " go");  // the prompt was the start; this space is meant
  Fixture start(spell(" go"));
  start.begin({kControl}, options(3));
  BOOST_TEST(join(start.run()) == "go");  // nothing was shown before it
  Fixture split({kEmoji + 3});
  split.begin({kEmoji, kEmoji + 1, kEmoji + 2}, options(1));
  BOOST_TEST(join(split.run()) == "😀");
}

BOOST_AUTO_TEST_CASE(control_tokens_are_shown_by_choice) {
  for (const int skip : {0, 1}) {
    Fixture f({0, kControl, 1});
    linnet_write_options o = options(3);
    o.skip_special = skip;
    f.begin(spell("x"), o);
    BOOST_TEST(join(f.run()) == (skip ? "ab" : "a<c>b"));
    BOOST_TEST(f.tokens() == (Ids{0, kControl, 1}));
  }
}

BOOST_AUTO_TEST_CASE(stop_strings) {
  const char* stops[] = {"end"};
  linnet_write_options o = options();
  o.stop = stops;
  o.stop_count = 1;
  Fixture f(spell("the end is"));
  f.begin(spell("x"), o);
  BOOST_TEST(join(f.run()) == "the ");
  BOOST_TEST(f.finish == LINNET_FINISH_STOP);
  BOOST_TEST(f.tokens() == spell("the end"));
  Fixture cut(spell("the en"));
  o.max_tokens = 6;
  cut.begin(spell("x"), o);
  BOOST_TEST(join(cut.run()) == "the en");  // flushed at the end
  BOOST_TEST(cut.finish == LINNET_FINISH_LENGTH);
}

BOOST_AUTO_TEST_CASE(a_second_turn_first_feeds_what_was_only_drawn) {
  Fixture f(spell("abcd"));
  f.begin(spell("xy"), options(2));
  f.run();
  BOOST_TEST(f.script.fed == spell("xya"));
  f.begin(spell("z"), options(2));
  BOOST_TEST(join(f.run()) == "cd");
  BOOST_TEST(f.script.fed == spell("xyabzc"));
  BOOST_TEST(f.tokens() == spell("cd"));
  f.reply.reset();
  f.script.fed.clear();
  BOOST_TEST(f.begin({}, options(1)) == LINNET_INVALID_ARGUMENT);  // nothing waits any more
}

BOOST_AUTO_TEST_CASE(a_full_context_keeps_all_text) {
  Fixture f(spell("abcdef"), 4);
  f.begin(spell("xy"), options());
  BOOST_TEST(join(f.run()) == "abc");
  BOOST_TEST(f.finish == LINNET_FINISH_CONTEXT_FULL);
  BOOST_TEST(f.code == LINNET_OK);
  BOOST_TEST(f.begin(spell("z"), options()) == LINNET_CONTEXT_FULL);  // the second turn does not fit, and says so
  BOOST_TEST(f.error.expected == 6u);
  BOOST_TEST(f.error.actual == 4u);
  Fixture large({}, 4);
  BOOST_TEST(large.begin(spell("xyzxy"), options()) == LINNET_CONTEXT_FULL);
  BOOST_TEST(large.script.feeds == 0u);
}

BOOST_AUTO_TEST_CASE(cancelling) {
  volatile int cancel = 0;
  linnet_write_options o = options();
  o.cancel = &cancel;
  Fixture f(spell("abc"));
  f.begin(spell("x"), o);
  const char* text;
  size_t n;
  BOOST_TEST(f.reply.next(&text, &n, &f.finish, &f.error) == LINNET_OK);
  BOOST_TEST(f.script.watched == nullptr);  // only while a token is made
  cancel = 1;
  BOOST_TEST(f.run().empty());
  BOOST_TEST(f.finish == LINNET_FINISH_CANCELLED);
  BOOST_TEST(f.code == LINNET_OK);
  // Inside the prompt: the rest of it goes first next time.
  cancel = 0;
  Fixture prompt(spell("ab"));
  prompt.script.feed_error = LINNET_CANCELLED;
  prompt.script.feed_error_after = 2;
  prompt.begin(spell("vwxyz"), o);
  BOOST_TEST(prompt.run().empty());
  BOOST_TEST(prompt.finish == LINNET_FINISH_CANCELLED);
  prompt.begin({}, options(1));
  BOOST_TEST(join(prompt.run()) == "a");
  BOOST_TEST(prompt.script.fed == spell("vwxyz"));
}

BOOST_AUTO_TEST_CASE(errors_end_the_reply_and_not_the_session) {
  const char* stops[] = {"bz"};
  linnet_write_options o = options();
  o.stop = stops;
  o.stop_count = 1;
  Fixture f(spell("abcd"));
  f.begin(spell("x"), o);
  const char* text;
  size_t n;
  for (int i = 0; i < 2; ++i) f.reply.next(&text, &n, &f.finish, &f.error);
  f.script.sample_error = LINNET_NOT_FINITE;
  BOOST_TEST(join(f.run()) == "b");  // what was held back is told first
  BOOST_TEST(f.code == LINNET_NOT_FINITE);
  BOOST_TEST(f.finish == LINNET_FINISH_ERROR);
  BOOST_TEST(f.reply.next(&text, &n, &f.finish, &f.error) == LINNET_NOT_FINITE);
  BOOST_TEST(f.begin({}, options(2)) == LINNET_OK);
  BOOST_TEST(join(f.run()) == "cd");
  Fixture none({});
  BOOST_TEST(none.reply.next(&text, &n, &none.finish, &none.error) == LINNET_INVALID_ARGUMENT);  // before any begin
}

BOOST_AUTO_TEST_CASE(prompts_that_cannot_be) {
  Fixture f({});
  BOOST_TEST(f.begin({}, options()) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(f.begin({0, 50}, options()) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(f.begin({-1}, options()) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(f.reply.begin(nullptr, 1, options(), &f.error) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(f.script.feeds == 0u);
}

BOOST_AUTO_TEST_CASE(without_a_tokenizer_pieces_are_empty) {
  Fixture f({3, 49, kEnd}, 1000, false);
  f.begin({1, 2}, options());
  BOOST_TEST(f.run() == (std::vector<std::string>{"", ""}), boost::test_tools::per_element());
  BOOST_TEST(f.tokens() == (Ids{3, 49}));
  BOOST_TEST(f.finish == LINNET_FINISH_STOP);
}

BOOST_AUTO_TEST_CASE(nothing_is_allocated_after_begin) {
  Ids draws;
  for (int i = 0; i < 900; ++i) draws.push_back(i % 32);
  Fixture f(draws);
  const char* stops[] = {"stop here", "abcdefghijk!"};
  linnet_write_options o = options(900);
  o.stop = stops;
  o.stop_count = 2;
  f.script.fed.reserve(1000);
  f.begin(spell("x"), o);
  const size_t before = allocations;
  const char* text;
  size_t n;
  while (f.reply.next(&text, &n, &f.finish, &f.error) == LINNET_OK && text) {}
  BOOST_TEST(f.finish == LINNET_FINISH_LENGTH);
  BOOST_TEST(f.tokens().size() == 900u);
  BOOST_TEST(allocations == before);
}

BOOST_AUTO_TEST_SUITE_END()
