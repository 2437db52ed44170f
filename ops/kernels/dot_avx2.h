// Integer dot products with AVX2, with AVX-VNNI where it is compiled for: a unit of 16 rows x 4 columns is two registers.
#pragma once
#include "ops/kernels/f32x16_avx2.h"

namespace linnet::ops {
namespace {

struct Dot {
  // 4 rows x 1 panel keep 8 integer sums, 2 weights and the activations in sixteen registers; the float sums, met once a group, may wait in memory.
  static constexpr int kTileRows = 4, kTilePanels = 1, kStreams = 2;
  using I = F32x16::I;
  struct W { __m256i a, b; };  // AVX-VNNI: codes + 128, since its weights are unsigned; else the codes
  using Table = __m256i;

#if defined(__AVXVNNI__)
  static __m256i offset(__m256i x) { return _mm256_xor_si256(x, _mm256_set1_epi8(-128)); }
  static __m256i dot(__m256i sum, __m256i w, __m256i four) { return _mm256_dpbusd_avx_epi32(sum, w, four); }
  static I start(int32_t offset) { return F32x16::iset(static_cast<uint32_t>(offset)); }  // -128 times the activations' sum
#else
  static __m256i offset(__m256i x) { return x; }
  // |w| times the activation with w's sign, two of at most 128 * 127 in 16 bits.
  static __m256i dot(__m256i sum, __m256i w, __m256i four) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(four, w));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  static I start(int32_t) { return zero(); }
#endif

  static Table table(const int8_t* levels) {
    return offset(_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(levels))));
  }
  static W ready(const uint8_t* p) { return {load(p), load(p + 32)}; }
  static void keep(uint8_t* p, W w) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(p), w.a);
    _mm256_store_si256(reinterpret_cast<__m256i*>(p + 32), w.b);
  }
  static W i8(const uint8_t* p) { return {offset(load(p)), offset(load(p + 32))}; }
  static void i4(const uint8_t* p, const Table& t, W* low, W* high) {
    const __m256i a = load(p), b = load(p + 32), mask = _mm256_set1_epi8(15);
    *low = {_mm256_shuffle_epi8(t, _mm256_and_si256(a, mask)), _mm256_shuffle_epi8(t, _mm256_and_si256(b, mask))};
    *high = {_mm256_shuffle_epi8(t, _mm256_and_si256(_mm256_srli_epi16(a, 4), mask)),
             _mm256_shuffle_epi8(t, _mm256_and_si256(_mm256_srli_epi16(b, 4), mask))};
  }
  static I zero() { return F32x16::iset(0); }
  static I dot(I sum, W w, int32_t four) {
    const __m256i q = _mm256_set1_epi32(four);
    return {dot(sum.a, w.a, q), dot(sum.b, w.b, q)};
  }

 private:
  static __m256i load(const uint8_t* p) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(p)); }
};

}  // namespace
}  // namespace linnet::ops
