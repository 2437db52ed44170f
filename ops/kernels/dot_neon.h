// Integer dot products with NEON, with the dot product instruction where it is compiled for: a unit of 16 rows x 4 columns is four registers.
#pragma once
#include "ops/kernels/f32x16_neon.h"

namespace linnet::ops {
namespace {

struct Dot {
  // 4 rows x 1 panel keep 16 integer sums, 4 weights, 4 activations in 32 registers; the float sums, met once a group, may wait in memory.
  static constexpr int kTileRows = 4, kTilePanels = 1, kStreams = 2;
  using I = F32x16::I;
  struct W { int8x16_t a, b, c, d; };
  using Table = int8x16_t;

  static Table table(const int8_t* levels) { return vld1q_s8(levels); }
  static W ready(const uint8_t* p) { return {load(p), load(p + 16), load(p + 32), load(p + 48)}; }
  static void keep(uint8_t* p, W w) {
    int8_t* to = reinterpret_cast<int8_t*>(p);
    vst1q_s8(to, w.a), vst1q_s8(to + 16, w.b), vst1q_s8(to + 32, w.c), vst1q_s8(to + 48, w.d);
  }
  static W i8(const uint8_t* p) { return ready(p); }
  static void i4(const uint8_t* p, const Table& t, W* low, W* high) {
    const auto below = [&](const uint8_t* q) { return vqtbl1q_s8(t, vandq_u8(vld1q_u8(q), vdupq_n_u8(15))); };
    const auto above = [&](const uint8_t* q) { return vqtbl1q_s8(t, vshrq_n_u8(vld1q_u8(q), 4)); };
    *low = {below(p), below(p + 16), below(p + 32), below(p + 48)};
    *high = {above(p), above(p + 16), above(p + 32), above(p + 48)};
  }
  static I start(int32_t) { return zero(); }  // signed times signed: no offset to take out
  static I zero() { return F32x16::iset(0); }
  static I dot(I sum, W w, int32_t four) {
    const int8x16_t q = vreinterpretq_s8_s32(vdupq_n_s32(four));
    return {dot(sum.a, w.a, q), dot(sum.b, w.b, q), dot(sum.c, w.c, q), dot(sum.d, w.d, q)};
  }

 private:
  static int8x16_t load(const uint8_t* p) { return vreinterpretq_s8_u8(vld1q_u8(p)); }
  static uint32x4_t dot(uint32x4_t sum, int8x16_t w, int8x16_t q) {
    const int32x4_t s = vreinterpretq_s32_u32(sum);
#if defined(__ARM_FEATURE_DOTPROD)
    return vreinterpretq_u32_s32(vdotq_s32(s, w, q));
#else
    // Products of at most 128 * 127, two of which fit into 16 bits.
    const int16x8_t pairs = vpaddq_s16(vmull_s8(vget_low_s8(w), vget_low_s8(q)), vmull_high_s8(w, q));
    return vreinterpretq_u32_s32(vpadalq_s16(s, pairs));
#endif
  }
};

}  // namespace
}  // namespace linnet::ops
