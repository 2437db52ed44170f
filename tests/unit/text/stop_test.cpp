#include "runtime/text/stop.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <vector>

using linnet::detail::StopFilter;
using linnet::detail::TextOut;

namespace {

StopFilter make(const std::vector<std::string>& stops) {
  std::vector<const char*> strings;
  for (const auto& s : stops) strings.push_back(s.c_str());
  StopFilter filter(linnet::detail::allocator_or_malloc(nullptr));
  linnet_error error{};
  BOOST_TEST_REQUIRE(filter.set(strings.data(), static_cast<uint32_t>(strings.size()), &error) == LINNET_OK);
  return filter;
}

// What each piece lets through, and, if nothing stopped it, what the end lets through.
struct Shown {
  std::vector<std::string> pieces;
  bool stopped = false;
};
Shown run(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopFilter filter = make(stops);
  Shown shown;
  char room[4096];
  for (const auto& piece : pieces) {
    TextOut out{room, sizeof room, 0};
    shown.stopped = filter.put(piece, &out);
    shown.pieces.emplace_back(room, out.size);
    if (shown.stopped) return shown;
  }
  TextOut out{room, sizeof room, 0};
  filter.flush(&out);
  shown.pieces.emplace_back(room, out.size);
  return shown;
}

struct Case {
  std::vector<std::string> stops, pieces, shown;
  bool stopped;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  for (const auto& s : c.stops) out << '"' << s << "\" ";
  for (const auto& s : c.pieces) out << '|' << s;
  return out;
}

const Case kCases[] = {
    {{}, {"a", "b"}, {"a", "b", ""}, false},
    {{"END"}, {"one ", "E", "N", "D", "x"}, {"one ", "", "", ""}, true},  // over several tokens
    {{"END"}, {"one ENDING"}, {"one "}, true},                            // inside a token
    {{"aab"}, {"a", "a", "a", "b"}, {"", "", "a", ""}, true},             // the match begins later than it seemed
    {{"aab"}, {"aaab"}, {"a"}, true},
    {{"END"}, {"E", "N", "x"}, {"", "", "ENx", ""}, false},  // a false beginning
    {{"END"}, {"oneEN"}, {"one", "EN"}, false},              // ... at the end
    {{"\n\n"}, {"a\n", "b\n", "\n"}, {"a", "\nb", ""}, true},
    {{"abcd", "bc"}, {"abcd"}, {"a"}, true},  // the first to be completed
    {{"abcd", "bc"}, {"a", "b", "c"}, {"", "", "a"}, true},
    {{"bcd", "abcd"}, {"abcd"}, {""}, true},        // both at one place: the longer
    {{"xay", "ab"}, {"xa", "b"}, {"", "x"}, true},  // one gives way to the other
    {{"é"}, {"caf", "é", "x"}, {"caf", ""}, true},
    {{"aa"}, {"ba"}, {"b", "a"}, false},
    {{"ababc"}, {"abababc"}, {"ab"}, true},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(stop_strings)

BOOST_DATA_TEST_CASE(table, boost::unit_test::data::make(kCases), sample) {
  const Shown got = run(sample.stops, sample.pieces);
  BOOST_TEST(got.pieces == sample.shown, boost::test_tools::per_element());
  BOOST_TEST(got.stopped == sample.stopped);
}

// Against the definition, written plainly: end at the first byte at which some stop string is complete; hold back the longest end of the
// text that begins a stop string, and no more.
BOOST_AUTO_TEST_CASE(random_texts_against_the_definition) {
  std::mt19937 random(11);
  const auto word = [&](size_t most) {
    std::string s(1 + random() % most, 'a');
    for (char& c : s) c = static_cast<char>('a' + random() % 3);
    return s;
  };
  for (int i = 0; i < 4000; ++i) {
    std::vector<std::string> stops(1 + random() % 3), pieces(1 + random() % 8);
    for (auto& s : stops) s = word(5);
    for (auto& p : pieces) p = word(6);
    std::string text, shown;
    std::vector<std::string> want;
    bool stopped = false;
    for (const auto& piece : pieces) {
      for (const char c : piece) {
        text += c;
        size_t longest = 0;
        for (const auto& s : stops)
          if (text.ends_with(s)) longest = std::max(longest, s.size());
        if (longest) {
          text.resize(text.size() - longest);
          stopped = true;
          break;
        }
      }
      size_t held = 0;
      for (const auto& s : stops)
        for (size_t n = 1; !stopped && n < s.size(); ++n)
          if (text.ends_with(s.substr(0, n))) held = std::max(held, n);
      const std::string visible = text.substr(0, text.size() - held);
      want.push_back(visible.substr(shown.size()));
      shown = visible;
      if (stopped) break;
    }
    if (!stopped) want.push_back(text.substr(shown.size()));
    const Shown got = run(stops, pieces);
    BOOST_TEST(got.stopped == stopped);
    BOOST_TEST(got.pieces == want, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_a_stop_string) {
  StopFilter filter(linnet::detail::allocator_or_malloc(nullptr));
  linnet_error error{};
  const char* empty[] = {"x", ""};
  BOOST_TEST(filter.set(empty, 2, &error) == LINNET_INVALID_ARGUMENT);
  const char* broken[] = {"\xA9"};
  BOOST_TEST(filter.set(broken, 1, &error) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(filter.set(nullptr, 1, &error) == LINNET_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_SUITE_END()
