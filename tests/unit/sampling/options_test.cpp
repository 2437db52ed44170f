#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "support.h"

using namespace sampling_test;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(options)

BOOST_AUTO_TEST_CASE(defaults_are_the_documented_ones) {
  const linnet_sampling s = defaults();
  BOOST_TEST(s.size == sizeof s);
  BOOST_TEST(s.temperature == 0.0f);
  BOOST_TEST(s.top_k == 0u);
  BOOST_TEST(s.top_p == 1.0f);
  BOOST_TEST(s.min_p == 0.0f);
  BOOST_TEST(s.repetition_penalty == 1.0f);
  BOOST_TEST(s.penalty_window == 0u);
  BOOST_TEST(s.seed == 0u);
  BOOST_TEST(s.bias_count == 0u);
  BOOST_TEST(s.processor_count == 0u);
  linnet_error error{};
  error.code = LINNET_INTERNAL;
  BOOST_TEST(linnet_sampling_check(&s, 10, &error) == LINNET_OK);
  BOOST_TEST(error.code == LINNET_OK);
  BOOST_TEST(linnet_sampling_check(&s, 10, nullptr) == LINNET_OK);
}

struct Range {
  const char* field;
  float linnet_sampling::*member;
  float value;
  bool valid;
  const char* shown;
};
std::ostream& operator<<(std::ostream& out, const Range& r) { return out << r.field << " " << r.value; }
const Range kRanges[] = {
    {"temperature", &linnet_sampling::temperature, 0.0f, true, ""},
    {"temperature", &linnet_sampling::temperature, -0.0f, true, ""},
    {"temperature", &linnet_sampling::temperature, 1e-40f, true, ""},
    {"temperature", &linnet_sampling::temperature, 3e38f, true, ""},
    {"temperature", &linnet_sampling::temperature, -1.0f, false, "-1"},
    {"temperature", &linnet_sampling::temperature, -2e-38f, false, "-2e-38"},
    {"temperature", &linnet_sampling::temperature, kNaN, false, "nan"},
    {"temperature", &linnet_sampling::temperature, kInf, false, "inf"},
    {"temperature", &linnet_sampling::temperature, -kInf, false, "-inf"},
    {"top_p", &linnet_sampling::top_p, 0.0f, true, ""},
    {"top_p", &linnet_sampling::top_p, 1e-4f, true, ""},
    {"top_p", &linnet_sampling::top_p, 1.0f, true, ""},
    {"top_p", &linnet_sampling::top_p, 1.5f, false, "1.5"},
    {"top_p", &linnet_sampling::top_p, 1.0000001f, false, "1"},
    {"top_p", &linnet_sampling::top_p, -0.1f, false, "-0.1"},
    {"top_p", &linnet_sampling::top_p, kNaN, false, "nan"},
    {"top_p", &linnet_sampling::top_p, kInf, false, "inf"},
    {"min_p", &linnet_sampling::min_p, 0.0f, true, ""},
    {"min_p", &linnet_sampling::min_p, 1.0f, true, ""},
    {"min_p", &linnet_sampling::min_p, 1.5f, false, "1.5"},
    {"min_p", &linnet_sampling::min_p, -1.0f, false, "-1"},
    {"min_p", &linnet_sampling::min_p, kNaN, false, "nan"},
    {"repetition_penalty", &linnet_sampling::repetition_penalty, 1e-30f, true, ""},
    {"repetition_penalty", &linnet_sampling::repetition_penalty, 2.0f, true, ""},
    {"repetition_penalty", &linnet_sampling::repetition_penalty, 0.0f, false, "0"},
    {"repetition_penalty", &linnet_sampling::repetition_penalty, -1.1f, false, "-1.1"},
    {"repetition_penalty", &linnet_sampling::repetition_penalty, kNaN, false, "nan"},
    {"repetition_penalty", &linnet_sampling::repetition_penalty, -kNaN, false, "nan"},
    {"repetition_penalty", &linnet_sampling::repetition_penalty, kInf, false, "inf"},
};
// E2: what is out of range is refused by name and number, by check and by sample, and nothing is touched.
BOOST_DATA_TEST_CASE(ranges, data::make(kRanges), range) {
  linnet_sampling s = with_temperature(1);
  s.*range.member = range.value;
  linnet_error error;
  const linnet_code code = linnet_sampling_check(&s, 3, &error);
  const Outcome out = sample({1, 2, 3}, s, {0, 1});
  if (range.valid) {
    BOOST_TEST(code == LINNET_OK);
    BOOST_TEST(out.code == LINNET_OK);
    BOOST_TEST((out.sampled.token >= 0 && out.sampled.token < 3));
  } else {
    BOOST_TEST(code == LINNET_INVALID_ARGUMENT);
    BOOST_TEST(out.code == LINNET_INVALID_ARGUMENT);
    BOOST_TEST(out.sampled.token == -1);
    BOOST_TEST(out.logits == (std::vector<float>{1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(std::string(error.subject) == range.field);
    const std::string message = error.message;
    BOOST_TEST((message.find(std::string(range.field) + " is ") == 0 && message.find(range.shown) != std::string::npos), message);
    BOOST_TEST(std::string(out.error.message) == message);
  }
}

struct Bias { linnet_logit_bias bias; bool valid; const char* said; };
std::ostream& operator<<(std::ostream& out, const Bias& b) { return out << b.bias.token << " " << b.bias.bias; }
const Bias kBiases[] = {
    {{9, 1.0f}, true, ""},
    {{9, -kInf}, true, ""},
    {{10, 1.0f}, false, "biases[1].token is 10; the vocabulary has 10 tokens"},
    {{0xFFFFFFFF, 0.0f}, false, "biases[1].token is 4294967295"},
    {{0, kNaN}, false, "biases[1].bias is nan"},
    {{0, kInf}, false, "biases[1].bias is inf"},
};
BOOST_DATA_TEST_CASE(biases, data::make(kBiases), c) {
  const linnet_logit_bias list[] = {{0, 0.5f}, c.bias};
  linnet_sampling s = defaults();
  s.biases = list;
  s.bias_count = 2;
  linnet_error error;
  BOOST_TEST(linnet_sampling_check(&s, 10, &error) == (c.valid ? LINNET_OK : LINNET_INVALID_ARGUMENT));
  BOOST_TEST(std::string(error.message).find(c.said) == 0u, error.message);
}

BOOST_AUTO_TEST_CASE(pointers_and_sizes) {
  linnet_error error;
  BOOST_TEST(linnet_sampling_check(nullptr, 10, &error) == LINNET_INVALID_ARGUMENT);
  linnet_sampling s = defaults();
  BOOST_TEST(linnet_sampling_check(&s, 0, &error) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(linnet_sampling_check(&s, 0x80000000u, &error) == LINNET_INVALID_ARGUMENT);
  s.bias_count = 1;
  BOOST_TEST(linnet_sampling_check(&s, 10, &error) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(std::string(error.subject) == "biases");
  s = defaults();
  s.processor_count = 1;
  BOOST_TEST(linnet_sampling_check(&s, 10, &error) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(std::string(error.subject) == "processors");
  const linnet_logits_processor none{};
  s.processors = &none;
  BOOST_TEST(linnet_sampling_check(&s, 10, &error) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(std::string(error.message) == "processors[0].process is NULL");
  linnet_sampling zeros{};  // _init forgotten
  BOOST_TEST(linnet_sampling_check(&zeros, 10, &error) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(std::string(error.message).find("linnet_sampling_init") != std::string::npos);
  s = defaults();
  s.size += 8;  // a host built against a later header
  BOOST_TEST(linnet_sampling_check(&s, 10, &error) == LINNET_OK);
}

BOOST_AUTO_TEST_CASE(sample_checks_its_pointers) {
  float logits[2] = {1, 2};
  std::vector<char> scratch(linnet_sampler_scratch_bytes(2));
  linnet_sampled out;
  linnet_error error;
  const linnet_sampling s = defaults();
  BOOST_TEST(linnet_sample(nullptr, 2, nullptr, 0, 0, &s, scratch.data(), &out, &error) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(linnet_sample(logits, 2, nullptr, 0, 0, nullptr, scratch.data(), &out, &error) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(linnet_sample(logits, 2, nullptr, 0, 0, &s, nullptr, &out, &error) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(linnet_sample(logits, 2, nullptr, 0, 0, &s, scratch.data(), nullptr, &error) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(linnet_sample(logits, 2, nullptr, 1, 0, &s, scratch.data(), &out, &error) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(linnet_sample(logits, 0, nullptr, 0, 0, &s, scratch.data(), &out, &error) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(linnet_sample(logits, 2, nullptr, 0, 0, &s, scratch.data(), &out, nullptr) == LINNET_OK);
}

BOOST_AUTO_TEST_SUITE_END()
