// The numerics contract once more: one number at a time, in the order the design gives, and the kernels must equal it to the bit. Nothing
// here is shared with ops/kernels but exp and tanh.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "unit/ops/harness.h"

using namespace linnet;
using namespace linnet::test;
namespace data = boost::unit_test::data;

namespace {

// One rounding each; not inlined, so that no compiler makes an fma of two of them.
#define LINNET_ONCE __attribute__((noinline)) float
LINNET_ONCE add(float a, float b) { return a + b; }
LINNET_ONCE sub(float a, float b) { return a - b; }
LINNET_ONCE mul(float a, float b) { return a * b; }
LINNET_ONCE divide(float a, float b) { return a / b; }
float exp_of(float x) {
  float y;
  kernels("scalar").math->exp(&x, &y, 1);
  return y;
}
float tanh_of(float x) {
  float y;
  kernels("scalar").math->tanh(&x, &y, 1);
  return y;
}

// Sixteen strided partial sums and the tree: i with i + 8, + 4, + 2, + 1.
float tree(const float (&partial)[16]) {
  float s[16];
  std::copy(partial, partial + 16, s);
  for (const int half : {8, 4, 2, 1}) for (int i = 0; i < half; ++i) s[i] = add(s[i], s[i + half]);
  return s[0];
}

std::vector<float> rms_norm(const std::vector<float>& x, const std::vector<float>& w, float epsilon) {
  float partial[16] = {};
  for (size_t i = 0; i < x.size(); ++i) partial[i % 16] = std::fma(x[i], x[i], partial[i % 16]);
  const float inverse = divide(1, std::sqrt(add(divide(tree(partial), static_cast<float>(x.size())), epsilon)));
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = mul(mul(x[i], inverse), w[i]);
  return y;
}

std::vector<float> layer_norm(const std::vector<float>& x, const std::vector<float>& w, const std::vector<float>& b, float epsilon) {
  float sums[16] = {}, squares[16] = {};
  for (size_t i = 0; i < x.size(); ++i) sums[i % 16] = add(sums[i % 16], x[i]);
  const float n = static_cast<float>(x.size()), mean = divide(tree(sums), n);
  for (size_t i = 0; i < x.size(); ++i) {
    const float d = sub(x[i], mean);
    squares[i % 16] = std::fma(d, d, squares[i % 16]);
  }
  const float inverse = divide(1, std::sqrt(add(divide(tree(squares), n), epsilon)));
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = add(mul(mul(sub(x[i], mean), inverse), w[i]), b[i]);
  return y;
}

// keys and values [positions][n], already rounded to the state's type.
std::vector<float> attend(const float* q, size_t n, uint64_t first, uint64_t end, float scale, float softcap, const float* keys,
                          const float* values) {
  float top = -INFINITY, sum = 0;
  std::vector<float> total(n);
  for (uint64_t segment = first / 256; segment * 256 < end; ++segment) {
    float m = -INFINITY, l[16] = {};
    std::vector<float> o(n);
    for (uint64_t tile = segment * 4; tile < segment * 4 + 4; ++tile) {
      std::vector<uint64_t> visible;
      for (uint64_t j = tile * 64; j < tile * 64 + 64; ++j) if (j >= first && j < end) visible.push_back(j);
      if (visible.empty()) continue;
      float s[64], next = m;
      for (const uint64_t j : visible) {
        float dot = 0;
        for (size_t d = 0; d < n; ++d) dot = std::fma(q[d], keys[j * n + d], dot);
        dot = mul(dot, scale);
        if (softcap > 0) dot = mul(softcap, tanh_of(divide(dot, softcap)));
        s[j % 64] = dot;
        next = std::max(next, dot);
      }
      const float rescale = exp_of(sub(m, next));
      for (float& x : l) x = mul(x, rescale);
      for (float& x : o) x = mul(x, rescale);
      for (const uint64_t j : visible) {
        const float p = exp_of(sub(s[j % 64], next));
        l[j % 16] = add(l[j % 16], p);
        for (size_t d = 0; d < n; ++d) o[d] = std::fma(p, values[j * n + d], o[d]);
      }
      m = next;
    }
    const float next = std::max(top, m), old_part = exp_of(sub(top, next)), new_part = exp_of(sub(m, next));
    sum = std::fma(tree(l), new_part, mul(sum, old_part));
    for (size_t d = 0; d < n; ++d) total[d] = std::fma(o[d], new_part, mul(total[d], old_part));
    top = next;
  }
  for (float& x : total) x = divide(x, sum);
  return total;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(contract)

BOOST_DATA_TEST_CASE(linear_is_one_chain, data::make(isas()) * data::make({0, 1, 2}), isa, dtype) {
  const uint64_t k = 53, outputs = 64, rows = 9;
  const auto w = matrix(static_cast<uint8_t>(dtype), outputs, k, 1);
  const std::vector<float> x = random_floats(rows * k, 2), bias = random_floats(outputs, 3), residual = random_floats(rows * outputs, 4);
  std::vector<float> y(rows * outputs), expected;
  kernels(isa).linear({w->bytes.data(), w->tensor.dtype, k, outputs / 16, x.data(), k, rows, y.data(), outputs, bias.data(), ops::kRelu, nullptr, 0,
                       residual.data(), outputs});
  for (size_t i = 0; i < y.size(); ++i) {
    float sum = 0;
    for (uint64_t j = 0; j < k; ++j) sum = std::fma(w->values[i % outputs * k + j], x[i / outputs * k + j], sum);
    expected.push_back(add(std::max(add(sum, bias[i % outputs]), 0.0f), residual[i]));
  }
  BOOST_TEST(first_difference(y.data(), expected.data(), y.size()) == y.size());
}

BOOST_DATA_TEST_CASE(norms_are_strided_sums, data::make(isas()) * data::make({1, 15, 16, 17, 100, 768}), isa, n) {
  const std::vector<float> x = random_floats(n, 1, 3.0f), w = random_floats(n, 2), b = random_floats(n, 3);
  std::vector<float> y(n);
  kernels(isa).rms_norm(x.data(), w.data(), y.data(), n, 1e-5f);
  BOOST_TEST((y == rms_norm(x, w, 1e-5f)));
  kernels(isa).layer_norm(x.data(), w.data(), b.data(), y.data(), n, 1e-5f);
  BOOST_TEST((y == layer_norm(x, w, b, 1e-5f)));
}

BOOST_DATA_TEST_CASE(attention_is_segments_of_tiles, data::make(isas()) * data::make({0, 1}) * data::make({10, 16, 33}), isa, dtype, head_dim) {
  const uint32_t n = static_cast<uint32_t>(head_dim), positions = 700, page_count = 11;
  const State state(n, static_cast<uint8_t>(dtype), page_count);
  std::vector<uint32_t> pages(page_count);
  std::vector<float> keys = random_floats(positions * n, 1, 2.0f), values = random_floats(positions * n, 2);
  for (uint32_t i = 0; i < page_count; ++i) pages[i] = page_count - 1 - i;
  const uint64_t size = packing::float_bytes(state.tensors[0].dtype);
  for (uint32_t j = 0; j < positions; ++j) {
    uint8_t* page = state.pages.data() + pages[j / 64] * state.memory.page_bytes;
    for (uint32_t d = 0; d < n; ++d) {
      float& k = keys[j * n + d];
      float& v = values[j * n + d];
      k = Weight::put(state.tensors[0].dtype, k, page + (j % 64 / 16 * 16 * n + d * 16 + j % 16) * size);
      v = Weight::put(state.tensors[1].dtype, v, page + state.offsets[1] + (j % 64 * n + d) * size);
    }
  }
  // Side by side, in groups that see the same, nearly the same, and different positions; and each alone.
  const Ranges ranges{{0, 1}, {0, 64}, {0, 65}, {5, 200}, {0, 256}, {0, 257}, {250, 520}, {300, 700}, {0, 290}, {0, 291}, {0, 292}, {0, 292}, {260, 300}, {261, 301}, {262, 302}};
  const std::vector<float> q = random_floats(n * ranges.size(), 3, 2.0f);
  for (const float softcap : {0.0f, 2.0f}) {
    const std::vector<float> all = test::attend(kernels(isa), state, pages, q, n, ranges, 0.3f, softcap);
    for (size_t i = 0; i < ranges.size(); ++i) {
      const std::vector<float> one(q.begin() + static_cast<long>(i * n), q.begin() + static_cast<long>((i + 1) * n));
      const std::vector<float> expected = attend(one.data(), n, ranges[i].first, ranges[i].second, 0.3f, softcap, keys.data(), values.data());
      BOOST_TEST((test::attend(kernels(isa), state, pages, one, n, {ranges[i]}, 0.3f, softcap) == expected), "alone " << i);
      BOOST_TEST((std::vector<float>(all.begin() + static_cast<long>(i * n), all.begin() + static_cast<long>((i + 1) * n)) == expected), "beside others " << i);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
