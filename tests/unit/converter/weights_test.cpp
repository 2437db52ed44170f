// From the checkpoint's numbers to the file's bytes: formats, packing, transposition, parts (CASES A8).
#include "converter/weights.h"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <limits>

#include "checkpoints.h"
#include "ops/packing.h"

namespace bdata = boost::unit_test::data;
using namespace linnet;
using namespace linnet::tests;
using namespace linnet::converter;

namespace {

// A checkpoint of these tensors and nothing that makes a model.
struct Source {
  TempDir folder;
  std::unique_ptr<Checkpoint> checkpoint;
  explicit Source(const Tensors& tensors) {
    linnet::tests::write_checkpoint(folder.path(), Json::object(), tensors);
    checkpoint = std::make_unique<Checkpoint>(folder.path().string());
  }
  std::string bytes(const TensorSpec& spec) const {
    std::string out;
    make_tensor(spec, *checkpoint, 1, nullptr, [&](std::span<const std::byte> block) { out.append(reinterpret_cast<const char*>(block.data()), block.size()); });
    BOOST_TEST(out.size() == spec.bytes());
    return out;
  }
  std::vector<float> floats(const TensorSpec& spec) const {
    const std::string b = bytes(spec);
    std::vector<float> out(b.size() / 4);
    std::memcpy(out.data(), b.data(), b.size());
    return out;
  }
};

TensorSpec matrix(const std::string& source, linnet_dtype dtype, linnet_layout layout, uint64_t rows, uint64_t columns, bool transpose = false,
                  uint64_t first = 0) {
  TensorSpec spec{source, dtype, layout, 2, {1, rows, columns}, {}};
  spec.recipe.source = source;
  spec.recipe.transpose = transpose;
  spec.recipe.first_row = first;
  return spec;
}

std::vector<float> iota(size_t n) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<float>(i);
  return v;
}

// A panel of 16 rows from up to 16 given ones, by hand: column after column.
std::vector<float> panel(const std::vector<std::vector<float>>& rows) {
  std::vector<float> out;
  for (size_t k = 0; k < rows[0].size(); ++k)
    for (size_t r = 0; r < 16; ++r) out.push_back(r < rows.size() ? rows[r][k] : 0.0f);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(weights)

BOOST_AUTO_TEST_CASE(f16_and_f32_convert_both_ways) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const auto bits = static_cast<uint16_t>(h);
    const float f = f16_to_f32(bits);
    if ((h & 0x7fff) > 0x7c00) BOOST_REQUIRE(std::isnan(f) && std::isnan(f16_to_f32(f32_to_f16(f))));
    else BOOST_REQUIRE(f32_to_f16(f) == bits);
    if ((h & 0x7fff) >= 0x7c00) continue;
    // By the definition: sign, 2^(exponent - 25) x (1024 + fraction).
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const double value = std::ldexp(exponent ? 1024 + fraction : fraction, (exponent ? exponent : 1) - 25);
    BOOST_REQUIRE(static_cast<double>(f) == (h & 0x8000 ? -value : value));
    // The middle between two neighbours goes to the even one, what lies beside it to the nearer.
    if ((h & 0x7fff) == 0x7bff || h & 0x8000) continue;
    const float next = f16_to_f32(static_cast<uint16_t>(h + 1)), middle = f + (next - f) / 2;
    BOOST_REQUIRE(f32_to_f16(middle) == (h % 2 ? h + 1 : h));
    BOOST_REQUIRE(f32_to_f16(std::nextafter(middle, 0.0f)) == h);
    BOOST_REQUIRE(f32_to_f16(std::nextafter(middle, next)) == h + 1);
  }
  const float inf = std::numeric_limits<float>::infinity();
  BOOST_TEST((f32_to_f16(65519.996f) == 0x7bff && f32_to_f16(65520.0f) == 0x7c00 && f32_to_f16(1e30f) == 0x7c00 && f32_to_f16(-inf) == 0xfc00 &&
              f32_to_f16(1e-30f) == 0 && f32_to_f16(-1e-30f) == 0x8000));
}

BOOST_AUTO_TEST_CASE(bf16_and_f32_convert_both_ways) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const auto bits = static_cast<uint16_t>(h);
    const float f = bf16_to_f32(bits);
    if ((h & 0x7fff) > 0x7f80) {
      BOOST_REQUIRE(std::isnan(f) && std::isnan(bf16_to_f32(f32_to_bf16(f))));
      continue;
    }
    BOOST_REQUIRE(f32_to_bf16(f) == bits);
    if ((h & 0x7fff) >= 0x7f7f) continue;
    const float middle = std::bit_cast<float>(h << 16 | 0x8000u);
    BOOST_REQUIRE(f32_to_bf16(middle) == (h % 2 ? h + 1 : h));
    BOOST_REQUIRE(f32_to_bf16(std::bit_cast<float>(h << 16 | 0x7fffu)) == h);
    BOOST_REQUIRE(f32_to_bf16(std::bit_cast<float>(h << 16 | 0x8001u)) == h + 1);
  }
  BOOST_TEST(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7f800001u)))));  // a NaN whose high half alone would be an infinity
}

BOOST_AUTO_TEST_CASE(r16_puts_rows_side_by_side) {
  // [3, 2], and [18, 2], whose last two rows begin a second panel.
  const Source s({{"small", tensor("F32", {3, 2}, {1, 2, 3, 4, 5, 6})}, {"tall", tensor("F32", {18, 2}, iota(36))}});
  BOOST_TEST(s.floats(matrix("small", LINNET_F32, LINNET_R16, 3, 2)) == panel({{1, 2}, {3, 4}, {5, 6}}), boost::test_tools::per_element());
  const auto tall = s.floats(matrix("tall", LINNET_F32, LINNET_R16, 18, 2));
  BOOST_REQUIRE(tall.size() == 64u);
  for (uint64_t r = 0; r < 18; ++r)
    for (uint64_t k = 0; k < 2; ++k) BOOST_TEST(tall[r / 16 * 32 + k * 16 + r % 16] == static_cast<float>(2 * r + k));
  BOOST_TEST((tall[32 + 2] == 0 && tall[32 + 15] == 0 && tall[63] == 0));
}

BOOST_AUTO_TEST_CASE(a_matrix_stored_in_out_is_transposed) {
  const Source s({{"w", tensor("F32", {2, 3}, {1, 2, 3, 4, 5, 6})}, {"square", tensor("F32", {2, 2}, {1, 2, 3, 4})}});
  BOOST_TEST(s.floats(matrix("w", LINNET_F32, LINNET_R16, 3, 2, true)) == panel({{1, 4}, {2, 5}, {3, 6}}), boost::test_tools::per_element());
  BOOST_TEST(s.floats(matrix("square", LINNET_F32, LINNET_R16, 2, 2, true)) == panel({{1, 3}, {2, 4}}), boost::test_tools::per_element());
  BOOST_TEST(s.floats(matrix("w", LINNET_F32, LINNET_PLAIN, 3, 2, true)) == (std::vector<float>{1, 4, 2, 5, 3, 6}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(parts_of_a_fused_matrix) {
  // Three parts of two outputs over two inputs: columns 0-1, 2-3, 4-5 where it is stored [in, out], rows where it is not.
  const std::vector<float> w = {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16};
  const Source s({{"in_out", tensor("F32", {2, 6}, w)}, {"out_in", tensor("F32", {6, 2}, w)}, {"bias", tensor("F16", {6}, {1, 2, 3, 4, 5, 6})}});
  BOOST_TEST(s.floats(matrix("in_out", LINNET_F32, LINNET_R16, 2, 2, true, 2)) == panel({{3, 13}, {4, 14}}), boost::test_tools::per_element());
  BOOST_TEST(s.floats(matrix("in_out", LINNET_F32, LINNET_R16, 2, 2, true, 4)) == panel({{5, 15}, {6, 16}}), boost::test_tools::per_element());
  BOOST_TEST(s.floats(matrix("out_in", LINNET_F32, LINNET_R16, 2, 2, false, 2)) == panel({{5, 6}, {11, 12}}), boost::test_tools::per_element());
  TensorSpec part{"bias#v", LINNET_F32, LINNET_PLAIN, 1, {1, 1, 2}, {}};
  part.recipe.source = "bias";
  part.recipe.first_row = 4;
  BOOST_TEST(s.floats(part) == (std::vector<float>{5, 6}), boost::test_tools::per_element());
  part.recipe.first_row = 5;
  BOOST_TEST(error_of([&] { s.bytes(part); }).find("reads number 6 of 6") != std::string::npos);
}

const char* const kTypes[] = {"F32", "F16", "BF16"};
const linnet_dtype kTargets[] = {LINNET_F32, LINNET_F16, LINNET_BF16};

// Large enough for several blocks, with odd sizes; every element is where the index formula of ops/packing.h says.
BOOST_DATA_TEST_CASE(every_format_to_every_format, bdata::make(kTypes) * bdata::make(kTargets), type, target) {
  constexpr uint64_t rows = 165, columns = 4099;
  const std::string dtype = type;
  const TestTensor source = some(dtype, {rows, columns}, 7);
  const Source s({{"w", source}});
  const auto value = [&](uint64_t i) {
    if (dtype == "F32") {
      float f;
      std::memcpy(&f, source.bytes.data() + 4 * i, 4);
      return f;
    }
    uint16_t h;
    std::memcpy(&h, source.bytes.data() + 2 * i, 2);
    return dtype == "F16" ? f16_to_f32(h) : bf16_to_f32(h);
  };
  for (const bool transpose : {false, true}) {
    const uint64_t n = transpose ? columns : rows, k = transpose ? rows : columns;
    const std::string packed = s.bytes(matrix("w", target, LINNET_R16, n, k, transpose)),
                      plain = s.bytes(matrix("w", target, LINNET_PLAIN, n, k, transpose));
    const auto at = [&](const std::string& bytes, uint64_t i) {
      if (target == LINNET_F32) {
        float f;
        std::memcpy(&f, bytes.data() + 4 * i, 4);
        return f;
      }
      uint16_t h;
      std::memcpy(&h, bytes.data() + 2 * i, 2);
      return target == LINNET_F16 ? f16_to_f32(h) : bf16_to_f32(h);
    };
    uint64_t wrong = 0;
    for (uint64_t r = 0; r < n; ++r)
      for (uint64_t c = 0; c < k; ++c) {
        const float want = value(transpose ? c * columns + r : r * columns + c);
        wrong += at(packed, packing::r16_index(r, c, k)) != want || at(plain, r * k + c) != want;
      }
    for (uint64_t r = n; r < packing::padded_rows(n); ++r)
      for (uint64_t c = 0; c < k; ++c) wrong += at(packed, packing::r16_index(r, c, k)) != 0;
    BOOST_TEST(wrong == 0u);
  }
}

BOOST_AUTO_TEST_CASE(numbers_that_do_not_fit_are_errors) {
  const float inf = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
  const Source s({{"edge", tensor("F32", {2, 2}, {65504, -65504, 0, 1e-9f})},
                  {"over", tensor("F32", {2, 2}, {0, 0, 0, -65505})},
                  {"inf", tensor("F32", {1, 1}, {inf})},
                  {"bf16", tensor("BF16", {1, 2}, {0, 1e30f})},
                  {"large", tensor("F32", {1, 1}, {largest})},
                  {"edge_bf16", tensor("F32", {1, 1}, {3.3895e38f})}});
  BOOST_TEST(error_of([&] { s.bytes(matrix("edge", LINNET_F16, LINNET_R16, 2, 2)); }) == "");
  const std::string over = error_of([&] { s.bytes(matrix("over", LINNET_F16, LINNET_R16, 2, 2)); });
  BOOST_TEST(over == "tensor over holds -65505 at row 1, column 1; f16 ends at 65504; convert to bf16 or f32");
  BOOST_TEST(error_of([&] { s.bytes(matrix("inf", LINNET_F16, LINNET_R16, 1, 1)); }).find("holds inf") != std::string::npos);
  BOOST_TEST(error_of([&] { s.bytes(matrix("bf16", LINNET_F16, LINNET_PLAIN, 1, 2)); }).find("tensor bf16") != std::string::npos);
  BOOST_TEST(error_of([&] { s.bytes(matrix("large", LINNET_BF16, LINNET_R16, 1, 1)); }).find("convert to f32") != std::string::npos);
  BOOST_TEST(error_of([&] { s.bytes(matrix("edge_bf16", LINNET_BF16, LINNET_R16, 1, 1)); }) == "");
  BOOST_TEST(error_of([&] { s.bytes(matrix("over", LINNET_BF16, LINNET_R16, 2, 2)); }) == "");
}

BOOST_AUTO_TEST_SUITE_END()
