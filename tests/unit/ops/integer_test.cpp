// Integer weights: the contract once more, one number at a time, and every kernel must equal it to the bit.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "unit/ops/harness.h"

using namespace linnet;
using namespace linnet::test;
namespace data = boost::unit_test::data;

namespace {

struct Shape {
  uint64_t outputs, k;
  uint32_t rows;
};
std::ostream& operator<<(std::ostream& out, const Shape& s) { return out << s.outputs << "x" << s.k << " " << s.rows << " rows"; }
const Shape kShapes[] = {{1, 1, 1},     {16, 32, 1},  {17, 31, 2},   {48, 33, 3},   {33, 64, 4},   {50, 65, 5},    {64, 96, 7},   {80, 100, 8},
                         {112, 512, 9}, {96, 513, 16}, {47, 544, 17}, {49, 1055, 33}, {32, 2048, 1}, {48, 1600, 130}, {130, 70, 257}};

struct Group {
  float scale;
  int codes[32];
};
Group quantize(const float* x, uint64_t n) {
  Group g = {};
  float top = 0;
  for (uint64_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) return {NAN, {}};
    top = std::max(top, std::fabs(x[i]));
  }
  if (top < 0x1p-100f) return g;
  g.scale = top / 127.0f;
  const float inverse = 127.0f / top;
  for (uint64_t i = 0; i < n; ++i) g.codes[i] = static_cast<int>(std::nearbyint(x[i] * inverse));
  return g;
}

std::vector<float> linear(const IntegerWeight& w, const std::vector<float>& x, uint32_t rows) {
  const uint64_t outputs = w.tensor.shape[1], k = w.tensor.shape[2], groups = packing::groups(k);
  std::vector<float> y;
  for (uint32_t t = 0; t < rows; ++t) {
    std::vector<Group> row;
    for (uint64_t g = 0; g < groups; ++g) row.push_back(quantize(&x[t * k + 32 * g], std::min<uint64_t>(32, k - 32 * g)));
    for (uint64_t r = 0; r < outputs; ++r) {
      float sum = 0;
      for (uint64_t g = 0; g < groups; ++g) {
        int dot = 0;
        for (uint64_t j = 0; j < 32 && 32 * g + j < k; ++j) dot += row[g].codes[j] * w.levels[r * k + 32 * g + j];
        const volatile float scale = w.scales[r * groups + g] * row[g].scale;
        sum = std::fma(static_cast<float>(dot), scale, sum);
      }
      y.push_back(sum);
    }
  }
  return y;
}

std::vector<float> run(const ops::Kernels& k, const IntegerWeight& w, const std::vector<float>& x, uint32_t rows) {
  const uint64_t outputs = w.tensor.shape[1], columns = w.tensor.shape[2], stride = packing::padded_rows(outputs);
  const Quantized q(k, x, columns);
  std::vector<float> y(rows * stride), kept;
  ops::Linear a = {};
  a.weights = w.bytes.data(), a.dtype = w.tensor.dtype, a.levels = w.tensor.levels;
  a.k = columns, a.panels = packing::panels(outputs), a.rows = rows;
  a.codes = q.bytes.data(), a.code_stride = q.at.bytes;
  a.y = y.data(), a.y_stride = stride;
  k.linear(a);
  for (uint32_t t = 0; t < rows; ++t) kept.insert(kept.end(), y.begin() + static_cast<long>(t * stride), y.begin() + static_cast<long>(t * stride + outputs));
  return kept;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(integers)

BOOST_DATA_TEST_CASE(groups_in_order, data::make({LINNET_I8, LINNET_I4}) * data::make(kShapes), dtype, shape) {
  const IntegerWeight w(static_cast<uint8_t>(dtype), shape.outputs, shape.k, 1);
  const std::vector<float> x = random_floats(shape.rows * shape.k, 2, 3.0f), expected = linear(w, x, shape.rows);
  for (const char* isa : isas()) {
    const std::vector<float> y = run(kernels(isa), w, x, shape.rows);
    BOOST_TEST(first_difference(y.data(), expected.data(), y.size()) == y.size(), isa);
  }
}

BOOST_DATA_TEST_CASE(activations, data::make(isas()) * data::make({1, 31, 32, 33, 64, 100, 515}), isa, k) {
  const uint64_t n = static_cast<uint64_t>(k);
  std::vector<float> x = random_floats(n, 3);
  const auto check = [&](const char* what) {
    const Quantized q(kernels(isa), x, n);
    for (uint64_t g = 0; g < packing::groups(n); ++g) {
      const Group expected = quantize(&x[32 * g], std::min<uint64_t>(32, n - 32 * g));
      float scale;
      int32_t offset, sum = 0;
      std::memcpy(&scale, q.bytes.data() + q.at.scales + 4 * g, 4);
      std::memcpy(&offset, q.bytes.data() + q.at.offsets + 4 * g, 4);
      for (int j = 0; j < 32; ++j) {
        sum += expected.codes[j];
        BOOST_TEST(static_cast<int>(static_cast<int8_t>(q.bytes[32 * g + static_cast<uint64_t>(j)])) == expected.codes[j], what << " group " << g << " code " << j);
      }
      BOOST_TEST(offset == -128 * sum, what);
      BOOST_TEST((std::isnan(expected.scale) ? std::isnan(scale) : bits_of(scale) == bits_of(expected.scale)), what << " " << scale << " " << expected.scale);
    }
  };
  check("random");
  for (const float odd : {0.0f, -0.0f, 1e-40f, 0x1p-100f, 0x1.fffffep-101f, -0x1p-99f, 3.4e38f, INFINITY, -INFINITY, NAN}) {
    x = random_floats(n, 4, 1e-30f);
    for (uint64_t i = 0; i < n; i += 32) for (uint64_t j = i; j < i + 32 && j < n; ++j) x[j] = std::fabs(odd) < 1e-20f ? odd : x[j];
    x[n - 1] = odd;
    check("odd");
  }
  for (size_t i = 0; i < x.size(); ++i) x[i] = (i % 2 ? -1.0f : 1.0f) * (static_cast<float>(i % 32) + 0.5f) * 4.0f;  // halves, to be rounded to even
  check("halves");
}

BOOST_DATA_TEST_CASE(a_row_that_is_not_finite_gives_nan, data::make(isas()) * data::make({LINNET_I8, LINNET_I4}), isa, dtype) {
  const IntegerWeight w(static_cast<uint8_t>(dtype), 16, 64, 5);
  std::vector<float> x = random_floats(2 * 64, 6);
  x[3] = INFINITY;
  const std::vector<float> y = run(kernels(isa), w, x, 2);
  for (int r = 0; r < 16; ++r) BOOST_TEST((std::isnan(y[static_cast<size_t>(r)]) && std::isfinite(y[16 + static_cast<size_t>(r)])));
}

BOOST_DATA_TEST_CASE(the_host_table_reads_them_too, data::make(isas()) * data::make({LINNET_I8, LINNET_I4}), isa, dtype) {
  const uint64_t outputs = 40, k = 2100, rows = 3;
  const IntegerWeight w(static_cast<uint8_t>(dtype), outputs, k, 7);
  const std::vector<float> x = random_floats(rows * k, 8), expected = linear(w, x, rows);
  std::vector<float> y(rows * 48), row(k);
  kernels(isa).math->linear(&w.tensor, 0, 3, x.data(), k, rows, y.data(), 48);
  for (uint64_t i = 0; i < rows * outputs; ++i) BOOST_REQUIRE_EQUAL(bits_of(y[i / outputs * 48 + i % outputs]), bits_of(expected[i]));
  for (uint64_t r = 0; r < outputs; ++r) {
    kernels(isa).math->dequantize(&w.tensor, r, row.data());
    for (uint64_t j = 0; j < k; ++j)
      BOOST_REQUIRE_EQUAL(bits_of(row[j]), bits_of(w.scales[r * packing::groups(k) + j / 32] * static_cast<float>(w.levels[r * k + j])));
  }
}

BOOST_AUTO_TEST_SUITE_END()
