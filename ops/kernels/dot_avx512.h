// Integer dot products with AVX-512 VNNI: a unit of 16 rows x 4 columns is one register. Compile with -mavx512vnni besides.
#pragma once
#include "ops/kernels/f32x16_avx512.h"

namespace linnet::ops {
namespace {

struct Dot {
  // 4 rows x 3 panels: 12 integer sums, 12 float sums, 3 weights and the activations fill the 32 registers.
  static constexpr int kTileRows = 4, kTilePanels = 3, kStreams = 4;
  using I = __m512i;
  using W = __m512i;  // vpdpbusd wants unsigned weights: codes + 128
  using Table = __m512i;

  static Table table(const int8_t* levels) {
    return _mm512_xor_si512(_mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(levels))), _mm512_set1_epi8(-128));
  }
  static W ready(const uint8_t* p) { return _mm512_load_si512(p); }
  static void keep(uint8_t* p, W w) { _mm512_store_si512(p, w); }
  static W i8(const uint8_t* p) { return _mm512_xor_si512(ready(p), _mm512_set1_epi8(-128)); }
  static void i4(const uint8_t* p, const Table& t, W* low, W* high) {
    const __m512i mask = _mm512_set1_epi8(15), codes = ready(p);
    *low = _mm512_shuffle_epi8(t, _mm512_and_si512(codes, mask));
    *high = _mm512_shuffle_epi8(t, _mm512_and_si512(_mm512_srli_epi16(codes, 4), mask));
  }
  static I start(int32_t offset) { return _mm512_set1_epi32(offset); }  // -128 times the activations' sum
  static I zero() { return _mm512_setzero_si512(); }
  static I dot(I sum, W w, int32_t four) { return _mm512_dpbusd_epi32(sum, w, _mm512_set1_epi32(four)); }
};

}  // namespace
}  // namespace linnet::ops
