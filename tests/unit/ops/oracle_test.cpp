// Integer weights against tests/oracle: the numerics contract written once more in NumPy, which shares nothing with the kernels.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "unit/ops/harness.h"

using namespace linnet;
using namespace linnet::test;
namespace data = boost::unit_test::data;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> golden_files() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(LINNET_SOURCE_DIR) / "tests/oracle/golden")) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

template <class T> std::vector<T> unhex(const nlohmann::json& digits) {
  const auto text = digits.get<std::string>();
  std::vector<T> out(text.size() / 2 / sizeof(T));
  for (size_t i = 0; i < out.size() * sizeof(T); ++i) reinterpret_cast<uint8_t*>(out.data())[i] = static_cast<uint8_t>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return out;
}

// To the bit, but that a NaN is any NaN.
bool same(const std::vector<float>& expected, const float* got) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (std::isnan(expected[i]) ? !std::isnan(got[i]) : bits_of(expected[i]) != bits_of(got[i])) return false;
  return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(oracle)

BOOST_DATA_TEST_CASE(kernels_give_its_bits, data::make(golden_files()) * data::make(isas()), name, isa) {
  const auto golden = nlohmann::json::parse(std::ifstream(fs::path(LINNET_SOURCE_DIR) / "tests/oracle/golden" / name));
  const ops::Kernels& kernel = kernels(isa);
  const uint8_t dtype = golden["dtype"] == "i8" ? LINNET_I8 : LINNET_I4;
  const uint64_t rows = golden["rows"], k = golden["columns"], groups = packing::groups(k), padded = packing::padded_rows(rows);
  const std::vector<uint8_t> packed = unhex<uint8_t>(golden["packed"]);
  Aligned<uint8_t> bytes(packed.size());
  std::copy(packed.begin(), packed.end(), bytes.data());
  std::vector<float> levels, weights = unhex<float>(golden["weights"]), bias = unhex<float>(golden["bias"]), residual = unhex<float>(golden["residual"]);
  if (golden.contains("levels")) levels = golden["levels"].get<std::vector<float>>();
  bias.resize(padded), residual.resize(padded);
  const linnet_tensor tensor = {"", dtype, LINNET_R16K4, 0, 2, {1, rows, k}, bytes.size(), 0, levels.empty() ? nullptr : levels.data(), "", bytes.data()};
  BOOST_REQUIRE_EQUAL(packed.size(), packing::matrix_bytes(dtype, 1, rows, k));
  std::vector<float> row(k);
  for (uint64_t r = 0; r < rows; ++r) {
    kernel.math->dequantize(&tensor, r, row.data());
    BOOST_TEST(same({weights.begin() + static_cast<long>(r * k), weights.begin() + static_cast<long>((r + 1) * k)}, row.data()), "weights of row " << r);
  }
  // Each row of x alone, then all of them at once.
  std::vector<float> all;
  for (const auto& x : golden["rows_of_x"]) {
    const std::vector<float> one = unhex<float>(x["x"]);
    all.insert(all.end(), one.begin(), one.end());
  }
  const auto count = static_cast<uint32_t>(golden["rows_of_x"].size());
  const Quantized quantized(kernel, all, k);
  std::vector<float> y(count * padded);
  const auto check = [&](uint32_t first, uint32_t n, const char* what, uint32_t activation, const float* b, const float* r) {
    ops::Linear a = {};
    a.weights = bytes.data(), a.dtype = dtype, a.levels = tensor.levels;
    a.k = k, a.panels = padded / 16, a.rows = n;
    a.codes = quantized.bytes.data() + first * quantized.at.bytes, a.code_stride = quantized.at.bytes;
    a.y = y.data(), a.y_stride = padded;
    a.bias = b, a.activation = activation, a.residual = r;
    kernel.linear(a);
    for (uint32_t t = 0; t < n; ++t)
      BOOST_TEST(same(unhex<float>(golden["rows_of_x"][first + t][what]), y.data() + t * padded), what << " of row " << first + t << " of " << n);
  };
  for (uint32_t t = 0; t < count; ++t) {
    const auto& x = golden["rows_of_x"][t];
    const uint8_t* codes = quantized.bytes.data() + t * quantized.at.bytes;
    BOOST_TEST((unhex<uint8_t>(x["codes"]) == std::vector<uint8_t>(codes, codes + 32 * groups)), "codes of row " << t);
    BOOST_TEST(same(unhex<float>(x["scales"]), reinterpret_cast<const float*>(codes + quantized.at.scales)), "scales of row " << t);
    for (uint64_t g = 0; g < groups; ++g)
      BOOST_TEST(reinterpret_cast<const int32_t*>(codes + quantized.at.offsets)[g] == -128 * x["sums"][g].get<int>(), "sum of row " << t << ", group " << g);
    check(t, 1, "y_bias_relu_residual", ops::kRelu, bias.data(), residual.data());
  }
  check(0, count, "y", ops::kNone, nullptr, nullptr);
  check(0, count, "y_bias", ops::kNone, bias.data(), nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
