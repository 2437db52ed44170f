// Sixteen floats in four NEON registers, for any AArch64 processor; the bits are those of f32x16_scalar.h.
#pragma once
#include <arm_neon.h>

#include <cstring>

#include "runtime/math.h"

namespace linnet::ops {
namespace {

struct F32x16 {
  // Tiles of linear, in 32 registers: 5 rows x 1 panel keep 20 sums, 4 weights, 5 inputs; one row alone takes 4 panels, whose 16 chains cover
  // fma's latency of 4 on up to four ports.
  static constexpr int kTileRows = 5, kTilePanels = 1, kRowPanels = 4, kQueries = 2;
  struct F { float32x4_t a, b, c, d; };
  struct I { uint32x4_t a, b, c, d; };
  struct M { uint32x4_t a, b, c, d; };

  // fn on each quarter.
  template <class R, class Fn, class... X> static R each(Fn fn, X... x) { return {fn(x.a...), fn(x.b...), fn(x.c...), fn(x.d...)}; }
  using F4 = float32x4_t;
  using I4 = uint32x4_t;

  static F set(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x), vdupq_n_f32(x), vdupq_n_f32(x)}; }
  static F add(F x, F y) { return each<F>([](F4 p, F4 q) { return vaddq_f32(p, q); }, x, y); }
  static F sub(F x, F y) { return each<F>([](F4 p, F4 q) { return vsubq_f32(p, q); }, x, y); }
  static F mul(F x, F y) { return each<F>([](F4 p, F4 q) { return vmulq_f32(p, q); }, x, y); }
  static F div(F x, F y) { return each<F>([](F4 p, F4 q) { return vdivq_f32(p, q); }, x, y); }
  static F fma(F x, F y, F z) { return each<F>(chain, x, y, z); }
  static F max(F x, F y) { return each<F>(larger, x, y); }
  static M lt(F x, F y) { return each<M>([](F4 p, F4 q) { return vcltq_f32(p, q); }, x, y); }
  static M eq(F x, F y) { return each<M>([](F4 p, F4 q) { return vceqq_f32(p, q); }, x, y); }
  static F select(M m, F yes, F no) { return each<F>([](I4 c, F4 p, F4 q) { return vbslq_f32(c, p, q); }, m, yes, no); }
  static M first(int32_t n) {  // lanes below n; n may lie outside 0..16
    const int32x4_t lanes = {0, 1, 2, 3}, limit = vsubq_s32(vdupq_n_s32(n), lanes);
    return {vcgtq_s32(limit, vdupq_n_s32(0)), vcgtq_s32(limit, vdupq_n_s32(4)), vcgtq_s32(limit, vdupq_n_s32(8)), vcgtq_s32(limit, vdupq_n_s32(12))};
  }

  static I bits(F x) { return each<I>([](F4 p) { return vreinterpretq_u32_f32(p); }, x); }
  static F from_bits(I x) { return each<F>([](I4 p) { return vreinterpretq_f32_u32(p); }, x); }
  static I iset(uint32_t x) { return {vdupq_n_u32(x), vdupq_n_u32(x), vdupq_n_u32(x), vdupq_n_u32(x)}; }
  static I iadd(I x, I y) { return each<I>([](I4 p, I4 q) { return vaddq_u32(p, q); }, x, y); }
  static I isub(I x, I y) { return each<I>([](I4 p, I4 q) { return vsubq_u32(p, q); }, x, y); }
  static I iand(I x, I y) { return each<I>([](I4 p, I4 q) { return vandq_u32(p, q); }, x, y); }
  static I ior(I x, I y) { return each<I>([](I4 p, I4 q) { return vorrq_u32(p, q); }, x, y); }
  static I imax(I x, I y) {
    return each<I>([](I4 p, I4 q) { return vreinterpretq_u32_s32(vmaxq_s32(vreinterpretq_s32_u32(p), vreinterpretq_s32_u32(q))); }, x, y);
  }
  template <int n> static I shl(I x) { return each<I>([](I4 p) { return vshlq_n_u32(p, n); }, x); }
  template <int n> static I sar(I x) {
    return each<I>([](I4 p) { return vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_u32(p), n)); }, x);
  }
  static F from_int(I x) { return each<F>([](I4 p) { return vcvtq_f32_s32(vreinterpretq_s32_u32(p)); }, x); }

  static F load(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}; }
  static void store(float* p, F x) { vst1q_f32(p, x.a), vst1q_f32(p + 4, x.b), vst1q_f32(p + 8, x.c), vst1q_f32(p + 12, x.d); }
  static F load_part(const float* p, uint32_t n) {  // 0 from lane n on; touches n elements
    float t[16] = {};
    std::memcpy(t, p, n * sizeof(float));
    return load(t);
  }
  static void store_part(float* p, F x, uint32_t n) {
    float t[16];
    store(t, x);
    std::memcpy(p, t, n * sizeof(float));
  }
  static F load_f16(const uint16_t* p) { return {widen(p), widen(p + 4), widen(p + 8), widen(p + 12)}; }
  static F load_bf16(const uint16_t* p) {
    const auto high = [](const uint16_t* q) { return vshll_n_u16(vld1_u16(q), 16); };
    return from_bits({high(p), high(p + 4), high(p + 8), high(p + 12)});
  }
  static void store_f16(uint16_t* p, F x) { narrow(p, x.a), narrow(p + 4, x.b), narrow(p + 8, x.c), narrow(p + 12, x.d); }

  static I load_i8(const int8_t* p) {
    const int8x16_t codes = vld1q_s8(p);
    const int16x8_t low = vmovl_s8(vget_low_s8(codes)), high = vmovl_s8(vget_high_s8(codes));
    const auto wide = [](int16x4_t x) { return vreinterpretq_u32_s32(vmovl_s16(x)); };
    return {wide(vget_low_s16(low)), wide(vget_high_s16(low)), wide(vget_low_s16(high)), wide(vget_high_s16(high))};
  }
  static void store_i8(int8_t* p, I x) {  // the low bytes
    const uint16x8_t low = vcombine_u16(vmovn_u32(x.a), vmovn_u32(x.b)), high = vcombine_u16(vmovn_u32(x.c), vmovn_u32(x.d));
    vst1q_s8(p, vreinterpretq_s8_u8(vcombine_u8(vmovn_u16(low), vmovn_u16(high))));
  }

  // The fixed tree: lane i with i + 8, then + 4, + 2, + 1.
  static float sum(F x) {
    const float32x4_t four = vaddq_f32(vaddq_f32(x.a, x.c), vaddq_f32(x.b, x.d));
    const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
  }
  static float largest(F x) {
    const float32x4_t four = larger(larger(x.a, x.c), larger(x.b, x.d));
    const float32x4_t two = larger(four, vextq_f32(four, four, 2));
    return detail::FloatLane::max(vgetq_lane_f32(two, 0), vgetq_lane_f32(two, 1));
  }
  static int32_t isum(I x) { return static_cast<int32_t>(vaddvq_u32(vaddq_u32(vaddq_u32(x.a, x.b), vaddq_u32(x.c, x.d)))); }
  static int32_t ilargest(I x) {
    const I two = imax({x.a, x.b, x.a, x.b}, {x.c, x.d, x.c, x.d});
    return vmaxvq_s32(vmaxq_s32(vreinterpretq_s32_u32(two.a), vreinterpretq_s32_u32(two.b)));
  }

 private:
  // The two instructions of every inner loop, as text: gcc 12 takes vfmaq_f32 and vcvt_f32_f16 for calls that may read any memory, and
  // stores a tile's sums before each.
  static F4 chain(F4 x, F4 y, F4 z) {  // vfmaq_f32(z, x, y)
    __asm__("fmla %0.4s, %1.4s, %2.4s" : "+w"(z) : "w"(x), "w"(y));
    return z;
  }
  // y where either is NaN, as x86 does; fmax would give NaN.
  static F4 larger(F4 x, F4 y) { return vbslq_f32(vcgtq_f32(x, y), x, y); }
  static F4 widen(const uint16_t* p) {  // vcvt_f32_f16
    F4 wide;
    __asm__("fcvtl %0.4s, %1.4h" : "=w"(wide) : "w"(vld1_u16(p)));
    return wide;
  }
  // Nearest even; finite numbers saturate, infinities and NaN stay.
  static void narrow(uint16_t* p, F4 x) {
    const F4 limit = vdupq_n_f32(65504.0f), size = vabsq_f32(x);
    const I4 saturates = vandq_u32(vcgtq_f32(size, limit), vcltq_f32(size, vdupq_n_f32(__builtin_inff())));
    const F4 signed_limit = vbslq_f32(vdupq_n_u32(0x80000000u), x, limit);
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(vbslq_f32(saturates, signed_limit, x))));
  }
};

// The lane type of sin and cos: two doubles, with loads from float.
struct F64 {
  static constexpr uint32_t kLanes = 2;
  using F = float64x2_t;
  using I = uint64x2_t;
  using M = uint64x2_t;
  static F set(double x) { return vdupq_n_f64(x); }
  static F sub(F x, F y) { return vsubq_f64(x, y); }
  static F mul(F x, F y) { return vmulq_f64(x, y); }
  static F fma(F x, F y, F z) { return vfmaq_f64(z, x, y); }
  static M lt(F x, F y) { return vcltq_f64(x, y); }
  static F select(M m, F yes, F no) { return vbslq_f64(m, yes, no); }
  static I bits(F x) { return vreinterpretq_u64_f64(x); }
  static F from_bits(I x) { return vreinterpretq_f64_u64(x); }
  static I iset(uint64_t x) { return vdupq_n_u64(x); }
  static I iadd(I x, I y) { return vaddq_u64(x, y); }
  static I iand(I x, I y) { return vandq_u64(x, y); }
  static I ixor(I x, I y) { return veorq_u64(x, y); }
  static M ieq(I x, I y) { return vceqq_u64(x, y); }
  template <int n> static I shl(I x) { return vshlq_n_u64(x, n); }
  static F load(const float* p) { return vcvt_f64_f32(vld1_f32(p)); }
  static void store(float* p, F x) { vst1_f32(p, vcvt_f32_f64(x)); }
};

}  // namespace
}  // namespace linnet::ops
