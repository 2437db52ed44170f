// Cholesky's factorization, a block of rows at a time. Sums run in one order whatever the number of threads.
#include <algorithm>
#include <cmath>
#include <vector>

#include "converter/quantize/calibrate.h"
#include "converter/quantize/split.h"

namespace linnet::converter {

namespace {

constexpr uint64_t kBlock = 32;

void subtract(double* __restrict row, const double* __restrict other, double times, uint64_t n) {
  for (uint64_t j = 0; j < n; ++j) row[j] -= times * other[j];
}

}  // namespace

bool factorize(float* h, uint64_t k, double damping, unsigned threads) {
  double mean = 0;
  for (uint64_t i = 0; i < k; ++i) mean += static_cast<double>(h[i * k + i]) / static_cast<double>(k);
  if (!std::isfinite(mean)) return false;
  // Inputs that are always 0 say nothing: every error is as good.
  const double added = mean > 0 ? damping * mean : 1;
  std::vector<double> a(k * k);
  for (uint64_t i = 0; i < k; ++i) {
    std::copy(h + i * k + i, h + (i + 1) * k, a.begin() + static_cast<ptrdiff_t>(i * k + i));
    a[i * k + i] += added;
  }
  // H = L L^T, of which row i here is column i of L.
  for (uint64_t begin = 0; begin < k; begin += kBlock) {
    const uint64_t end = std::min(begin + kBlock, k);
    for (uint64_t i = begin; i < end; ++i) {
      double* row = &a[i * k + i];
      for (uint64_t p = begin; p < i; ++p) subtract(row, &a[p * k + i], a[p * k + i], k - i);
      if (!(row[0] > 0) || !std::isfinite(row[0])) return false;
      const double inverse = 1 / std::sqrt(row[0]);
      for (uint64_t j = 0; j < k - i; ++j) row[j] *= inverse;
    }
    const auto update = [&](uint64_t i) {
      for (uint64_t p = begin; p < end; ++p) subtract(&a[i * k + i], &a[p * k + i], a[p * k + i], k - i);
    };
    // A long row with a short one, so that runs are equal work.
    const uint64_t left = k - end, pairs = (left + 1) / 2;
    split(left * kBlock < 16384 ? 1 : threads, pairs, [&](uint64_t first, uint64_t last) {
      for (uint64_t r = first; r < last; ++r) {
        update(end + r);
        if (const uint64_t other = k - 1 - r; other != end + r) update(other);
      }
    });
  }
  for (uint64_t i = 0; i < k; ++i)
    for (uint64_t j = i; j < k; ++j) h[i * k + j] = static_cast<float>(a[i * k + j]);
  return true;
}

}  // namespace linnet::converter
