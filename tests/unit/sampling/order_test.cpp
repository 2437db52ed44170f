// The documented order: penalty, bias, processors, temperature, top-k, top-p, min-p. Each case has another outcome in another order.
#include <boost/test/unit_test.hpp>

#include "support.h"

using namespace sampling_test;

namespace {

struct Seen { std::vector<float> logits; std::vector<int32_t> history; int calls = 0; };

void look(void* context, float* logits, uint32_t vocabulary, const int32_t* history, uint64_t count) {
  Seen& seen = *static_cast<Seen*>(context);
  seen.logits.assign(logits, logits + vocabulary);
  seen.history.assign(history, history + count);
  ++seen.calls;
}
void times_ten(void*, float* logits, uint32_t vocabulary, const int32_t*, uint64_t) {
  for (uint32_t i = 0; i < vocabulary; ++i) logits[i] *= 10;
}
void plus_one(void*, float* logits, uint32_t vocabulary, const int32_t*, uint64_t) {
  for (uint32_t i = 0; i < vocabulary; ++i) logits[i] += 1;
}
void poison(void*, float* logits, uint32_t, const int32_t*, uint64_t) { logits[1] = kNaN; }
void cure(void*, float* logits, uint32_t vocabulary, const int32_t*, uint64_t) {
  for (uint32_t i = 0; i < vocabulary; ++i) logits[i] = static_cast<float>(i);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(order_of_operations)

BOOST_AUTO_TEST_CASE(penalty_then_bias_then_processors) {
  Seen seen;
  const linnet_logits_processor processors[] = {{look, &seen}};
  const linnet_logit_bias biases[] = {{0, 1}, {1, -5}, {0, 0.5f}};
  linnet_sampling s = with_temperature(0.5f);
  s.repetition_penalty = 2;
  s.biases = biases;
  s.bias_count = 3;
  s.processors = processors;
  s.processor_count = 1;
  BOOST_TEST(sample({4, 4, 4}, s, {0, 1}).code == LINNET_OK);
  BOOST_TEST(seen.calls == 1);
  // Bias first would give (4 + 1.5) / 2 and (4 - 5) * 2; temperature first would double all.
  BOOST_TEST(seen.logits == (std::vector<float>{3.5f, -3, 4}), boost::test_tools::per_element());
  BOOST_TEST(seen.history == (std::vector<int32_t>{0, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(processors_run_in_their_order_and_see_all_history) {
  Seen seen;
  const linnet_logits_processor processors[] = {{times_ten, nullptr}, {plus_one, nullptr}, {look, &seen}};
  linnet_sampling s = defaults();
  s.penalty_window = 1;
  s.processors = processors;
  s.processor_count = 3;
  const Outcome out = sample({1, 2}, s, {1, 0, 1});
  BOOST_TEST(seen.logits == (std::vector<float>{11, 21}), boost::test_tools::per_element());
  BOOST_TEST(seen.history.size() == 3u);
  BOOST_TEST(out.sampled.token == 1);
}

BOOST_AUTO_TEST_CASE(processors_are_looked_at_afterwards) {
  linnet_sampling s = with_temperature(1);
  const linnet_logits_processor bad = {poison, nullptr};
  s.processors = &bad;
  s.processor_count = 1;
  BOOST_TEST(sample({1, 2}, s).code == LINNET_NOT_FINITE);
  const linnet_logits_processor good = {cure, nullptr};
  s.processors = &good;
  s.temperature = 0;
  BOOST_TEST(sample({kNaN, kInf, 0}, s).sampled.token == 2);
}

// Greedy is decided after penalty and bias.
BOOST_AUTO_TEST_CASE(greedy_after_adjustments) {
  linnet_sampling s = defaults();
  s.repetition_penalty = 2;
  BOOST_TEST(sample({3, 2}, s, {0}).sampled.token == 1);
  const linnet_logit_bias bias = {0, 1};
  s.biases = &bias;
  s.bias_count = 1;
  BOOST_TEST(sample({3, 2}, s, {0}).sampled.token == 0);
}

// Temperature before top-p: at 1 the best has 0.644, at 0.5 it has 0.865 and fills a nucleus of 0.7 alone.
BOOST_AUTO_TEST_CASE(temperature_before_top_p) {
  linnet_sampling s = with_temperature(1);
  s.top_p = 0.7f;
  BOOST_TEST(show(tokens_of(distribution({3, 2, 1, 0}, s))) == "0 1");
  s.temperature = 0.5f;
  BOOST_TEST(show(tokens_of(distribution({3, 2, 1, 0}, s))) == "0");
}

BOOST_AUTO_TEST_CASE(temperature_before_min_p) {
  linnet_sampling s = with_temperature(1);
  s.min_p = 0.2f;
  BOOST_TEST(show(tokens_of(distribution({3, 2, 1, 0}, s))) == "0 1");
  s.temperature = 2;  // the ratios are 1, 0.607, 0.368, 0.223
  BOOST_TEST(show(tokens_of(distribution({3, 2, 1, 0}, s))) == "0 1 2 3");
}

// Top-k before top-p: of all tokens the best three have 0.681, of the best four they have 0.928. A nucleus of 0.85 is seven or three.
BOOST_AUTO_TEST_CASE(top_k_before_top_p) {
  const std::vector<float> logits = {2, 1, 1, 0, 0, 0, 0, 0, 0};
  linnet_sampling s = with_temperature(1);
  s.top_p = 0.85f;
  BOOST_TEST(distribution(logits, s).size() == 7u);
  s.top_k = 4;
  BOOST_TEST(show(tokens_of(distribution(logits, s))) == "0 1 2");
}

// Top-p before min-p: the probabilities are 0.475, 0.288, 0.175, 0.064, so a nucleus of 0.6 is two. Min-p leaves these two as well, but then
// the first would have 0.622 and be a nucleus by itself.
BOOST_AUTO_TEST_CASE(top_p_before_min_p) {
  const std::vector<float> logits = {2, 1.5f, 1, 0};
  linnet_sampling s = with_temperature(1);
  s.top_p = 0.6f;
  s.min_p = 0.5f;
  BOOST_TEST(show(tokens_of(distribution(logits, s))) == "0 1");
}

BOOST_AUTO_TEST_SUITE_END()
