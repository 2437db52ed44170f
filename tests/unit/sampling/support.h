// Sampling for tests: every call works in memory of exactly the size asked for, so that a sanitizer sees one byte too many.
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "linnet/c.h"
#include "runtime/sampling/sampler.h"
#include "runtime/sampling/softmax.h"

namespace sampling_test {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

inline linnet_sampling defaults() {
  linnet_sampling s;
  linnet_sampling_init(&s);
  return s;
}
inline linnet_sampling with_temperature(float temperature) {
  linnet_sampling s = defaults();
  s.temperature = temperature;
  return s;
}

struct Outcome {
  linnet_code code;
  linnet_sampled sampled;
  linnet_error error;
  std::vector<float> logits;  // as the call left them
};

inline Outcome sample(std::vector<float> logits, const linnet_sampling& s, const std::vector<int32_t>& history = {}, uint64_t position = 0,
                      size_t misalign = 0) {
  Outcome out{};
  out.sampled = {-1, 0};
  out.logits = std::move(logits);
  const uint32_t vocabulary = static_cast<uint32_t>(out.logits.size());
  std::vector<char> scratch(linnet_sampler_scratch_bytes(vocabulary) + misalign);
  out.code = linnet_sample(out.logits.data(), vocabulary, history.data(), history.size(), position, &s, scratch.data() + misalign, &out.sampled,
                           &out.error);
  return out;
}

struct Probability { uint32_t token; double probability; };

// The distribution that a draw is made from.
inline std::vector<Probability> distribution(std::vector<float> logits, const linnet_sampling& s, const std::vector<int32_t>& history = {}) {
  const uint32_t vocabulary = static_cast<uint32_t>(logits.size());
  std::vector<char> bytes(linnet_sampler_scratch_bytes(vocabulary));
  const linnet::detail::Scratch scratch = linnet::detail::cut_scratch(bytes.data(), vocabulary);
  linnet::detail::Scan scanned;
  if (linnet::detail::prepare(logits.data(), vocabulary, history.data(), history.size(), &s, scratch, &scanned, nullptr) != LINNET_OK) return {};
  const linnet::detail::Kept kept = linnet::detail::keep(logits.data(), vocabulary, s, scanned, scratch);
  std::vector<Probability> out;
  for (uint32_t i = 0; i < kept.count; ++i) {
    out.push_back({linnet::detail::token_of(kept.candidates[i]), static_cast<double>(linnet::detail::weight_of(kept.candidates[i])) / kept.total});
  }
  return out;
}

inline std::vector<uint32_t> tokens_of(const std::vector<Probability>& distribution) {
  std::vector<uint32_t> out;
  for (const Probability& p : distribution) out.push_back(p.token);
  return out;
}

inline std::string show(const std::vector<uint32_t>& tokens) {
  std::string out;
  for (const uint32_t t : tokens) out += (out.empty() ? "" : " ") + std::to_string(t);
  return out;
}

// The same numbers from every standard library: only the engine's output is fixed by the standard, its distributions are not.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t below(uint64_t n) { return engine_() % n; }
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  float bell(double spread) {  // near enough to normal
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += unit();
    return static_cast<float>((sum - 6) * spread);
  }
  std::vector<float> logits(uint32_t n, double spread) {
    std::vector<float> out(n);
    for (float& x : out) x = bell(spread);
    return out;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace sampling_test
