// f16 and bf16: every code widened, every rounding boundary narrowed, on every instruction set.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "unit/ops/harness.h"

using namespace linnet::test;
namespace data = boost::unit_test::data;

namespace {

// The value of an f16 code by its definition.
double f16_value(uint32_t code) {
  const int exponent = code >> 10 & 31;
  const double mantissa = code & 1023, sign = code & 0x8000 ? -1 : 1;
  if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24));
}

std::vector<uint16_t> all_codes() {
  std::vector<uint16_t> codes(65536);
  for (uint32_t i = 0; i < 65536; ++i) codes[i] = static_cast<uint16_t>(i);
  return codes;
}

uint16_t narrow(const char* isa, float x) {
  float sixteen[16];
  uint16_t out[16];
  for (float& lane : sixteen) lane = x;
  kernels(isa).narrow(sixteen, 16, LINNET_F16, out, 1);
  uint16_t one;
  kernels(isa).narrow(&x, 1, LINNET_F16, &one, 1);
  for (const uint16_t lane : out) if (lane != one) return 0x5555;  // whole vectors and tails must agree
  return one;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(conversion)

BOOST_DATA_TEST_CASE(widening_is_exact, data::make(isas()), isa) {
  const std::vector<uint16_t> codes = all_codes();
  for (const uint64_t stride : {1, 4}) {
    std::vector<float> f16(65536 / stride), bf16(65536 / stride);
    kernels(isa).widen(LINNET_F16, codes.data(), stride, f16.size(), f16.data());
    kernels(isa).widen(LINNET_BF16, codes.data(), stride, bf16.size(), bf16.data());
    size_t bad_f16 = 0, bad_bf16 = 0;
    for (size_t i = 0; i < f16.size(); ++i) {
      const uint32_t code = static_cast<uint32_t>(i * stride);
      const float expected = static_cast<float>(f16_value(code));
      if (std::isnan(expected) ? !std::isnan(f16[i]) : bits_of(f16[i]) != bits_of(expected)) ++bad_f16;
      if (bits_of(bf16[i]) != code << 16) ++bad_bf16;
    }
    BOOST_TEST(bad_f16 == 0u);
    BOOST_TEST(bad_bf16 == 0u);
  }
}

BOOST_DATA_TEST_CASE(every_f16_comes_back, data::make(isas()), isa) {
  const std::vector<uint16_t> codes = all_codes();
  std::vector<float> wide(65536);
  std::vector<uint16_t> back(65536);
  kernels(isa).widen(LINNET_F16, codes.data(), 1, 65536, wide.data());
  kernels(isa).narrow(wide.data(), 65536, LINNET_F16, back.data(), 1);
  size_t bad = 0;
  for (uint32_t i = 0; i < 65536; ++i) {
    const bool nan = (i & 0x7c00) == 0x7c00 && (i & 0x3ff);
    if (nan ? (back[i] & 0x7e00) != 0x7e00 : back[i] != i) ++bad;  // NaN comes back quiet
  }
  BOOST_TEST(bad == 0u);
}

// Between every two neighbours: below the middle rounds down, above it up, the middle to the even one.
BOOST_DATA_TEST_CASE(narrowing_rounds_to_nearest_even, data::make(isas()), isa) {
  size_t bad = 0;
  for (uint32_t code = 0; code < 0x7bff; ++code) {
    const double low = f16_value(code), high = f16_value(code + 1);
    const float middle = static_cast<float>((low + high) / 2);  // exact
    const uint32_t even = code % 2 ? code + 1 : code;
    for (const uint32_t sign : {0u, 0x8000u}) {
      const float s = sign ? -1.0f : 1.0f;
      bad += narrow(isa, s * middle) != (sign | even);
      bad += narrow(isa, s * std::nextafter(middle, 0.0f)) != (sign | code);
      bad += narrow(isa, s * std::nextafter(middle, INFINITY)) != (sign | (code + 1));
    }
  }
  BOOST_TEST(bad == 0u);
}

BOOST_DATA_TEST_CASE(narrowing_saturates, data::make(isas()), isa) {
  for (const float x : {65504.0f, 65519.996f, 65520.0f, 65536.0f, 1e10f, 3.4e38f}) {
    BOOST_TEST(narrow(isa, x) == 0x7bff);
    BOOST_TEST(narrow(isa, -x) == 0xfbff);
  }
  BOOST_TEST(narrow(isa, INFINITY) == 0x7c00);  // a step with one must still fail
  BOOST_TEST(narrow(isa, -INFINITY) == 0xfc00);
  BOOST_TEST((narrow(isa, NAN) & 0x7e00) == 0x7e00);
  BOOST_TEST(narrow(isa, 1e-45f) == 0);
  BOOST_TEST(narrow(isa, -1e-45f) == 0x8000);
}

BOOST_AUTO_TEST_SUITE_END()
