// The bits themselves, recorded: what one machine computed, every other must (promise: the same bits everywhere). A hash that changes means
// that numerics changed, and with them every golden of the project.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "unit/ops/harness.h"

using namespace linnet;
using namespace linnet::test;
namespace data = boost::unit_test::data;

namespace {

uint64_t fnv(const std::vector<float>& v) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const float x : v) {
    for (int shift = 0; shift < 32; shift += 8) hash = (hash ^ (bits_of(x) >> shift & 255u)) * 0x100000001b3u;
  }
  return hash;
}

using Compute = std::vector<float> (*)(const ops::Kernels&);
struct Recorded {
  const char* name;
  uint64_t hash;
  Compute compute;
};
std::ostream& operator<<(std::ostream& out, const Recorded& r) { return out << r.name; }

std::vector<float> mapped(void (*fn)(const float*, float*, size_t), float size) {
  const std::vector<float> x = random_floats(10001, 1, size);
  std::vector<float> y(x.size());
  fn(x.data(), y.data(), y.size());
  return y;
}

std::vector<float> linear(const ops::Kernels& k, uint8_t dtype, uint32_t activation) {
  const auto w = matrix(dtype, 80, 77, 2);
  const std::vector<float> x = random_floats(7 * 77, 3), bias = random_floats(80, 4), residual = random_floats(7 * 80, 5);
  std::vector<float> y(7 * 80);
  k.linear({w->bytes.data(), dtype, 77, 5, x.data(), 77, 7, y.data(), 80, bias.data(), activation, nullptr, 0, residual.data(), 80});
  return y;
}

std::vector<float> attend(const ops::Kernels& k, uint8_t dtype) {
  const uint32_t n = 84;
  const State state(n, dtype, 6);
  const std::vector<float> numbers = random_floats(6 * 2 * 64 * n, 6, 2.0f), q = random_floats(n, 7, 2.0f);
  k.narrow(numbers.data(), numbers.size(), dtype, state.pages.data(), 1);
  return test::attend(k, state, {5, 2, 0, 1, 4, 3}, q, n, {{70, 370}}, 0.1f, 4.0f);
}

std::vector<float> rows(const ops::Kernels& k) {
  const std::vector<float> x = random_floats(301, 8, 3.0f), w = random_floats(301, 9), b = random_floats(301, 10);
  std::vector<float> y(5 * 301);
  k.rms_norm(x.data(), w.data(), y.data(), 301, 1e-5f);
  k.layer_norm(x.data(), w.data(), b.data(), y.data() + 301, 301, 1e-5f);
  k.softmax({x.data(), y.data() + 602, 10, 301, 0.7f, 2.0f});
  k.rope(x.data(), w.data(), y.data() + 903, 3, 100, 42, ops::kHalves);
  k.rope(x.data(), w.data(), y.data() + 1204, 3, 100, 42, ops::kPairs);
  return y;
}

const Recorded kRecorded[] = {
    {"exp", 0x8340fcc9b69c5acd, [](const ops::Kernels& k) { return mapped(k.math->exp, 100.0f); }},
    {"tanh", 0xc866b5d389c36913, [](const ops::Kernels& k) { return mapped(k.math->tanh, 5.0f); }},
    {"erf", 0x66ffaa84173afc7e, [](const ops::Kernels& k) { return mapped(k.math->erf, 5.0f); }},
    {"log", 0x60c409cf38e4dc5, [](const ops::Kernels& k) {
       std::vector<float> x = random_floats(10001, 1, 100.0f);
       for (float& v : x) v = std::fabs(v);
       k.math->log(x.data(), x.data(), x.size());
       return x;
     }},
    {"sin", 0xff06558b360eeacd, [](const ops::Kernels& k) { return mapped(k.math->sin, 1e5f); }},
    {"cos", 0x3c124b705bb1939e, [](const ops::Kernels& k) { return mapped(k.math->cos, 1e5f); }},
    {"linear f32, gelu", 0x5d72cec0620b4f85, [](const ops::Kernels& k) { return linear(k, LINNET_F32, ops::kGelu); }},
    {"linear f16, gelu_tanh", 0xc8b4b1e1bc7b8837, [](const ops::Kernels& k) { return linear(k, LINNET_F16, ops::kGeluTanh); }},
    {"linear bf16, silu", 0x72844117189e0b1e, [](const ops::Kernels& k) { return linear(k, LINNET_BF16, ops::kSilu); }},
    {"attend f32", 0x50e33d51a83b49a3, [](const ops::Kernels& k) { return attend(k, LINNET_F32); }},
    {"attend f16", 0x334cb25e94355266, [](const ops::Kernels& k) { return attend(k, LINNET_F16); }},
    {"norms, softmax, rope", 0xf6c45bba773ec09e, rows},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(golden_bits)

BOOST_DATA_TEST_CASE(as_recorded, data::make(isas()) * data::make(kRecorded), isa, recorded) {
  const uint64_t hash = fnv(recorded.compute(kernels(isa)));
  BOOST_TEST(hash == recorded.hash, isa << " " << recorded.name << ": 0x" << std::hex << hash << " was 0x" << recorded.hash);
}

BOOST_AUTO_TEST_SUITE_END()
