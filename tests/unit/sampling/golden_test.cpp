// Against Hugging Face transformers: which tokens are left with which probabilities, and which of them the draws are (generate_sampling.py).
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <ostream>

#include "support.h"

using namespace sampling_test;
namespace data = boost::unit_test::data;

namespace {

struct Draw { uint64_t position; int32_t token; double log_probability; };
struct Golden {
  const char* name;
  float temperature;
  uint32_t top_k;
  float top_p, min_p, penalty;
  uint32_t window;
  uint64_t seed;
  std::vector<float> logits;
  std::vector<int32_t> history;
  std::vector<linnet_logit_bias> biases;
  std::vector<Probability> kept;
  std::vector<Draw> draws;
};
std::ostream& operator<<(std::ostream& out, const Golden& g) { return out << g.name; }

const std::vector<Golden> kGolden = {
#include "golden_cases.inl"
};

linnet_sampling options_of(const Golden& g) {
  linnet_sampling s = defaults();
  s.temperature = g.temperature;
  s.top_k = g.top_k;
  s.top_p = g.top_p;
  s.min_p = g.min_p;
  s.repetition_penalty = g.penalty;
  s.penalty_window = g.window;
  s.seed = g.seed;
  s.biases = g.biases.data();
  s.bias_count = static_cast<uint32_t>(g.biases.size());
  return s;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(golden)

BOOST_DATA_TEST_CASE(distributions, data::make(kGolden), g) {
  const std::vector<Probability> got = distribution(g.logits, options_of(g), g.history);
  BOOST_TEST(show(tokens_of(got)) == show(tokens_of(g.kept)));
  BOOST_REQUIRE(got.size() == g.kept.size());
  for (size_t i = 0; i < got.size(); ++i) {
    BOOST_TEST_CONTEXT("token " << got[i].token << ": " << got[i].probability << " beside " << g.kept[i].probability) {
      BOOST_TEST(std::abs(got[i].probability - g.kept[i].probability) < 1e-6);
    }
  }
}

BOOST_DATA_TEST_CASE(draws, data::make(kGolden), g) {
  for (const Draw& draw : g.draws) {
    const Outcome out = sample(g.logits, options_of(g), g.history, draw.position);
    BOOST_REQUIRE(out.code == LINNET_OK);
    BOOST_TEST(out.sampled.token == draw.token);
    BOOST_TEST(std::abs(static_cast<double>(out.sampled.log_probability) - draw.log_probability) < 2e-5);
  }
}

BOOST_AUTO_TEST_SUITE_END()
