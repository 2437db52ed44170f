// i8 and i4: the bytes of R16K4 against the oracle's (tests/oracle), errors, threads, memory.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <limits>

#include "checkpoints.h"
#include "converter/message.h"
#include "converter/quantize/levels.h"
#include "converter/quantize/panel.h"
#include "converter/quantize/split.h"
#include "converter/weights.h"
#include "ops/packing.h"

namespace bdata = boost::unit_test::data;
using namespace linnet;
using namespace linnet::tests;
using namespace linnet::converter;

namespace {

const linnet_dtype kIntegers[] = {LINNET_I8, LINNET_I4};

template <typename T>
std::vector<T> from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// One weight of packed bytes, by ops/packing.h.
float weight_at(const TensorSpec& t, const std::string& bytes, uint64_t row, uint64_t column) {
  const uint64_t r = row % 16, g = column / 32, j = column % 32;
  const char* panel = bytes.data() + row / 16 * packing::panel_bytes(t.dtype, t.columns());
  uint16_t scale;
  std::memcpy(&scale, panel + packing::scales_at(t.dtype, g) + 2 * r, 2);
  const auto code = static_cast<uint8_t>(panel[packing::codes_at(t.dtype, g) + packing::code_byte(t.dtype, r, j)]);
  const int value = t.dtype == LINNET_I8 ? static_cast<int8_t>(code) : (*t.levels)[code >> packing::code_shift(t.dtype, j) & 15];
  return f16_to_f32(scale) * static_cast<float>(value);
}

TensorSpec matrix(const std::string& name, linnet_dtype dtype, uint64_t rows, uint64_t columns) {
  TensorSpec spec{name, dtype, LINNET_R16K4, 2, {1, rows, columns}, {}};
  spec.recipe.source = name;
  if (dtype == LINNET_I4) spec.levels = kLevels;
  return spec;
}

std::string pack(const TensorSpec& t, const std::vector<float>& w, bool baseline = false) {
  const uint64_t bytes = packing::panel_bytes(t.dtype, t.columns());
  std::string out(packing::panels(t.rows()) * bytes, '?');
  for (uint64_t first = 0; first < t.rows(); first += 16)
    BOOST_REQUIRE(!(baseline ? pack_panel_baseline : pack_panel)(t.dtype, t.levels ? &*t.levels : nullptr, w.data() + first * t.columns(),
                                                                 std::min<uint64_t>(16, t.rows() - first), t.columns(),
                                                                 reinterpret_cast<std::byte*>(out.data()) + first / 16 * bytes, nullptr));
  return out;
}

// Like trained weights: a bell with long ends.
std::vector<float> bell(size_t n, uint32_t seed = 1) {
  std::vector<float> w(n);
  uint32_t state = seed;
  for (float& x : w) {
    float sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) * 0x1p-24f - 0.5f;
    x = 0.03f * sum * (1 + sum * sum);
  }
  return w;
}

double squared_error(const TensorSpec& t, const std::string& bytes, const std::vector<float>& w) {
  double e = 0;
  for (uint64_t i = 0; i < w.size(); ++i) {
    const double d = double{w[i]} - weight_at(t, bytes, i / t.columns(), i % t.columns());
    e += d * d;
  }
  return e;
}

struct Source {
  TempDir folder;
  std::unique_ptr<Checkpoint> checkpoint;
  explicit Source(const Tensors& tensors, const Json& config = Json::object()) {
    write_checkpoint(folder.path(), config, tensors);
    checkpoint = std::make_unique<Checkpoint>(folder.path().string());
  }
  std::string bytes(const TensorSpec& spec, unsigned threads = 1) const {
    std::string out;
    make_tensor(spec, *checkpoint, threads, nullptr,
                [&](std::span<const std::byte> block) { out.append(reinterpret_cast<const char*>(block.data()), block.size()); });
    BOOST_TEST(out.size() == spec.bytes());
    return out;
  }
  std::string error(const TensorSpec& spec, unsigned threads) const {
    return error_of([&] { bytes(spec, threads); });
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(quantizing)

BOOST_AUTO_TEST_CASE(the_oracles_bytes) {
  size_t read = 0, from_floats = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(LINNET_SOURCE_DIR) / "tests/oracle/golden")) {
    BOOST_TEST_CONTEXT(entry.path().filename().string()) {
      const Json golden = Json::parse(slurp(entry.path()));
      TensorSpec t = matrix("w", golden["dtype"] == "i8" ? LINNET_I8 : LINNET_I4, golden["rows"], golden["columns"]);
      if (t.levels) t.levels = golden["levels"].get<Levels>();
      const auto packed = from_hex<char>(golden["packed"]);
      const auto weights = from_hex<float>(golden["weights"]);
      const std::string bytes(packed.begin(), packed.end());
      BOOST_REQUIRE((bytes.size() == t.bytes() && weights.size() == t.rows() * t.columns()));
      uint64_t wrong = 0;
      for (uint64_t i = 0; i < weights.size(); ++i) wrong += weight_at(t, bytes, i / t.columns(), i % t.columns()) != weights[i];
      BOOST_TEST(wrong == 0u);
      ++read;
      if (!golden.contains("source")) continue;
      const auto source = from_hex<float>(golden["source"]);
      BOOST_TEST((pack(t, source) == bytes));
      BOOST_TEST((pack(t, source, true) == bytes));
      ++from_floats;
    }
  }
  BOOST_TEST((read >= 12 && from_floats >= 5));
}

BOOST_DATA_TEST_CASE(padding_is_zero, bdata::make(kIntegers), dtype) {
  const TensorSpec t = matrix("w", dtype, 3, 35);
  const std::string bytes = pack(t, std::vector<float>(3 * 35, 1.0f));
  for (uint64_t r = 0; r < 16; ++r)
    for (uint64_t c = 0; c < 64; ++c) {
      if (r < 3 && c < 35) continue;
      const auto code = static_cast<uint8_t>(bytes[packing::codes_at(dtype, c / 32) + packing::code_byte(dtype, r, c % 32)]);
      const int mine = dtype == LINNET_I8 ? code : code >> packing::code_shift(dtype, c % 32) & 15;
      BOOST_TEST(mine == 0);
      if (r >= 3) BOOST_TEST(bytes[packing::scales_at(dtype, c / 32) + 2 * r + 1] == 0);
    }
}

BOOST_AUTO_TEST_CASE(i8_holds_what_i8_can_hold) {
  // Whole multiples of a scale, -127 and 127 among them, come back exactly.
  std::vector<float> w;
  for (int i = 0; i < 64; ++i) w.push_back(0.25f * static_cast<float>(i % 2 ? i % 32 - 127 : 127 - i % 32));
  const TensorSpec t = matrix("w", LINNET_I8, 2, 32);
  const std::string bytes = pack(t, w);
  for (uint64_t i = 0; i < 64; ++i) BOOST_TEST(weight_at(t, bytes, i / 32, i % 32) == w[i]);
  BOOST_TEST(bytes.find('\x80') == bytes.npos);  // -128 is no code
}

BOOST_AUTO_TEST_CASE(i4_holds_its_levels) {
  // Of either sign: a negative scale turns the table round.
  for (const float scale : {0.5f, -0.5f}) {
    std::vector<float> w;
    for (int i = 0; i < 32; ++i) w.push_back(scale * static_cast<float>(kLevels[static_cast<size_t>(i % 16)]));
    const TensorSpec t = matrix("w", LINNET_I4, 1, 32);
    const std::string bytes = pack(t, w);
    for (uint64_t i = 0; i < 32; ++i) BOOST_TEST(weight_at(t, bytes, 0, i) == w[i]);
  }
  BOOST_TEST(std::is_sorted(kLevels.begin(), kLevels.end()));
  BOOST_TEST(std::max(-kLevels.front(), int{kLevels.back()}) == 127);
}

// Against the plain rules: the largest weight over 127, and over -8, in f16.
BOOST_AUTO_TEST_CASE(the_search_pays) {
  constexpr uint64_t rows = 64, columns = 512;
  const auto w = bell(rows * columns);
  double plain8 = 0, plain4 = 0;
  for (uint64_t g = 0; g < w.size(); g += 32) {
    float most = 0;
    for (uint64_t i = g; i < g + 32; ++i)
      if (std::fabs(w[i]) > std::fabs(most)) most = w[i];
    const float s8 = f16_to_f32(f32_to_f16(std::fabs(most) / 127)), s4 = f16_to_f32(f32_to_f16(most / -8));
    for (uint64_t i = g; i < g + 32; ++i) {
      const double d8 = w[i] - s8 * std::nearbyint(w[i] / s8), d4 = w[i] - s4 * std::min(std::floor(w[i] / s4 + 8.5) - 8, 7.0);
      plain8 += d8 * d8;
      plain4 += d4 * d4;
    }
  }
  const TensorSpec t8 = matrix("w", LINNET_I8, rows, columns), t4 = matrix("w", LINNET_I4, rows, columns);
  const double e8 = squared_error(t8, pack(t8, w), w) / plain8, e4 = squared_error(t4, pack(t4, w), w) / plain4;
  BOOST_TEST_MESSAGE("i8 " << e8 << ", i4 " << e4 << " of the plain error");
  BOOST_TEST(e8 < 0.85);
  BOOST_TEST(e4 < 0.75);
}

BOOST_DATA_TEST_CASE(the_same_bytes_on_every_processor, bdata::make(kIntegers), dtype) {
  const TensorSpec t = matrix("w", dtype, 48, 1000);
  const auto w = bell(48 * 1000, 7);
  BOOST_TEST((pack(t, w) == pack(t, w, true)));
}

// Several blocks of panels, from every format, stored both ways; one thread or more.
BOOST_DATA_TEST_CASE(the_same_bytes_from_any_number_of_threads, bdata::make(kIntegers), dtype) {
  constexpr uint64_t rows = 1500, columns = 1056;
  const auto w = bell(rows * columns);
  std::vector<float> turned(w.size());
  for (uint64_t r = 0; r < rows; ++r)
    for (uint64_t c = 0; c < columns; ++c) turned[c * rows + r] = w[r * columns + c];
  const Source s(
      {{"w", tensor("F32", {rows, columns}, w)}, {"in_out", tensor("F32", {columns, rows}, turned)}, {"half", tensor("BF16", {rows, columns}, w)}});
  const TensorSpec t = matrix("w", dtype, rows, columns);
  const std::string one = s.bytes(t, 1);
  BOOST_TEST((one == pack(t, w)));
  for (const unsigned threads : {2u, 3u, 1000u}) BOOST_TEST((s.bytes(t, threads) == one));
  TensorSpec in_out = matrix("in_out", dtype, rows, columns);
  in_out.recipe.transpose = true;
  BOOST_TEST((s.bytes(in_out, 2) == one));
  TensorSpec part = matrix("w", dtype, 100, columns);
  part.recipe.first_row = 33;
  BOOST_TEST((s.bytes(part, 2) == pack(part, {w.begin() + 33 * columns, w.begin() + 133 * columns})));
  const TensorSpec half = matrix("half", dtype, rows, columns);
  BOOST_TEST((s.bytes(half, 3) == s.bytes(half, 1)));
}

BOOST_AUTO_TEST_CASE(experts_are_matrices_of_their_own) {
  const auto w = bell(2 * 20 * 40);
  const Source s({{"w", tensor("F32", {40, 40}, w)}});
  TensorSpec t = matrix("w", LINNET_I8, 20, 40);
  t.rank = 3;
  t.shape[0] = 2;
  const TensorSpec one = matrix("w", LINNET_I8, 20, 40);
  BOOST_TEST((s.bytes(t, 2) == pack(one, w) + pack(one, {w.begin() + 800, w.end()})));
}

BOOST_DATA_TEST_CASE(numbers_that_have_no_code, bdata::make(kIntegers), dtype) {
  const std::string name = dtype == LINNET_I8 ? "i8" : "i4";
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), -8.4e6f, 3e38f}) {
    for (const unsigned threads : {1u, 3u}) {
      auto w = bell(70 * 100);
      w[37 * 100 + 65] = bad;
      w[69 * 100 + 99] = bad;  // the first is named, whichever thread is faster
      const Source s({{"w", tensor("F32", {70, 100}, w)}});
      const std::string message = s.error(matrix("w", dtype, 70, 100), threads);
      BOOST_TEST(message.find("tensor w holds ") == 0u, message);
      BOOST_TEST(message.find(" at row 37, column 65; ") != message.npos, message);
      BOOST_TEST(message.find(name) != message.npos, message);
      BOOST_TEST((message.find("65504") != message.npos) == static_cast<bool>(std::isfinite(bad)), message);
    }
  }
  // The largest that goes, and the smallest: no error, no infinity, and zero where f16 ends.
  for (const float x : {65504.0f * 127, -65504.0f * 127, 65519.0f * 127, 1e-4f, 1e-6f, 1e-9f, 1e-44f}) {
    const TensorSpec t = matrix("w", dtype, 1, 32);
    auto w = bell(32);
    for (float& v : w) v *= x * 10;
    w[5] = x;
    for (float& v : w) v = std::clamp(v, -std::fabs(x), std::fabs(x));
    const std::string bytes = pack(t, w);
    const float got = weight_at(t, bytes, 0, 5);
    if (std::fabs(x) < 1e-5f) BOOST_TEST(got == 0.0f);
    else BOOST_TEST(std::fabs(got - x) < 0.2f * std::fabs(x));
  }
}

BOOST_AUTO_TEST_CASE(work_is_split_once) {
  for (const unsigned threads : {0u, 1u, 2u, 3u, 50u})
    for (const uint64_t n : {0u, 1u, 2u, 7u}) {
      std::vector<int> seen(n);
      split(threads, n, [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; ++i) ++seen[i];
      });
      BOOST_TEST(seen == std::vector<int>(n, 1), boost::test_tools::per_element());
    }
  for (int i = 0; i < 20; ++i)
    BOOST_TEST(error_of([] {
                 split(3, 3, [](uint64_t begin, uint64_t) {
                   if (begin) fail(LINNET_IO, "run ", begin);
                 });
               }) == "run 1");
}

BOOST_AUTO_TEST_SUITE_END()
