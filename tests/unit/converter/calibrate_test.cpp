// --calibrate: the factor, errors that are fed on, what is measured, what is refused.
#include "converter/quantize/calibrate.h"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "converter/architectures/architecture.h"
#include "converter/quantize/levels.h"
#include "converter/quantize/panel.h"
#include "converter/quantize/recipe.h"
#include "model.h"
#include "ops/packing.h"

namespace bdata = boost::unit_test::data;
using namespace linnet;
using namespace linnet::tests;
using namespace linnet::converter;

namespace {

const linnet_dtype kIntegers[] = {LINNET_I8, LINNET_I4};
constexpr double kDamping = 0.01;

// x x^T over rows whose columns go together, some loud, some silent.
std::vector<float> correlated(uint64_t k, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> h(k * k);
  for (uint64_t t = 0; t < 2 * k; ++t) {
    std::vector<double> x(k);
    double walk = 0;
    for (uint64_t i = 0; i < k; ++i) {
      walk = 0.9 * walk + normal(random);
      x[i] = i % 11 == 5 ? 0 : walk * (i % 7 == 3 ? 8 : 1);
    }
    for (uint64_t i = 0; i < k; ++i)
      for (uint64_t j = i; j < k; ++j) h[i * k + j] += x[i] * x[j];
  }
  return {h.begin(), h.end()};
}
std::vector<float> factor_of(std::vector<float> h, uint64_t k) {
  BOOST_REQUIRE(factorize(h.data(), k, kDamping, 1));
  return h;
}
std::vector<float> some_weights(uint64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.05f);
  std::vector<float> w(n);
  for (float& x : w) x = normal(random);
  return w;
}

std::string packed(linnet_dtype dtype, const std::vector<float>& w, uint64_t rows, uint64_t k, const float* factor, bool baseline = false) {
  std::string out(packing::panel_bytes(dtype, k), '?');
  BOOST_REQUIRE(!(baseline ? pack_panel_baseline : pack_panel)(dtype, dtype == LINNET_I4 ? &kLevels : nullptr, w.data(), rows, k,
                                                               reinterpret_cast<std::byte*>(out.data()), factor));
  return out;
}
float value_at(linnet_dtype dtype, const std::string& panel, uint64_t row, uint64_t column) {
  const uint64_t g = column / 32, j = column % 32;
  uint16_t scale;
  std::memcpy(&scale, panel.data() + packing::scales_at(dtype, g) + 2 * row, 2);
  const auto code = static_cast<uint8_t>(panel[packing::codes_at(dtype, g) + packing::code_byte(dtype, row, j)]);
  return f16_to_f32(scale) * static_cast<float>(dtype == LINNET_I8 ? static_cast<int8_t>(code) : kLevels[code >> packing::code_shift(dtype, j) & 15]);
}
// e H e of a row, H's upper triangle given.
double cost(linnet_dtype dtype, const std::string& panel, const std::vector<float>& w, uint64_t row, uint64_t k, const std::vector<float>& h) {
  std::vector<double> e(k);
  for (uint64_t i = 0; i < k; ++i) e[i] = double{w[row * k + i]} - value_at(dtype, panel, row, i);
  double sum = 0;
  for (uint64_t i = 0; i < k; ++i)
    for (uint64_t j = i; j < k; ++j) sum += (i == j ? 1 : 2) * double{h[i * k + j]} * e[i] * e[j];
  return sum;
}

// Token ids that a model of this vocabulary can read, as a .json file.
std::string ids_file(const TempDir& t, size_t count, uint32_t vocabulary) {
  std::string text = "[";
  for (size_t i = 0; i < count; ++i) text += (i ? "," : "") + std::to_string((i * i * 7 + i / 3) % vocabulary);
  spill(t / "ids.json", text + "]");
  return t / "ids.json";
}

struct Outcome {
  linnet_code code;
  std::string message;
};
Outcome convert_with(const std::string& source, const std::string& output, const std::function<void(ConvertOptions&)>& change) {
  ConvertOptions options;
  options.source = source;
  options.output = output;
  options.dtype = LINNET_I4;
  change(options);
  linnet_error error{};
  const linnet_code code = convert(options, nullptr, &error);
  return {code, error.message};
}
const std::string kTales = LINNET_SOURCE_DIR "/examples/models/linnet-tales";

// The bundled model's own tales.
std::string tale() {
  Model model = need(Model::open([] {
    static const TempDir folder;
    static const std::string path = [] {
      BOOST_REQUIRE(!convert_with(kTales, folder / "f32.linnet", [](ConvertOptions& o) { o.dtype = LINNET_F32; }).code);
      return folder / "f32.linnet";
    }();
    return path;
  }()));
  Runner runner = need(Runner::create(model, {.threads = 1}));
  Writer writer(runner);
  std::string all;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    auto reply = writer.complete("Once upon a time", {.max_tokens = 200, .temperature = 0.8f, .seed = seed});
    all += "Once upon a time";
    while (auto piece = reply.next()) all += *piece;
    all += "\n\n";
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(calibrating)

BOOST_DATA_TEST_CASE(a_factor_multiplies_back, bdata::make({1u, 2u, 31u, 33u, 70u, 200u}), k) {
  const auto h = correlated(k, k), r = factor_of(h, k);
  double mean = 0;
  for (uint64_t i = 0; i < k; ++i) mean += double{h[i * k + i]} / k;
  for (uint64_t i = 0; i < k; ++i)
    for (uint64_t j = i; j < k; ++j) {
      double sum = 0;
      for (uint64_t p = 0; p <= i; ++p) sum += double{r[p * k + i]} * r[p * k + j];
      const double want = h[i * k + j] + (i != j ? 0 : mean > 0 ? kDamping * mean : 1);
      BOOST_TEST(std::abs(sum - want) <= 1e-5 * (std::abs(want) + mean), i << ", " << j << ": " << sum << " for " << want);
    }
  for (const unsigned threads : {2u, 3u, 5u}) {
    auto other = h;
    BOOST_REQUIRE(factorize(other.data(), k, kDamping, threads));
    BOOST_TEST((std::memcmp(other.data(), r.data(), r.size() * 4) == 0), threads << " threads");
  }
}

BOOST_AUTO_TEST_CASE(nothing_measured_is_the_identity) {
  std::vector<float> h(40 * 40, 0.0f);
  BOOST_REQUIRE(factorize(h.data(), 40, kDamping, 2));
  for (uint64_t i = 0; i < 40; ++i)
    for (uint64_t j = 0; j < 40; ++j) BOOST_TEST(h[i * 40 + j] == (i == j ? 1.0f : 0.0f));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_factorized) {
  const float infinite = std::numeric_limits<float>::infinity();
  for (const float bad : {infinite, std::nanf("")}) {
    for (const size_t at : {size_t{0}, size_t{3}}) {  // on the diagonal, beside it
      auto h = correlated(50, 1);
      h[at] = bad;
      BOOST_TEST(!factorize(h.data(), 50, kDamping, 1));
    }
  }
  std::vector<float> negative{1, 5, 0, 1};  // 1 - 25 < 0
  BOOST_TEST(!factorize(negative.data(), 2, kDamping, 1));
}

// With nothing to tell columns apart nothing is fed on: codes are the nearest, and the error at most the plain search's.
BOOST_DATA_TEST_CASE(the_identity_feeds_nothing_on, bdata::make(kIntegers) * bdata::make({7u, 32u, 40u, 96u, 111u}), dtype, k) {
  std::vector<float> identity(k * k, 0.0f), h = identity;
  for (uint64_t i = 0; i < k; ++i) identity[i * k + i] = 3.0f, h[i * k + i] = 9.0f;
  const auto w = some_weights(13 * k, k);
  const std::string plain = packed(dtype, w, 13, k, nullptr), fed = packed(dtype, w, 13, k, identity.data());
  for (uint64_t row = 0; row < 13; ++row) BOOST_TEST(cost(dtype, fed, w, row, k, h) <= cost(dtype, plain, w, row, k, h) * (1 + 1e-6), row);
}

BOOST_DATA_TEST_CASE(errors_that_are_fed_on_cost_less, bdata::make(kIntegers) * bdata::make({40u, 96u, 160u, 333u}), dtype, k) {
  const auto h = correlated(k, 3), r = factor_of(h, k);
  const auto w = some_weights(16 * k, 5);
  const std::string plain = packed(dtype, w, 16, k, nullptr), fed = packed(dtype, w, 16, k, r.data());
  double before = 0, after = 0;
  for (uint64_t row = 0; row < 16; ++row) before += cost(dtype, plain, w, row, k, h), after += cost(dtype, fed, w, row, k, h);
  BOOST_TEST(after < 0.5 * before, after << " of " << before);
  BOOST_TEST((packed(dtype, w, 16, k, r.data(), true) == fed), "another instruction set");
  // Rows do not depend on one another.
  const std::vector<float> last(w.end() - static_cast<ptrdiff_t>(k), w.end());
  const std::string alone = packed(dtype, last, 1, k, r.data());
  for (uint64_t i = 0; i < k; ++i) BOOST_TEST(value_at(dtype, alone, 0, i) == value_at(dtype, fed, 15, i));
}

BOOST_DATA_TEST_CASE(zeros_stay_zeros, bdata::make(kIntegers), dtype) {
  const auto r = factor_of(correlated(70, 3), 70);
  const std::string panel = packed(dtype, std::vector<float>(16 * 70, 0.0f), 16, 70, r.data());
  BOOST_TEST((panel == packed(dtype, std::vector<float>(16 * 70, 0.0f), 16, 70, nullptr)));
}

// Every integer matrix that something multiplies by is measured, of each family, norm and head; and the file says so.
BOOST_DATA_TEST_CASE(every_matrix_is_calibrated,
                     bdata::make({"gpt2-gelu-new", "gpt2-odd-sizes", "gpt2-untied-head", "llama-gqa-6over2", "llama-tied-head", "llama-mlp-bias",
                                  "llama-bf16", "qwen2-untied"}) *
                         bdata::make(kIntegers),
                     name, dtype) {
  const TempDir t;
  const std::string source = golden(name).string();
  const Opened plain_file([&] {
    BOOST_REQUIRE(!convert_with(source, t / "plain.linnet", [&](ConvertOptions& o) { o.dtype = dtype, o.pure = true; }).code);
    return t / "plain.linnet";
  }());
  const std::string ids = ids_file(t, 300, plain_file.info.vocabulary);
  const auto calibrated = [&](const std::string& to, uint32_t threads, uint64_t memory) {
    const Outcome o = convert_with(source, t / to, [&](ConvertOptions& options) {
      options.dtype = dtype, options.pure = true;
      options.calibrate = ids, options.threads = threads, options.calibrate_memory = memory;
    });
    BOOST_REQUIRE_MESSAGE(!o.code, o.message);
    return slurp(t / to);
  };
  const std::string one = calibrated("1.linnet", 1, uint64_t{1} << 30);
  BOOST_TEST((calibrated("2.linnet", 2, uint64_t{1} << 30) == one), "two threads");
  BOOST_TEST((calibrated("3.linnet", 3, 1) == one), "a pass for each matrix");
  BOOST_TEST(files_in(t.path()) == std::vector<std::string>({"1.linnet", "2.linnet", "3.linnet", "ids.json", "plain.linnet"}),
             boost::test_tools::per_element());

  const Opened file(t / "1.linnet");
  uint32_t changed = 0, measured = 0;
  for (uint32_t i = 0; i < file.info.tensors; ++i) {
    const linnet_tensor &a = *linnet_model_tensor(plain_file.get(), i), &b = *linnet_model_tensor(file.get(), i);
    const bool covered = std::string_view(b.note).ends_with("; calibrated");
    BOOST_TEST(std::string(b.name) == a.name);
    if (!covered) BOOST_TEST(b.xxh3 == a.xxh3, b.name);
    if (b.layout != LINNET_R16K4) continue;
    measured += covered;
    changed += b.xxh3 != a.xxh3;
    // An embedding that is not the head is only looked up.
    const bool only_table =
        std::string_view(b.name).find("wte") != std::string_view::npos || std::string_view(b.name).find("embed_tokens") != std::string_view::npos;
    const bool tied = file.weights(file.node(file.model_nodes() - 1))[2] == b.name;
    BOOST_TEST(covered == (!only_table || tied), b.name);
  }
  BOOST_TEST(4 * changed >= 3 * measured, changed << " of " << measured);  // of tiny ones in i8 a few come out alike
}

// The point of it: on a text that was not calibrated with, logits come closer to those of the floats. (In i8 most of what is left is the rounding
// of activations, which no weight can help.)
BOOST_AUTO_TEST_CASE(logits_come_closer) {
  const TempDir t;
  spill(t / "text.txt", tale());
  const auto made = [&](const std::string& name, linnet_dtype format, bool calibrate) {
    const Outcome o = convert_with(kTales, t / name, [&](ConvertOptions& options) {
      options.dtype = format;
      if (calibrate) options.calibrate = t / "text.txt";
    });
    BOOST_REQUIRE_MESSAGE(!o.code, o.message);
    return need(Model::open(t / name));
  };
  Model exact = made("f32.linnet", LINNET_F32, false), plain = made("plain.linnet", LINNET_I4, false),
        calibrated = made("calibrated.linnet", LINNET_I4, true);
  const auto ids = need(need(Tokenizer::create(exact))
                            .encode("The rooster wondered where the little bird had gone, and the sheep did not know. "
                                    "But the old hare had seen her fly over the hill, singing of the sea."));
  const auto want = all_logits(exact, ids);
  const auto error = [&](Model& model) {
    const auto got = all_logits(model, ids);
    double sum = 0;
    for (size_t i = 0; i < want.size(); ++i)
      for (size_t j = 0; j < want[i].size(); ++j) sum += (double{got[i][j]} - want[i][j]) * (double{got[i][j]} - want[i][j]);
    return sum;
  };
  const double before = error(plain), after = error(calibrated);
  BOOST_TEST(after < 0.8 * before, after << " of " << before);
}

BOOST_AUTO_TEST_CASE(what_is_refused) {
  const TempDir t;
  const std::string gpt2 = golden("gpt2-gelu-new").string();  // without a tokenizer
  spill(t / "short.json", "[1, 2, 3]");
  spill(t / "map.json", R"({"a": 1})");
  spill(t / "far.json", "[1, 2, 100000]");
  spill(t / "real.json", "[1, 2.5]");
  spill(t / "text.txt", "Once upon a time");
  const auto refused = [&](const std::string& source, const std::string& text, linnet_code code, const std::vector<std::string>& words,
                           linnet_dtype dtype = LINNET_I4) {
    const Outcome o = convert_with(source, t / "out.linnet", [&](ConvertOptions& options) { options.calibrate = text, options.dtype = dtype; });
    BOOST_TEST(o.code == code, o.message);
    for (const auto& word : words) BOOST_TEST(o.message.find(word) != std::string::npos, "no \"" << word << "\" in: " << o.message);
    BOOST_TEST(!fs::exists(t / "out.linnet"));
  };
  refused(gpt2, t / "short.json", LINNET_INVALID_ARGUMENT, {"short.json has 3 tokens", "128"});
  refused(gpt2, t / "map.json", LINNET_INVALID_ARGUMENT, {"map.json", "array of token ids"});
  refused(gpt2, t / "far.json", LINNET_INVALID_ARGUMENT, {"far.json", "100000", "vocabulary"});
  refused(gpt2, t / "real.json", LINNET_INVALID_ARGUMENT, {"real.json", "2.5"});
  refused(gpt2, t / "text.txt", LINNET_INVALID_ARGUMENT, {"text.txt", "without a tokenizer", ".json"});
  refused(gpt2, t / "missing.json", LINNET_IO, {"missing.json"});
  refused(kTales, t / "text.txt", LINNET_INVALID_ARGUMENT, {"text.txt has", "128"});
  refused(kTales, t / "text.txt", LINNET_INVALID_ARGUMENT, {"--calibrate", "--dtype"}, LINNET_F16);
  BOOST_TEST(files_in(t.path()) == std::vector<std::string>({"far.json", "map.json", "real.json", "short.json", "text.txt"}),
             boost::test_tools::per_element());
}

// Wherever it is cancelled, nothing is left.
BOOST_AUTO_TEST_CASE(cancelled) {
  const TempDir t;
  const std::string ids = ids_file(t, 300, 61);  // its vocabulary
  std::vector<std::string> stages;
  for (int after = 0;; ++after) {
    volatile int cancel = 0;
    int calls = 0;
    const Outcome o = convert_with(golden("gpt2-gelu-new").string(), t / "out.linnet", [&](ConvertOptions& options) {
      options.calibrate = ids, options.cancel = &cancel;
      options.progress = [&, after](uint64_t, uint64_t, std::string_view what) {
        if (calls++ == after) {
          stages.emplace_back(what);
          cancel = 1;
        }
      };
    });
    if (!o.code) break;
    BOOST_REQUIRE_MESSAGE(o.code == LINNET_CANCELLED, o.message);
    BOOST_TEST(files_in(t.path()) == std::vector<std::string>({"ids.json"}), boost::test_tools::per_element());
  }
  for (const char* stage : {"writing floats", "measuring activations", "factorizing"})
    BOOST_TEST(std::any_of(stages.begin(), stages.end(), [&](const std::string& s) { return s.find(stage) != std::string::npos; }), stage);
}

BOOST_AUTO_TEST_SUITE_END()
