// Sixteen floats as an array: the reference that every other instruction set must equal to the bit. Assumes no hardware fma.
//
// A lane type (see runtime/math.h) has F, I, M and one static function an operation; vectors add loads, stores and the two reductions.
#pragma once
#include <cstring>

#include "ops/kernels/float16.h"
#include "runtime/math.h"

namespace linnet::ops {
namespace {

struct F32x16 {
  static constexpr int kTileRows = 1, kTilePanels = 1, kRowPanels = 1, kQueries = 1;  // of linear; more would only grow the code
  using One = detail::FloatLane;
  struct F { float v[16]; };
  struct I { uint32_t v[16]; };
  struct M { bool v[16]; };

  template <class R, class Fn> static R each(Fn fn) {
    R r;
    for (int i = 0; i < 16; ++i) r.v[i] = fn(i);
    return r;
  }

  static F set(float x) { return each<F>([=](int) { return x; }); }
  static F add(F a, F b) { return each<F>([&](int i) { return One::add(a.v[i], b.v[i]); }); }
  static F sub(F a, F b) { return each<F>([&](int i) { return One::sub(a.v[i], b.v[i]); }); }
  static F mul(F a, F b) { return each<F>([&](int i) { return One::mul(a.v[i], b.v[i]); }); }
  static F div(F a, F b) { return each<F>([&](int i) { return One::div(a.v[i], b.v[i]); }); }
  static F fma(F a, F b, F c) {
    F r;
#pragma GCC unroll 1  // where fma is a call, sixteen in a row only grow the code
    for (int i = 0; i < 16; ++i) r.v[i] = One::fma(a.v[i], b.v[i], c.v[i]);
    return r;
  }
  static F max(F a, F b) { return each<F>([&](int i) { return One::max(a.v[i], b.v[i]); }); }
  static M lt(F a, F b) { return each<M>([&](int i) { return a.v[i] < b.v[i]; }); }
  static M eq(F a, F b) { return each<M>([&](int i) { return a.v[i] == b.v[i]; }); }
  static F select(M m, F yes, F no) { return each<F>([&](int i) { return m.v[i] ? yes.v[i] : no.v[i]; }); }
  static M first(int32_t n) { return each<M>([=](int i) { return i < n; }); }  // lanes below n; n may lie outside 0..16

  // Lane by lane: of a bit_cast of whole arrays, gcc 12 for AArch64 at -O3 makes wrong code.
  static I bits(F x) { return each<I>([&](int i) { return One::bits(x.v[i]); }); }
  static F from_bits(I x) { return each<F>([&](int i) { return One::from_bits(x.v[i]); }); }
  static I iset(uint32_t x) { return each<I>([=](int) { return x; }); }
  static I iadd(I a, I b) { return each<I>([&](int i) { return a.v[i] + b.v[i]; }); }
  static I isub(I a, I b) { return each<I>([&](int i) { return a.v[i] - b.v[i]; }); }
  static I iand(I a, I b) { return each<I>([&](int i) { return a.v[i] & b.v[i]; }); }
  static I ior(I a, I b) { return each<I>([&](int i) { return a.v[i] | b.v[i]; }); }
  static I imax(I a, I b) { return each<I>([&](int i) { return static_cast<int32_t>(a.v[i]) > static_cast<int32_t>(b.v[i]) ? a.v[i] : b.v[i]; }); }
  template <int n> static I shl(I x) { return each<I>([&](int i) { return x.v[i] << n; }); }
  template <int n> static I sar(I x) { return each<I>([&](int i) { return One::sar<n>(x.v[i]); }); }
  static F from_int(I x) { return each<F>([&](int i) { return One::from_int(x.v[i]); }); }

  static F load(const float* p) { F r; std::memcpy(r.v, p, sizeof r.v); return r; }
  static void store(float* p, F x) { std::memcpy(p, x.v, sizeof x.v); }
  static F load_part(const float* p, uint32_t n) { F r = {}; std::memcpy(r.v, p, n * sizeof(float)); return r; }  // 0 from lane n on
  static void store_part(float* p, F x, uint32_t n) { std::memcpy(p, x.v, n * sizeof(float)); }
  static F load_f16(const uint16_t* p) { return each<F>([=](int i) { return f16_to_f32(p[i]); }); }
  static F load_bf16(const uint16_t* p) { return each<F>([=](int i) { return bf16_to_f32(p[i]); }); }
  static void store_f16(uint16_t* p, F x) { for (int i = 0; i < 16; ++i) p[i] = f32_to_f16(x.v[i]); }
  static I load_i8(const int8_t* p) { return each<I>([=](int i) { return static_cast<uint32_t>(int32_t{p[i]}); }); }
  static void store_i8(int8_t* p, I x) { for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(x.v[i]); }  // the low bytes

  // The fixed tree: lane i with i + 8, then + 4, + 2, + 1.
  static float sum(F x) {
    for (int half = 8; half; half /= 2) for (int i = 0; i < half; ++i) x.v[i] = x.v[i] + x.v[i + half];
    return x.v[0];
  }
  static float largest(F x) {
    for (int half = 8; half; half /= 2) for (int i = 0; i < half; ++i) x.v[i] = One::max(x.v[i], x.v[i + half]);
    return x.v[0];
  }
  static int32_t isum(I x) {
    uint32_t sum = 0;
    for (int i = 0; i < 16; ++i) sum += x.v[i];
    return static_cast<int32_t>(sum);
  }
  static int32_t ilargest(I x) {
    for (int half = 8; half; half /= 2) for (int i = 0; i < half; ++i) x.v[i] = static_cast<int32_t>(x.v[i]) > static_cast<int32_t>(x.v[i + half]) ? x.v[i] : x.v[i + half];
    return static_cast<int32_t>(x.v[0]);
  }
};

// The lane type of sin and cos, with its loads from float.
struct F64 : detail::DoubleLane {
  static constexpr uint32_t kLanes = 1;
  static F load(const float* p) { return static_cast<double>(*p); }
  static void store(float* p, F x) { *p = static_cast<float>(x); }
};

}  // namespace
}  // namespace linnet::ops
