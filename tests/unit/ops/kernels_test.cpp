// Every kernel, every instruction set, against scalar to the bit: odd lengths, NaN, infinities, denormals.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "ops/cache.h"
#include "unit/ops/harness.h"

using namespace linnet;
using namespace linnet::test;
namespace data = boost::unit_test::data;

namespace {

const size_t kLengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 48, 63, 64, 65, 100, 257};

// Runs `fill` with each kernel set into an output of n floats that starts as NaN, and compares the outputs with scalar's.
void compare(const char* what, size_t n, const std::function<void(const ops::Kernels&, float*)>& fill) {
  Aligned<float> expected(n);
  for (size_t i = 0; i < n; ++i) expected[i] = NAN;
  fill(kernels("scalar"), expected.data());
  for (const char* isa : isas()) {
    Aligned<float> actual(n);
    for (size_t i = 0; i < n; ++i) actual[i] = NAN;
    fill(kernels(isa), actual.data());
    const size_t bad = first_difference(expected.data(), actual.data(), n);
    BOOST_TEST(bad == n, isa << " " << what << " differs at " << bad << " of " << n);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_bits)

BOOST_DATA_TEST_CASE(over_a_row, data::make(kLengths) * data::make({0, 1}), n, nasty) {
  const auto numbers = [&](uint32_t seed) { return nasty ? nasty_floats(n, seed) : random_floats(n, seed, 3.0f); };
  const std::vector<float> x = numbers(1), a = numbers(2), b = numbers(3);
  compare("rms_norm", n, [&](const ops::Kernels& k, float* y) { k.rms_norm(x.data(), a.data(), y, n, 1e-5f); });
  compare("rms_norm, no weight", n, [&](const ops::Kernels& k, float* y) { k.rms_norm(x.data(), nullptr, y, n, 1e-5f); });
  compare("layer_norm", n, [&](const ops::Kernels& k, float* y) { k.layer_norm(x.data(), a.data(), b.data(), y, n, 1e-5f); });
  compare("add", n, [&](const ops::Kernels& k, float* y) { k.add(x.data(), a.data(), y, n); });
  compare("mul", n, [&](const ops::Kernels& k, float* y) { k.mul(x.data(), a.data(), y, n); });
  compare("scale", n, [&](const ops::Kernels& k, float* y) { k.scale(x.data(), 0.3f, y, n); });
  for (uint32_t kind = 0; kind < ops::kActivations; ++kind) {
    compare("activate", n, [&](const ops::Kernels& k, float* y) { k.activate(kind, x.data(), y, n); });
  }
  for (const float softcap : {0.0f, 2.5f}) {
    for (const uint64_t first : {uint64_t{0}, uint64_t{n / 3}, uint64_t{n - 1}}) {
      compare("softmax", n, [&](const ops::Kernels& k, float* y) { k.softmax({x.data(), y, first, n, 0.7f, softcap}); });
    }
  }
}

BOOST_DATA_TEST_CASE(rope, data::make({2, 8, 10, 12, 20, 64, 96}) * data::make({0, 1}) * data::make({0, 1}), head_dim, style, nasty) {
  const uint32_t heads = 3;
  for (uint32_t rotary = 2; rotary <= static_cast<uint32_t>(head_dim); rotary += 2) {
    const std::vector<float> x = nasty ? nasty_floats(heads * head_dim, 7) : random_floats(heads * head_dim, 7), table = random_floats(rotary, 8);
    compare("rope", x.size(), [&](const ops::Kernels& k, float* y) { k.rope(x.data(), table.data(), y, heads, head_dim, rotary, style); });
  }
}

BOOST_DATA_TEST_CASE(linear, data::make({0, 1, 2}) * data::make({0, 1}), dtype, nasty) {
  for (const uint64_t k : {1, 5, 16, 33}) {
    for (const uint32_t rows : {1, 2, 3, 5, 6, 7, 13}) {
      const uint64_t outputs = 16 * 6, stride = k + 3;
      const auto w = matrix(static_cast<uint8_t>(dtype), outputs, k, 11);
      const std::vector<float> x = nasty ? nasty_floats(rows * stride, 12) : random_floats(rows * stride, 12);
      const std::vector<float> bias = random_floats(outputs, 13), factor = random_floats(outputs * rows, 14),
                               residual = random_floats(outputs * rows, 15);
      compare("linear", outputs * rows, [&](const ops::Kernels& kernel, float* y) {
        kernel.linear({w->bytes.data(), w->tensor.dtype, k, outputs / 16, x.data(), stride, rows, y, outputs, bias.data(), ops::kSilu, factor.data(),
                       outputs, residual.data(), outputs});
      });
    }
  }
}

BOOST_DATA_TEST_CASE(attend, data::make({4, 10, 16, 20, 64, 84}) * data::make({0, 1, 3}) * data::make({0, 1}), head_dim, dtype, nasty) {
  const uint32_t n = static_cast<uint32_t>(head_dim), page_count = 6;
  const State state(n, static_cast<uint8_t>(dtype), page_count);
  const std::vector<float> numbers =
      nasty ? nasty_floats(size_t{page_count} * 2 * 64 * n, 21) : random_floats(size_t{page_count} * 2 * 64 * n, 21, 2.0f);
  for (uint32_t i = 0; i < page_count * 64; ++i) {
    Aligned<uint8_t> scratch(ops::StateHeads::scratch_bytes(n));
    for (const uint32_t tensor : {0u, 1u})
      ops::StateHeads(state.state, tensor)
          .write(kernels("scalar"), numbers.data() + (2 * i + tensor) * n, state.pages.data() + i / 64 * state.memory.page_bytes, 0, i, scratch.data());
  }
  const Ranges ranges{{0, 1}, {0, 17}, {0, 64}, {0, 65}, {63, 70}, {40, 256}, {0, 257}, {200, 300}, {100, 384}};
  const std::vector<float> q = random_floats(n * ranges.size(), 22, 2.0f);
  for (const float softcap : {0.0f, 5.0f}) {
    compare("attend", n * ranges.size(), [&](const ops::Kernels& k, float* y) {
      const std::vector<float> all = test::attend(k, state, {3, 0, 5, 1, 4, 2}, q, n, ranges, 0.2f, softcap);
      std::copy(all.begin(), all.end(), y);
    });
  }
}

BOOST_DATA_TEST_CASE(matrix_products_of_bodies, data::make({1, 10, 16, 33}) * data::make({1, 5, 70}), width, positions) {
  const uint64_t n = static_cast<uint64_t>(positions), stride = width + 5;
  const std::vector<float> b = random_floats(n * stride, 31), q = random_floats(width, 32), weights = random_floats(n, 33);
  compare("dot_rows", n, [&](const ops::Kernels& k, float* y) { k.dot_rows({q.data(), b.data(), stride, n, static_cast<uint32_t>(width), y}); });
  compare("sum_rows", width, [&](const ops::Kernels& k, float* y) {
    k.sum_rows({weights.data(), b.data(), stride, n, static_cast<uint32_t>(width), y});
  });
}

BOOST_AUTO_TEST_CASE(selection) {
  BOOST_TEST((ops::select("sse9") == nullptr));
  BOOST_TEST(std::string(ops::select("scalar")->name) == "scalar");
  BOOST_TEST(std::string(ops::select(nullptr)->name) == isas().back());
  BOOST_TEST(std::string(ops::select(nullptr)->math->isa) == isas().back());
}

BOOST_AUTO_TEST_SUITE_END()
