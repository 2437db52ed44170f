#include "runtime/sampling/softmax.h"

#include <cstddef>

#include "runtime/math.h"
#include "runtime/sampling/ranking.h"

#if defined(__x86_64__) && !defined(__FMA__)
#define LINNET_FMA_BY_CHOICE 1  // compiled for processors that may lack it; most that run this have it
#endif

namespace linnet::detail {
namespace {

// A float with selections by mask: no branches, so that the compiler can turn loops over it into vectors.
struct MaskLane : FloatLane {
  using M = uint32_t;
  static M lt(F a, F b) { return a < b ? ~0u : 0u; }
  static M eq(F a, F b) { return a == b ? ~0u : 0u; }
  static F select(M m, F yes, F no) { return from_bits((m & bits(yes)) | (~m & bits(no))); }
};

constexpr float kWeightless = -88.0f;  // exp is exactly 0 below -87.3

// Bodies, compiled twice. Each operation is exact or rounded once, lane by lane, so every copy gives the same bits.
inline double total_body(const float* logits, uint32_t vocabulary, Scale scale, const int32_t* block_highest) {
  double sums[16] = {};
  for (uint32_t block = 0; block < blocks_of(vocabulary); ++block) {
    if (log_weight(from_order_key(block_highest[block]), scale) < kWeightless) continue;  // would add +0, 64 times
    const float* const from = logits + size_t{block} * kBlock;
    const uint32_t count = vocabulary - block * kBlock;
    float weights[kBlock] = {};
    if (count >= kBlock) {
      for (uint32_t i = 0; i < kBlock; ++i) weights[i] = lane_exp<MaskLane>(log_weight(from[i], scale));
    } else {
      for (uint32_t i = 0; i < count; ++i) weights[i] = lane_exp<MaskLane>(log_weight(from[i], scale));
    }
    for (uint32_t i = 0; i < kBlock; i += 16) {
      for (uint32_t lane = 0; lane < 16; ++lane) sums[lane] += static_cast<double>(weights[i + lane]);
    }
  }
  for (uint32_t half = 8; half != 0; half /= 2) {
    for (uint32_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0];
}

inline void weigh_body(Candidate* candidates, uint32_t count, const float* logits, Scale scale) {
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t token = token_of(candidates[i]);
    candidates[i] = weighed(lane_exp<MaskLane>(log_weight(logits[token], scale)), token);
  }
}

double total_portable(const float* logits, uint32_t vocabulary, Scale scale, const int32_t* block_highest) {
  return total_body(logits, vocabulary, scale, block_highest);
}
void weigh_portable(Candidate* candidates, uint32_t count, const float* logits, Scale scale) { weigh_body(candidates, count, logits, scale); }

#if LINNET_FMA_BY_CHOICE
#define LINNET_FMA __attribute__((target("avx2,fma"), flatten))  // flatten: what is not inlined would be the portable copy
LINNET_FMA double total_fma(const float* logits, uint32_t vocabulary, Scale scale, const int32_t* block_highest) {
  return total_body(logits, vocabulary, scale, block_highest);
}
LINNET_FMA void weigh_fma(Candidate* candidates, uint32_t count, const float* logits, Scale scale) { weigh_body(candidates, count, logits, scale); }
constexpr SoftmaxFunctions kSoftmaxFma = {total_fma, weigh_fma};
#endif

}  // namespace

constexpr SoftmaxFunctions kSoftmaxPortable = {total_portable, weigh_portable};

const SoftmaxFunctions& softmax() {
#if LINNET_FMA_BY_CHOICE
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kSoftmaxFma;  // asks for the system's support, too
#endif
  return kSoftmaxPortable;
}

}  // namespace linnet::detail
