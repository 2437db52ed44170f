// The cases that went wrong elsewhere: what is not a number, what is too small, what is empty.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cfenv>

#include "support.h"

using namespace sampling_test;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(edges)

struct NotFinite { const char* name; std::vector<float> logits; const char* message; };
std::ostream& operator<<(std::ostream& out, const NotFinite& c) { return out << c.name; }
const NotFinite kNotFinite[] = {
    {"all -inf", {-kInf, -kInf, -kInf}, "all 3 logits are -inf"},
    {"one -inf only", {-kInf}, "all 1 logits are -inf"},
    {"one NaN", {1, kNaN, 2}, "the logit of token 1 is NaN"},
    {"one negative NaN", {1, 2, -kNaN}, "the logit of token 2 is NaN"},
    {"a NaN among -inf", {-kInf, -kInf, kNaN}, "the logit of token 2 is NaN"},
    {"all NaN", {kNaN, kNaN}, "the logit of token 0 is NaN"},
    {"+inf", {0, kInf, 0}, "the logit of token 1 is +inf"},
    {"+inf and -inf", {-kInf, kInf}, "the logit of token 1 is +inf"},
};
// E1: the same refusal whatever the options.
BOOST_DATA_TEST_CASE(not_finite, data::make(kNotFinite), c) {
  std::vector<linnet_sampling> all(6, with_temperature(1));
  all[0].temperature = 0;
  all[1].temperature = 1e-40f;
  all[3].top_k = 1;
  all[4].top_p = 0.5f;
  all[5].min_p = 1;
  for (linnet_sampling& s : all) {
    const Outcome out = sample(c.logits, s);
    BOOST_TEST(out.code == LINNET_NOT_FINITE);
    BOOST_TEST(out.error.code == LINNET_NOT_FINITE);
    BOOST_TEST(out.sampled.token == -1);
    BOOST_TEST(std::string(out.error.message).find(c.message) == 0u, out.error.message);
    s.repetition_penalty = 1.5f;
    BOOST_TEST(sample(c.logits, s, {0}).code == LINNET_NOT_FINITE);
  }
}

// A NaN is found wherever it lies in the blocks of a larger vocabulary.
BOOST_AUTO_TEST_CASE(not_finite_anywhere) {
  for (uint32_t n : {63u, 64u, 65u, 200u}) {
    for (uint32_t at = 0; at < n; ++at) {
      for (float bad : {kNaN, -kNaN, kInf}) {
        std::vector<float> logits(n, 0.0f);
        logits[at] = bad;
        const Outcome out = sample(logits, with_temperature(1));
        BOOST_TEST(out.code == LINNET_NOT_FINITE);
        BOOST_TEST(out.error.actual == at);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_options_make_of_finite_logits_is_looked_at_too) {
  linnet_sampling s = with_temperature(1);
  s.repetition_penalty = 1e-30f;  // 1e20 / 1e-30 is +inf
  BOOST_TEST(sample({1e20f, 0}, s, {0}).code == LINNET_NOT_FINITE);
  s = with_temperature(1);
  const linnet_logit_bias ban[] = {{0, -kInf}, {1, -kInf}};
  s.biases = ban;
  s.bias_count = 2;
  BOOST_TEST(sample({1, 2}, s).code == LINNET_NOT_FINITE);
  BOOST_TEST(sample({1, 2, 3}, s).sampled.token == 2);
  BOOST_TEST(sample({kInf, 2, 3}, s).code == LINNET_NOT_FINITE);  // +inf - inf
}

// E1: equal logits are a fair choice among all, or the first.
BOOST_AUTO_TEST_CASE(all_equal) {
  for (float value : {0.0f, -0.0f, -5.0f, 3e38f, -3e38f, 1e-44f}) {
    const std::vector<float> logits(5, value);
    BOOST_TEST(sample(logits, defaults()).sampled.token == 0);
    int seen[5] = {};
    for (uint64_t position = 0; position < 100; ++position) {
      const Outcome out = sample(logits, with_temperature(0.7f), {}, position);
      BOOST_REQUIRE(out.code == LINNET_OK);
      ++seen[out.sampled.token];
      BOOST_TEST(out.sampled.log_probability == -1.6094379f, boost::test_tools::tolerance(1e-6f));
    }
    for (int count : seen) BOOST_TEST(count > 5);
  }
}

struct Temperature { float temperature; bool greedy; };
std::ostream& operator<<(std::ostream& out, const Temperature& t) { return out << t.temperature; }
const Temperature kTemperatures[] = {{0.0f, true},   {-0.0f, true}, {1e-40f, true}, {9.9e-5f, true}, {1e-4f, false},
                                     {1e-3f, false}, {1.0f, false}, {1e30f, false}, {3e38f, false}};
// E2: below 1e-4 is the argmax with probability 1; 1e-4 and up is a distribution whose numbers are all finite.
BOOST_DATA_TEST_CASE(temperatures, data::make(kTemperatures), c) {
  const std::vector<float> logits = {0.5f, 3e38f, 3e38f, -3e38f, 0};
  for (uint64_t position = 0; position < 40; ++position) {
    const Outcome out = sample(logits, with_temperature(c.temperature), {}, position);
    BOOST_REQUIRE(out.code == LINNET_OK);
    BOOST_TEST((out.sampled.token >= 0 && out.sampled.token < 5));
    BOOST_TEST((out.sampled.log_probability <= 0 && out.sampled.log_probability > -90));
    if (c.greedy) {
      BOOST_TEST(out.sampled.token == 1);
      BOOST_TEST(out.sampled.log_probability == 0.0f);
    }
  }
  const auto kept = distribution(logits, with_temperature(c.temperature));
  BOOST_TEST(kept.size() == (c.greedy ? 1u : 5u));
}

// Of logits 3, 2, 1, 0 at temperature 1 the probabilities are 0.644, 0.237, 0.087, 0.032.
struct Limits { uint32_t top_k; float top_p, min_p; const char* kept; };
std::ostream& operator<<(std::ostream& out, const Limits& l) { return out << l.top_k << " " << l.top_p << " " << l.min_p; }
const Limits kLimits[] = {
    {0, 1, 0, "2 0 3 1"}, {0, 0, 0, "2"}, {0, 1e-4f, 0, "2"}, {0, 0.64f, 0, "2"}, {0, 0.65f, 0, "2 0"}, {0, 0.88f, 0, "2 0"},
    {0, 0.89f, 0, "2 0 3"}, {0, 0.9999f, 0, "2 0 3 1"}, {0, 1, 1, "2"}, {0, 1, 0.36f, "2 0"}, {0, 1, 0.37f, "2"},
    {0, 1, 0.13f, "2 0 3"}, {0, 1, 1e-4f, "2 0 3 1"}, {1, 1, 0, "2"}, {2, 1, 0, "2 0"}, {4, 1, 0, "2 0 3 1"},
    {5, 1, 0, "2 0 3 1"}, {0xFFFFFFFF, 1, 0, "2 0 3 1"}, {1, 0, 1, "2"}, {4, 0, 0, "2"}, {3, 0.5f, 0, "2"}, {2, 0.74f, 0, "2 0"},
    {2, 0.73f, 0, "2"}, {3, 1, 0.3f, "2 0"}, {0, 0.95f, 0.2f, "2 0"},
};
// E2: at least one token is kept, whatever the limits.
BOOST_DATA_TEST_CASE(limits, data::make(kLimits), l) {
  linnet_sampling s = with_temperature(1);
  s.top_k = l.top_k;
  s.top_p = l.top_p;
  s.min_p = l.min_p;
  const auto kept = distribution({2, 0, 3, 1}, s);
  BOOST_TEST(show(tokens_of(kept)) == l.kept);
  double sum = 0;
  for (const Probability& p : kept) sum += p.probability;
  BOOST_TEST(sum == 1.0, boost::test_tools::tolerance(1e-12));
}

// A nucleus that is reached exactly is full: four tokens at 0.25 each, all there are or the best four of five.
BOOST_AUTO_TEST_CASE(nucleus_reached_exactly) {
  linnet_sampling s = with_temperature(1);
  for (uint32_t quarters : {1u, 2u, 3u}) {
    s.top_p = 0.25f * static_cast<float>(quarters);
    s.top_k = 0;
    BOOST_TEST(distribution({7, 7, 7, 7}, s).size() == quarters);
    s.top_k = 4;
    BOOST_TEST(distribution({7, 7, 7, 7, 7}, s).size() == quarters);
  }
}

// E4 and E6. Logits of the vocabulary {a, b, ...} after the penalty.
struct Penalty {
  const char* name;
  std::vector<float> logits;
  std::vector<int32_t> history;
  float penalty;
  uint32_t window;
  std::vector<float> after;
};
std::ostream& operator<<(std::ostream& out, const Penalty& p) { return out << p.name; }
const Penalty kPenalties[] = {
    {"E4", {-2, 1}, {0, 1}, 1.5f, 0, {-3, 1 / 1.5f}},
    {"once, however often seen", {-2, 1}, {1, 1, 0, 1, 0}, 1.5f, 0, {-3, 1 / 1.5f}},
    {"E6: the last two of 1 2 3", {4, 4, 4, 4}, {1, 2, 3}, 2, 2, {4, 4, 2, 2}},
    {"E6: an immediate repeat", {4, 4, 4, 4}, {1, 3, 3}, 2, 2, {4, 4, 4, 2}},
    {"the newest alone", {4, 4, 4, 4}, {1, 2, 3}, 2, 1, {4, 4, 4, 2}},
    {"a window as long as the history", {4, 4, 4, 4}, {1, 2, 3}, 2, 3, {4, 2, 2, 2}},
    {"a longer window", {4, 4, 4, 4}, {1, 2, 3}, 2, 0xFFFFFFFF, {4, 2, 2, 2}},
    {"no history", {4, -4}, {}, 2, 0, {4, -4}},
    {"zero stays zero", {0, 1}, {0}, 2, 0, {0, 1}},
    {"below 1 rewards", {-2, 1}, {0, 1}, 0.5f, 0, {-1, 2}},
    {"a banned token stays banned", {-kInf, 1}, {0, 1}, 1.5f, 0, {-kInf, 1 / 1.5f}},
    {"1 is off", {-2, 1}, {0, 1}, 1, 0, {-2, 1}},
};
BOOST_DATA_TEST_CASE(penalties, data::make(kPenalties), c) {
  linnet_sampling s = defaults();
  s.repetition_penalty = c.penalty;
  s.penalty_window = c.window;
  const Outcome out = sample(c.logits, s, c.history);
  BOOST_TEST(out.code == LINNET_OK);
  BOOST_TEST(out.logits == c.after, boost::test_tools::per_element());
}

// E6: an id beyond the vocabulary is refused, inside the window or not, with the penalty on or off, and nothing is touched.
BOOST_AUTO_TEST_CASE(history_outside_the_vocabulary) {
  for (int32_t bad : {4, 5, 1000000, -1, INT32_MIN, INT32_MAX}) {
    for (size_t at = 0; at < 3; ++at) {
      for (float penalty : {1.0f, 1.5f}) {
        std::vector<int32_t> history = {1, 2, 3};
        history[at] = bad;
        linnet_sampling s = defaults();
        s.repetition_penalty = penalty;
        s.penalty_window = 1;
        const Outcome out = sample({1, 2, 3, 4}, s, history);
        BOOST_TEST(out.code == LINNET_INVALID_ARGUMENT);
        BOOST_TEST(std::string(out.error.subject) == "history");
        BOOST_TEST(out.error.expected == 4u);
        const std::string said = "history[" + std::to_string(at) + "] is token " + std::to_string(bad);
        BOOST_TEST(std::string(out.error.message).find(said) == 0u, out.error.message);
        BOOST_TEST(out.logits == (std::vector<float>{1, 2, 3, 4}), boost::test_tools::per_element());
      }
    }
  }
}

// C10: a row padded beyond the vocabulary given is neither read nor changed there.
BOOST_AUTO_TEST_CASE(padding_beyond_the_vocabulary) {
  std::vector<float> row(128, 1.0f);
  row[127] = 1000;
  row[101] = kNaN;
  std::vector<char> scratch(linnet_sampler_scratch_bytes(100));
  for (uint64_t position = 0; position < 200; ++position) {
    linnet_sampling s = with_temperature(position % 2 ? 1.0f : 0.0f);
    linnet_sampled out;
    BOOST_TEST(linnet_sample(row.data(), 100, nullptr, 0, position, &s, scratch.data(), &out, nullptr) == LINNET_OK);
    BOOST_TEST(out.token < 100);
  }
  BOOST_TEST(row[127] == 1000.0f);
}

BOOST_AUTO_TEST_CASE(one_token) {
  for (float temperature : {0.0f, 1.0f}) {
    const Outcome out = sample({-7.0f}, with_temperature(temperature), {0});
    BOOST_TEST(out.code == LINNET_OK);
    BOOST_TEST(out.sampled.token == 0);
    BOOST_TEST(out.sampled.log_probability == 0.0f);
  }
}

BOOST_AUTO_TEST_CASE(tokens_at_minus_infinity_are_never_drawn) {
  const std::vector<float> logits = {-kInf, 1, -kInf, 1, -kInf};
  for (uint32_t top_k : {0u, 1u, 3u, 4u}) {
    linnet_sampling s = with_temperature(1);
    s.top_k = top_k;
    BOOST_TEST(show(tokens_of(distribution(logits, s))) == (top_k == 1 ? "1" : "1 3"));
    for (uint64_t position = 0; position < 50; ++position) BOOST_TEST(sample(logits, s, {}, position).sampled.token % 2 == 1);
  }
}

// A token so far below the best that its weight is 0 is not drawn, not even at the end of the range.
BOOST_AUTO_TEST_CASE(weightless_tokens_are_never_drawn) {
  std::vector<float> logits(200, -1000.0f);
  logits[77] = 0;
  logits[150] = -1;
  std::vector<char> bytes(linnet_sampler_scratch_bytes(200));
  const auto scratch = linnet::detail::cut_scratch(bytes.data(), 200);
  for (uint32_t top_k : {0u, 100u}) {
    linnet_sampling s = with_temperature(1);
    s.top_k = top_k;
    linnet::detail::Scan scanned;
    BOOST_REQUIRE(linnet::detail::prepare(logits.data(), 200, nullptr, 0, &s, scratch, &scanned, nullptr) == LINNET_OK);
    BOOST_TEST(linnet::detail::choose(logits.data(), 200, s, scanned, scratch, 0.0).token == 77);
    BOOST_TEST(linnet::detail::choose(logits.data(), 200, s, scanned, scratch, 0.73).token == 77);
    BOOST_TEST(linnet::detail::choose(logits.data(), 200, s, scanned, scratch, 0.74).token == 150);
    BOOST_TEST(linnet::detail::choose(logits.data(), 200, s, scanned, scratch, 1 - 0x1p-53).token == 150);
    // 1 itself is never a draw, but stands for sums that come out below their total.
    BOOST_TEST(linnet::detail::choose(logits.data(), 200, s, scanned, scratch, 1.0).token == 150);
  }
}

// Ties go to the lower id: in the argmax, at the edge of top-k and at the edge of top-p.
BOOST_AUTO_TEST_CASE(ties) {
  const std::vector<float> logits = {1, 2, 2, 1, 2, 1};
  BOOST_TEST(sample(logits, defaults()).sampled.token == 1);
  linnet_sampling s = with_temperature(1);
  for (uint32_t k : {1u, 2u, 3u, 4u, 5u}) {
    s.top_k = k;
    BOOST_TEST(show(tokens_of(distribution(logits, s))) == std::string("1 2 4 0 3 5").substr(0, 2 * k - 1));
  }
  s = with_temperature(1);
  s.top_p = 0.5f;  // 0.244 each for the three
  BOOST_TEST(show(tokens_of(distribution(logits, s))) == "1 2 4");
  s.top_p = 0.4f;
  BOOST_TEST(show(tokens_of(distribution(logits, s))) == "1 2");
  s = with_temperature(1);
  s.min_p = 1;
  BOOST_TEST(show(tokens_of(distribution(logits, s))) == "1 2 4");
  // -0 and +0 are one logit.
  BOOST_TEST(sample({-1, -0.0f, 0.0f}, defaults()).sampled.token == 1);
  s = with_temperature(1);
  s.top_k = 1;
  BOOST_TEST(show(tokens_of(distribution({-1, -0.0f, 0.0f}, s))) == "1");
}

BOOST_AUTO_TEST_CASE(scratch_of_any_alignment) {
  Random random(3);
  const std::vector<float> logits = random.logits(300, 2);
  for (size_t misalign = 0; misalign < 9; ++misalign) {
    for (uint64_t position = 0; position < 20; ++position) {
      const int32_t expected = sample(logits, with_temperature(1), {}, position).sampled.token;
      BOOST_TEST(sample(logits, with_temperature(1), {}, position, misalign).sampled.token == expected);
    }
  }
}

#if defined(__x86_64__) || defined(__aarch64__)
// A host that rounds otherwise gets the same tokens and keeps its rounding.
BOOST_AUTO_TEST_CASE(rounding_mode_of_the_host) {
  Random random(4);
  const std::vector<float> logits = random.logits(500, 2);
  linnet_sampling s = with_temperature(0.9f);
  s.repetition_penalty = 1.3f;
  for (uint64_t position = 0; position < 50; ++position) {
    const Outcome plain = sample(logits, s, {1, 2, 3}, position);
    std::fesetround(FE_UPWARD);
    const Outcome upward = sample(logits, s, {1, 2, 3}, position);
    const int mode = std::fegetround();
    std::fesetround(FE_TONEAREST);
    BOOST_TEST(mode == FE_UPWARD);
    BOOST_TEST(upward.sampled.token == plain.sampled.token);
    BOOST_TEST(upward.sampled.log_probability == plain.sampled.log_probability);
    BOOST_TEST(upward.logits == plain.logits, boost::test_tools::per_element());
  }
}
#endif

BOOST_AUTO_TEST_SUITE_END()
