// The ops once more, plainly and in double, for tests to compare with. Independent of ops/: nothing here calls a kernel.
#pragma once
#include <cmath>
#include <vector>

#include "unit/ops/harness.h"

namespace linnet::test {

inline std::vector<double> doubles(const std::vector<float>& v) { return {v.begin(), v.end()}; }

// The largest |got - exact|, in units of the largest |exact| of all.
inline double largest_difference(const std::vector<float>& got, const std::vector<double>& exact) {
  double worst = 0, size = 0;
  if (got.size() != exact.size()) return INFINITY;
  for (size_t i = 0; i < got.size(); ++i) {
    const double d = std::fabs(got[i] - exact[i]);
    if (!(d <= worst)) worst = d;  // NaN stays
    size = std::max(size, std::fabs(exact[i]));
  }
  return worst / (size > 0 ? size : 1);
}

namespace reference {

inline std::vector<double> linear(const std::vector<double>& x, const Weight& w, const Weight* bias) {
  const size_t k = w.tensor.shape[2], outputs = w.tensor.shape[1], rows = x.size() / k;
  std::vector<double> y(rows * outputs);
  for (size_t t = 0; t < rows; ++t) {
    for (size_t r = 0; r < outputs; ++r) {
      double sum = bias ? bias->values[r] : 0;
      for (size_t i = 0; i < k; ++i) sum += x[t * k + i] * w.values[r * k + i];
      y[t * outputs + r] = sum;
    }
  }
  return y;
}

inline std::vector<double> norm(const std::vector<double>& x, size_t n, bool layer, double epsilon, const Weight* weight, const Weight* bias) {
  std::vector<double> y(x.size());
  for (size_t start = 0; start < x.size(); start += n) {
    double mean = 0, square = 0;
    if (layer) for (size_t i = 0; i < n; ++i) mean += x[start + i] / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) square += (x[start + i] - mean) * (x[start + i] - mean) / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) {
      y[start + i] = (x[start + i] - mean) / std::sqrt(square + epsilon) * (weight ? weight->values[i] : 1) + (bias ? bias->values[i] : 0);
    }
  }
  return y;
}

inline double activation(int64_t kind, double x) {
  switch (kind) {
    case ops::kRelu: return x > 0 ? x : 0;
    case ops::kGelu: return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case ops::kGeluTanh: return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case ops::kSilu: return x / (1 + std::exp(-x));
    default: return x;
  }
}

// One head, in place, at a position; halves or pairs.
inline void rope(double* x, const std::vector<float>& inverse_frequencies, uint64_t position, bool pairs) {
  const size_t half = inverse_frequencies.size();
  for (size_t i = 0; i < half; ++i) {
    const double angle = static_cast<float>(position) * inverse_frequencies[i];  // the contract: a float product
    double &a = pairs ? x[2 * i] : x[i], &b = pairs ? x[2 * i + 1] : x[half + i];
    const double before = a;
    a = a * std::cos(angle) - b * std::sin(angle);
    b = b * std::cos(angle) + before * std::sin(angle);
  }
}

// softmax over positions [first, q's own] of one query head. k(j) and v(j) are that position's vectors.
template <class K, class V>
std::vector<double> attend(const double* q, size_t n, uint64_t first, uint64_t end, double scale, double softcap, K k, V v) {
  std::vector<double> scores, y(n);
  double top = -INFINITY, sum = 0;
  for (uint64_t j = first; j < end; ++j) {
    double s = 0;
    for (size_t d = 0; d < n; ++d) s += q[d] * k(j)[d];
    s *= scale;
    if (softcap > 0) s = softcap * std::tanh(s / softcap);
    scores.push_back(s);
    top = std::max(top, s);
  }
  for (double& s : scores) sum += s = std::exp(s - top);
  for (uint64_t j = first; j < end; ++j) for (size_t d = 0; d < n; ++d) y[d] += scores[j - first] / sum * v(j)[d];
  return y;
}

}  // namespace reference
}  // namespace linnet::test
