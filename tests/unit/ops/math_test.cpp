// runtime/math.h against the C library in double, and the vector forms against the scalar one.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <ostream>

#include "runtime/math.h"
#include "unit/ops/harness.h"

using namespace linnet;
using namespace linnet::test;
namespace data = boost::unit_test::data;

namespace {

// Error of `got` in units of the last place of the exact result.
double ulps(float got, double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(static_cast<float>(exact))) return got == static_cast<float>(exact) ? 0 : INFINITY;
  int exponent;
  std::frexp(exact, &exponent);
  return std::fabs(static_cast<double>(got) - exact) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

struct Function {
  const char* name;
  float (*ours)(float);
  double (*exact)(double);
  void (*linnet_math::*array)(const float*, float*, size_t);
  float low, high;  // of |x|
  double most;      // ulps
};
std::ostream& operator<<(std::ostream& out, const Function& f) { return out << f.name << " from " << f.low << " to " << f.high; }

double exact_exp(double x) { return x < static_cast<double>(-87.3f) ? 0.0 : std::exp(x); }

const Function kFunctions[] = {
    {"exp", detail::exp, exact_exp, &linnet_math::exp, 0.0f, 1000.0f, 1.05},
    {"exp", detail::exp, exact_exp, &linnet_math::exp, 0.1f, 90.0f, 1.05},
    {"tanh", detail::tanh, std::tanh, &linnet_math::tanh, 0.0f, 1000.0f, 1.4},
    {"tanh", detail::tanh, std::tanh, &linnet_math::tanh, 0.25f, 10.0f, 1.4},
    {"erf", detail::erf, std::erf, &linnet_math::erf, 0.0f, 1000.0f, 1.15},
    {"erf", detail::erf, std::erf, &linnet_math::erf, 0.25f, 4.5f, 1.15},
    {"log", detail::log, std::log, &linnet_math::log, 0.0f, 3.4e38f, 0.9},
    {"log", detail::log, std::log, &linnet_math::log, 0.5f, 2.0f, 0.9},
    {"sin", detail::sin, std::sin, &linnet_math::sin, 0.0f, 1e6f, 0.501},
    {"sin", detail::sin, std::sin, &linnet_math::sin, 0.5f, 100.0f, 0.501},
    {"sin", detail::sin, std::sin, &linnet_math::sin, 1e6f, 1e15f, 0.501},
    {"cos", detail::cos, std::cos, &linnet_math::cos, 0.0f, 1e6f, 0.501},
    {"cos", detail::cos, std::cos, &linnet_math::cos, 0.5f, 100.0f, 0.501},
};

// About a million floats with low <= |x| <= high, spread evenly over their bit patterns, both signs.
std::vector<float> grid(float low, float high) {
  const uint32_t a = bits_of(low), b = bits_of(high), step = (b - a) / 500000 + 1;
  std::vector<float> x;
  for (uint64_t i = a; i <= b; i += step) {
    x.push_back(float_of(static_cast<uint32_t>(i)));
    x.push_back(-x.back());
  }
  return x;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(math)

BOOST_DATA_TEST_CASE(error_in_ulps, data::make(kFunctions), f) {
  double worst = 0;
  float at = 0;
  for (const float x : grid(f.low, f.high)) {
    const double error = ulps(f.ours(x), f.exact(x));
    if (error > worst) worst = error, at = x;
  }
  BOOST_TEST_MESSAGE(f.name << ": " << worst << " ulp at " << at);
  BOOST_TEST(worst <= f.most, f.name << " is off by " << worst << " ulp at " << at);
}

BOOST_DATA_TEST_CASE(vectors_have_the_scalar_bits, data::make(kFunctions), f) {
  std::vector<float> x = grid(f.low, f.high);
  const std::vector<float> nasty = nasty_floats(1003, 5);  // an odd length, so that there is a tail
  x.insert(x.end(), nasty.begin(), nasty.end());
  for (const char* isa : isas()) {
    std::vector<float> y(x.size());
    (kernels(isa).math->*f.array)(x.data(), y.data(), x.size());
    size_t bad = 0;
    while (bad < x.size() && same_bits(y[bad], f.ours(x[bad]))) ++bad;
    BOOST_TEST(bad == x.size(), isa << " " << f.name << "(" << x[bad] << ") differs");
  }
}

BOOST_AUTO_TEST_CASE(exact_and_special_values) {
  const float inf = INFINITY;
  BOOST_TEST(detail::exp(0.0f) == 1.0f);
  BOOST_TEST(detail::exp(-0.0f) == 1.0f);
  BOOST_TEST(bits_of(detail::exp(std::nextafter(-87.3f, -inf))) == 0u);
  BOOST_TEST(bits_of(detail::exp(-inf)) == 0u);
  BOOST_TEST(detail::exp(-87.3f) > 0.0f);
  BOOST_TEST(detail::exp(88.7228317f) < inf);
  BOOST_TEST(detail::exp(88.7228394f) == inf);
  BOOST_TEST(detail::exp(inf) == inf);
  BOOST_TEST(detail::tanh(inf) == 1.0f);
  BOOST_TEST(detail::tanh(-20.0f) == -1.0f);
  BOOST_TEST(bits_of(detail::tanh(-0.0f)) == bits_of(-0.0f));
  BOOST_TEST(detail::tanh(1e-40f) == 1e-40f);
  BOOST_TEST(detail::erf(-inf) == -1.0f);
  BOOST_TEST(bits_of(detail::erf(-0.0f)) == bits_of(-0.0f));
  BOOST_TEST(detail::log(1.0f) == 0.0f);
  BOOST_TEST(detail::log(0.0f) == -inf);
  BOOST_TEST(detail::log(-0.0f) == -inf);
  BOOST_TEST(detail::log(inf) == inf);
  BOOST_TEST(std::isnan(detail::log(-1.0f)));
  BOOST_TEST(detail::sin(0.0f) == 0.0f);
  BOOST_TEST(detail::cos(0.0f) == 1.0f);
  for (const float x : {inf, -inf, 1e30f}) BOOST_TEST((std::isnan(detail::sin(x)) && std::isnan(detail::cos(x))));
  for (const Function& f : kFunctions) BOOST_TEST((std::isnan(f.ours(NAN)) && std::isnan(f.ours(-NAN))));
}

BOOST_AUTO_TEST_SUITE_END()
