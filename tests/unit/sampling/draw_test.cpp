// Draws over many positions: as often as the probabilities say, always the same for a seed, and independent of what came before.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "support.h"

using namespace sampling_test;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(draws)

struct Setting { const char* name; float temperature; uint32_t top_k; float top_p, min_p; uint64_t seed; };
std::ostream& operator<<(std::ostream& out, const Setting& s) { return out << s.name; }
const Setting kSettings[] = {
    {"plain", 1, 0, 1, 0, 1},     {"another seed", 1, 0, 1, 0, 0xFFFFFFFFFFFFFFFFu},
    {"seed 0", 1, 0, 1, 0, 0},    {"hot", 3, 0, 1, 0, 2},
    {"top-k", 1, 5, 1, 0, 3},     {"top-p", 1, 0, 0.8f, 0, 4},
    {"min-p", 1, 0, 1, 0.2f, 5},  {"all", 1.5f, 9, 0.9f, 0.05f, 6},
};

// Pearson's chi-square over 20000 positions: its mean is the degrees of freedom n, its deviation sqrt(2n). Seeds are fixed, so is the result.
BOOST_DATA_TEST_CASE(frequencies, data::make(kSettings), c) {
  constexpr int kDraws = 20000;
  const std::vector<float> logits = Random(20).logits(12, 1.0);
  linnet_sampling s = with_temperature(c.temperature);
  s.top_k = c.top_k;
  s.top_p = c.top_p;
  s.min_p = c.min_p;
  s.seed = c.seed;
  const auto expected = distribution(logits, s);
  BOOST_REQUIRE(expected.size() > 1u);
  std::vector<int> seen(logits.size());
  for (uint64_t position = 0; position < kDraws; ++position) {
    const Outcome out = sample(logits, s, {}, position);
    BOOST_REQUIRE(out.code == LINNET_OK);
    ++seen[static_cast<size_t>(out.sampled.token)];
  }
  double chi = 0;
  int accounted = 0;
  for (const Probability& p : expected) {
    const double mean = p.probability * kDraws;
    chi += (seen[p.token] - mean) * (seen[p.token] - mean) / mean;
    accounted += seen[p.token];
  }
  BOOST_TEST(accounted == kDraws);  // nothing outside of what is kept
  const double n = static_cast<double>(expected.size() - 1);
  BOOST_TEST(chi < n + 3.5 * std::sqrt(2 * n));
}

BOOST_DATA_TEST_CASE(log_probability_is_that_of_the_distribution, data::make(kSettings), c) {
  const std::vector<float> logits = Random(21).logits(40, 1.5);
  linnet_sampling s = with_temperature(c.temperature);
  s.top_k = c.top_k;
  s.top_p = c.top_p;
  s.min_p = c.min_p;
  s.seed = c.seed;
  const auto kept = distribution(logits, s);
  for (uint64_t position = 0; position < 50; ++position) {
    const linnet_sampled out = sample(logits, s, {}, position).sampled;
    bool found = false;
    for (const Probability& p : kept) {
      if (static_cast<int32_t>(p.token) != out.token) continue;
      found = true;
      BOOST_TEST(std::abs(static_cast<double>(out.log_probability) - std::log(p.probability)) < 1e-5);
    }
    BOOST_TEST(found);
  }
}

// A draw depends on seed and position alone: not on the order of calls, nor on what else the scratch was used for.
BOOST_AUTO_TEST_CASE(no_state_between_draws) {
  const std::vector<float> logits = Random(22).logits(300, 1.0);
  std::vector<char> scratch(linnet_sampler_scratch_bytes(300));
  const linnet_sampling s = with_temperature(1);
  std::vector<int32_t> forwards, backwards(100);
  const auto draw = [&](uint64_t position) {
    std::vector<float> copy = logits;
    linnet_sampled out;
    BOOST_REQUIRE(linnet_sample(copy.data(), 300, nullptr, 0, position, &s, scratch.data(), &out, nullptr) == LINNET_OK);
    return out.token;
  };
  for (uint64_t i = 0; i < 100; ++i) forwards.push_back(draw(i));
  std::fill(scratch.begin(), scratch.end(), '\xFF');
  for (uint64_t i = 100; i-- > 0;) backwards[i] = draw(i);
  BOOST_TEST(forwards == backwards, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(seeds_differ) {
  const std::vector<float> logits(64, 0.0f);
  int same = 0;
  for (uint64_t position = 0; position < 640; ++position) {
    linnet_sampling a = with_temperature(1), b = with_temperature(1);
    a.seed = 1;
    b.seed = 2;
    same += sample(logits, a, {}, position).sampled.token == sample(logits, b, {}, position).sampled.token;
  }
  BOOST_TEST(same < 30);  // 10 are expected
}

// The rule at the edges of the cumulative sums: a token reaches up to, but not including, its sum.
BOOST_AUTO_TEST_CASE(edges_of_the_cumulative_sums) {
  const std::vector<float> logits(4, 2.0f);
  std::vector<char> bytes(linnet_sampler_scratch_bytes(4));
  const auto scratch = linnet::detail::cut_scratch(bytes.data(), 4);
  for (uint32_t top_k : {0u, 3u}) {
    for (float min_p : {0.0f, 0.5f}) {
      linnet_sampling s = with_temperature(1);
      s.top_k = top_k;
      s.min_p = min_p;
      const int32_t n = top_k == 0 ? 4 : 3;
      const auto scanned = linnet::detail::scan(logits.data(), 4, scratch);
      const auto at = [&](double u) { return linnet::detail::choose(logits.data(), 4, s, scanned, scratch, u).token; };
      BOOST_TEST(at(0) == 0);
      BOOST_TEST(at(1 - 0x1p-53) == n - 1);
      for (int32_t i = 1; n == 4 && i < n; ++i) {
        BOOST_TEST(at(0.25 * i) == i);
        BOOST_TEST(at(0.25 * i - 0x1p-53) == i - 1);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
