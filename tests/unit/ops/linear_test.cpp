// linear: against plain sums in double, and the same bits however its work is cut.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "unit/ops/harness.h"
#include "unit/ops/reference.h"

using namespace linnet;
using namespace linnet::test;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(linear)

BOOST_DATA_TEST_CASE(kernel_equals_double, data::make(isas()) * data::make({0, 1, 2}), isa, dtype) {
  const uint64_t k = 100, outputs = 48, rows = 7;
  const auto w = matrix(static_cast<uint8_t>(dtype), outputs, k, 1);
  const std::vector<float> x = random_floats(rows * k, 2);
  std::vector<float> y(rows * outputs);
  kernels(isa).linear({w->bytes.data(), w->tensor.dtype, k, outputs / 16, x.data(), k, rows, y.data(), outputs, nullptr, 0, nullptr, 0, nullptr, 0});
  const std::vector<double> exact = reference::linear(doubles(x), *w, nullptr);
  BOOST_TEST(largest_difference(y, exact) < 3e-6);
  std::vector<float> again(y.size());
  kernels(isa).math->linear(&w->tensor, 0, outputs / 16, x.data(), k, rows, again.data(), outputs);
  BOOST_TEST(first_difference(y.data(), again.data(), y.size()) == y.size());
}

// A call for each part of any partition of rows and panels gives what one call gives.
BOOST_DATA_TEST_CASE(any_partition_has_the_same_bits, data::make(isas()) * data::make({0, 1, 2}), isa, dtype) {
  const uint64_t k = 37, panels = 9, outputs = panels * 16;
  const uint32_t rows = 11;
  const auto w = matrix(static_cast<uint8_t>(dtype), outputs, k, 3);
  const std::vector<float> x = random_floats(rows * k, 4), bias = random_floats(outputs, 5);
  const auto part = [&](uint64_t panel, uint64_t panel_count, uint32_t row, uint32_t row_count, float* y) {
    const uint64_t first = panel * 16, bytes = first * k * packing::float_bytes(w->tensor.dtype);
    kernels(isa).linear({w->bytes.data() + bytes, w->tensor.dtype, k, panel_count, x.data() + row * k, k, row_count, y + row * outputs + first,
                         outputs, bias.data() + first, ops::kGelu, nullptr, 0, nullptr, 0});
  };
  std::vector<float> whole(rows * outputs);
  part(0, panels, 0, rows, whole.data());
  for (uint64_t panel_step = 1; panel_step <= panels; ++panel_step) {
    for (uint32_t row_step = 1; row_step <= rows; ++row_step) {
      std::vector<float> y(whole.size());
      for (uint64_t p = 0; p < panels; p += panel_step) {
        for (uint32_t r = 0; r < rows; r += row_step) part(p, std::min(panel_step, panels - p), r, std::min(row_step, rows - r), y.data());
      }
      const size_t bad = first_difference(whole.data(), y.data(), y.size());
      BOOST_TEST(bad == y.size(), "panels by " << panel_step << ", rows by " << row_step << ": differs at " << bad);
    }
  }
}

// The op: prologue, several outputs, bias, activation, residual; any number of threads.
struct Case {
  const char* name;
  int64_t norm;
  std::vector<uint32_t> widths;
  bool biases;
  int64_t activation;
  bool residual;
  uint8_t dtype;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
const Case kCases[] = {
    {"plain", 0, {20}, false, 0, false, LINNET_F32},
    {"bias and residual", 0, {50}, true, 0, true, LINNET_F16},
    {"activation, then residual", 0, {33}, true, ops::kGeluTanh, true, LINNET_F32},
    {"q, k and v behind an RMS norm", 1, {48, 24, 24}, true, 0, false, LINNET_BF16},
    {"head behind a layer norm", 2, {100}, false, 0, false, LINNET_F32},
    {"one output narrower than a panel", 1, {3}, true, ops::kRelu, true, LINNET_F16},
};

BOOST_DATA_TEST_CASE(op, data::make(kCases), c) {
  const uint32_t k = 30;
  Node node("linear");
  node.in(k);
  if (c.residual) node.in(c.widths[0]);
  const auto norm_weight = c.norm ? vector(k, 6) : nullptr, norm_bias = c.norm == 2 ? vector(k, 7) : nullptr;
  node.weight(norm_weight).weight(norm_bias);
  std::vector<std::shared_ptr<Weight>> w, b;
  for (size_t i = 0; i < c.widths.size(); ++i) {
    w.push_back(matrix(c.dtype, c.widths[i], k, 8 + static_cast<uint32_t>(i)));
    b.push_back(c.biases ? vector(c.widths[i], 18 + static_cast<uint32_t>(i)) : nullptr);
    node.out(c.widths[i]).weight(w[i]).weight(b[i]);
  }
  node.integer("norm", c.norm).real("epsilon", 1e-5).integer("activation", c.activation);
  for (const uint32_t rows : {1u, 5u, 13u}) {
    const std::vector<float> x = random_floats(rows * k, 30), residual = random_floats(rows * c.widths[0], 31);
    const Rows in(rows, k, x), added(rows, c.widths[0], residual);
    std::vector<std::vector<float>> first(c.widths.size());
    for (const char* isa : isas()) {
      for (const uint32_t threads : {1u, 2u, 3u, 8u}) {
        Run run;
        run.isa = isa, run.threads = threads;
        run.inputs = {in.rows, added.rows};
        run.segments = {segment(rows)};
        std::deque<Rows> out;
        for (const uint32_t width : c.widths) run.outputs.push_back(out.emplace_back(rows, width).rows);
        BOOST_REQUIRE_MESSAGE(run(node) == LINNET_OK, run.message);
        for (size_t i = 0; i < out.size(); ++i) {
          const std::vector<float> y = out[i].values();
          if (first[i].empty()) first[i] = y;
          BOOST_TEST(first_difference(first[i].data(), y.data(), y.size()) == y.size(),
                     isa << ", " << threads << " threads: output " << i << " differs");
        }
      }
    }
    std::vector<double> normed = doubles(x);
    if (c.norm) normed = reference::norm(normed, k, c.norm == 2, 1e-5, norm_weight.get(), norm_bias.get());
    for (size_t i = 0; i < c.widths.size(); ++i) {
      std::vector<double> exact = reference::linear(normed, *w[i], b[i].get());
      for (double& v : exact) v = reference::activation(c.activation, v);
      if (c.residual) for (size_t j = 0; j < exact.size(); ++j) exact[j] += residual[j];
      BOOST_TEST(largest_difference(first[i], exact) < 3e-6);
    }
  }
}

// The host table refuses what it cannot read with NaN, and reads rows of every float format exactly.
BOOST_DATA_TEST_CASE(dequantize_is_exact, data::make(isas()) * data::make({0, 1, 2}) * data::make({0, 1}), isa, dtype, layout) {
  const uint64_t rows = 37, k = 21;
  const auto w = matrix(static_cast<uint8_t>(dtype), rows, k, 40, static_cast<uint8_t>(layout));
  for (uint64_t r = 0; r < rows; ++r) {
    Aligned<float> y(k);
    kernels(isa).math->dequantize(&w->tensor, r, y.data());
    BOOST_TEST(first_difference(y.data(), w->values.data() + r * k, k) == k);
  }
}

BOOST_AUTO_TEST_CASE(unreadable_weights_give_nan) {
  const auto w = matrix(LINNET_F32, 16, 4, 41);
  const std::vector<float> x(4, 1.0f);
  for (const char* isa : isas()) {
    for (int which = 0; which < 2; ++which) {
      linnet_tensor t = w->tensor;
      if (which) t.dtype = LINNET_I4, t.layout = LINNET_R16K4;  // without levels
      else t.layout = LINNET_PLAIN;
      float y[16] = {};
      kernels(isa).math->linear(&t, 0, 1, x.data(), 4, 1, y, 16);
      for (const float v : y) BOOST_TEST(v != v);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
