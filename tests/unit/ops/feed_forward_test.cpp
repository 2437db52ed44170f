#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "unit/ops/harness.h"
#include "unit/ops/reference.h"

using namespace linnet;
using namespace linnet::test;
namespace data = boost::unit_test::data;

namespace {

struct Case {
  const char* name;
  int64_t norm;
  bool gate, biases, residual;
  int64_t activation;
  uint32_t width, hidden, out;
  uint8_t dtype;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
const Case kCases[] = {
    {"plain", 0, false, false, false, ops::kRelu, 16, 64, 16, LINNET_F32},
    {"GPT-2's", 2, false, true, true, ops::kGeluTanh, 20, 80, 20, LINNET_F32},
    {"Llama's", 1, true, false, true, ops::kSilu, 24, 67, 24, LINNET_F16},
    {"gate, biases, odd sizes", 2, true, true, true, ops::kGelu, 13, 29, 13, LINNET_BF16},
    {"another width out", 0, true, true, false, ops::kSilu, 10, 200, 37, LINNET_F32},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(feed_forward)

BOOST_DATA_TEST_CASE(op, data::make(kCases), c) {
  const auto norm_weight = c.norm ? vector(c.width, 1) : nullptr, norm_bias = c.norm == 2 ? vector(c.width, 2) : nullptr;
  const auto up = matrix(c.dtype, c.hidden, c.width, 3), gate = c.gate ? matrix(c.dtype, c.hidden, c.width, 4) : nullptr,
             down = matrix(c.dtype, c.out, c.hidden, 5);
  const auto bias = [&](bool wanted, uint64_t n, uint32_t seed) { return wanted && c.biases ? vector(n, seed) : nullptr; };
  const auto up_bias = bias(true, c.hidden, 6), gate_bias = bias(c.gate, c.hidden, 7), down_bias = bias(true, c.out, 8);
  Node node("feed_forward");
  node.in(c.width).out(c.out);
  if (c.residual) node.in(c.out);
  node.weight(norm_weight).weight(norm_bias).weight(up).weight(up_bias).weight(gate).weight(gate_bias).weight(down).weight(down_bias);
  node.integer("norm", c.norm).real("epsilon", 1e-6).integer("activation", c.activation);
  for (const uint32_t rows : {1u, 4u, 9u}) {
    const std::vector<float> x = random_floats(rows * c.width, 9), residual = random_floats(rows * c.out, 10);
    const Rows in(rows, c.width, x), added(rows, c.out, residual);
    std::vector<float> first;
    for (const char* isa : isas()) {
      for (const uint32_t threads : {1u, 2u, 3u, 8u}) {
        const Rows out(rows, c.out);
        Run run;
        run.isa = isa, run.threads = threads;
        run.inputs = {in.rows, added.rows}, run.outputs = {out.rows}, run.segments = {segment(rows)};
        BOOST_REQUIRE_MESSAGE(run(node) == LINNET_OK, run.message);
        const std::vector<float> y = out.values();
        if (first.empty()) first = y;
        BOOST_TEST(first_difference(first.data(), y.data(), y.size()) == y.size(), isa << ", " << threads << " threads differ");
      }
    }
    std::vector<double> normed = doubles(x);
    if (c.norm) normed = reference::norm(normed, c.width, c.norm == 2, 1e-6, norm_weight.get(), norm_bias.get());
    std::vector<double> hidden = reference::linear(normed, *up, up_bias.get());
    if (gate) {
      const std::vector<double> gates = reference::linear(normed, *gate, gate_bias.get());
      for (size_t i = 0; i < hidden.size(); ++i) hidden[i] *= reference::activation(c.activation, gates[i]);
    } else {
      for (double& h : hidden) h = reference::activation(c.activation, h);
    }
    std::vector<double> exact = reference::linear(hidden, *down, down_bias.get());
    if (c.residual) for (size_t i = 0; i < exact.size(); ++i) exact[i] += residual[i];
    BOOST_TEST(largest_difference(first, exact) < 3e-6);
  }
}

// A row's bits do not depend on the rows beside it.
BOOST_AUTO_TEST_CASE(rows_are_independent) {
  const uint32_t width = 24, hidden = 70, rows = 9;
  Node node("feed_forward");
  node.in(width).out(width).weight(vector(width, 1)).weight(nullptr);
  node.weight(matrix(LINNET_F16, hidden, width, 2))
      .weight(nullptr)
      .weight(matrix(LINNET_F16, hidden, width, 3))
      .weight(nullptr)
      .weight(matrix(LINNET_F16, width, hidden, 4));
  node.integer("norm", 1).real("epsilon", 1e-6).integer("activation", ops::kSilu);
  const std::vector<float> x = random_floats(rows * width, 5);
  for (const char* isa : isas()) {
    const Rows in(rows, width, x), all(rows, width);
    Run run;
    run.isa = isa, run.inputs = {in.rows}, run.outputs = {all.rows}, run.segments = {segment(rows)};
    BOOST_REQUIRE_MESSAGE(run(node) == LINNET_OK, run.message);
    for (uint32_t t = 0; t < rows; ++t) {
      const Rows one_in(1, width, {x.begin() + t * width, x.begin() + (t + 1) * width}), one(1, width);
      run.inputs = {one_in.rows}, run.outputs = {one.rows}, run.segments = {segment(1)};
      BOOST_REQUIRE(run(node) == LINNET_OK);
      BOOST_TEST(first_difference(one.at(0), all.at(t), width) == width);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
