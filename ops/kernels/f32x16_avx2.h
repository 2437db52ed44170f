// Sixteen floats in two AVX2 registers. Compile with -mavx2 -mfma -mf16c; the bits are those of f32x16_scalar.h.
#pragma once
#include <immintrin.h>

#include <cstring>

#include "runtime/math.h"

namespace linnet::ops {
namespace {

struct F32x16 {
  // Tiles of linear, in sixteen registers: 6 rows x 1 panel keeps 12 sums, 2 weights, 1 input; one row alone needs 4 panels' 8 chains to
  // cover fma's latency of 4 on two ports.
  static constexpr int kTileRows = 6, kTilePanels = 1, kRowPanels = 4, kQueries = 2;
  struct F { __m256 a, b; };
  struct I { __m256i a, b; };
  struct M { __m256 a, b; };

  static F set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static F add(F x, F y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
  static F sub(F x, F y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
  static F mul(F x, F y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
  static F div(F x, F y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
  static F fma(F x, F y, F z) { return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)}; }
  static F max(F x, F y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
  static M lt(F x, F y) { return {_mm256_cmp_ps(x.a, y.a, _CMP_LT_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_LT_OQ)}; }
  static M eq(F x, F y) { return {_mm256_cmp_ps(x.a, y.a, _CMP_EQ_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_EQ_OQ)}; }
  static F select(M m, F yes, F no) { return {_mm256_blendv_ps(no.a, yes.a, m.a), _mm256_blendv_ps(no.b, yes.b, m.b)}; }
  static M first(int32_t n) {  // lanes below n; n may lie outside 0..16
    const __m256i limit = _mm256_set1_epi32(n), lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return {_mm256_castsi256_ps(_mm256_cmpgt_epi32(limit, lanes)),
            _mm256_castsi256_ps(_mm256_cmpgt_epi32(limit, _mm256_add_epi32(lanes, _mm256_set1_epi32(8))))};
  }

  static I bits(F x) { return {_mm256_castps_si256(x.a), _mm256_castps_si256(x.b)}; }
  static F from_bits(I x) { return {_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)}; }
  static I iset(uint32_t x) { return {_mm256_set1_epi32(static_cast<int>(x)), _mm256_set1_epi32(static_cast<int>(x))}; }
  static I iadd(I x, I y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
  static I isub(I x, I y) { return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)}; }
  static I iand(I x, I y) { return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)}; }
  static I ior(I x, I y) { return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)}; }
  static I imax(I x, I y) { return {_mm256_max_epi32(x.a, y.a), _mm256_max_epi32(x.b, y.b)}; }
  template <int n> static I shl(I x) { return {_mm256_slli_epi32(x.a, n), _mm256_slli_epi32(x.b, n)}; }
  template <int n> static I sar(I x) { return {_mm256_srai_epi32(x.a, n), _mm256_srai_epi32(x.b, n)}; }
  static F from_int(I x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }

  static F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static void store(float* p, F x) { _mm256_storeu_ps(p, x.a); _mm256_storeu_ps(p + 8, x.b); }
  static F load_part(const float* p, uint32_t n) {  // 0 from lane n on; touches n elements
    const I m = bits({first(static_cast<int32_t>(n)).a, first(static_cast<int32_t>(n)).b});
    return {_mm256_maskload_ps(p, m.a), n > 8 ? _mm256_maskload_ps(p + 8, m.b) : _mm256_setzero_ps()};
  }
  static void store_part(float* p, F x, uint32_t n) {
    const I m = bits({first(static_cast<int32_t>(n)).a, first(static_cast<int32_t>(n)).b});
    _mm256_maskstore_ps(p, m.a, x.a);
    if (n > 8) _mm256_maskstore_ps(p + 8, m.b, x.b);
  }
  static F load_f16(const uint16_t* p) { return {_mm256_cvtph_ps(half(p)), _mm256_cvtph_ps(half(p + 8))}; }
  static F load_bf16(const uint16_t* p) {
    return from_bits({_mm256_slli_epi32(_mm256_cvtepu16_epi32(half(p)), 16), _mm256_slli_epi32(_mm256_cvtepu16_epi32(half(p + 8)), 16)});
  }
  static void store_f16(uint16_t* p, F x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), narrow(x.a));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), narrow(x.b));
  }
  static I load_i8(const int8_t* p) {
    const auto eight = [](const int8_t* q) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(q))); };
    return {eight(p), eight(p + 8)};
  }
  static void store_i8(int8_t* p, I x) {  // the low bytes
    const __m256i low = _mm256_set1_epi32(255);
    const __m256i words = _mm256_packus_epi32(_mm256_and_si256(x.a, low), _mm256_and_si256(x.b, low));  // in quarters 0 2 1 3
    const __m256i ordered = _mm256_permute4x64_epi64(words, 0xD8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1)));
  }

  // The fixed tree: lane i with i + 8, then + 4, + 2, + 1.
  static float sum(F x) {
    const __m256 eight = _mm256_add_ps(x.a, x.b);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
  static float largest(F x) {
    const __m256 eight = _mm256_max_ps(x.a, x.b);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
  static int32_t isum(I x) {
    const __m256i eight = _mm256_add_epi32(x.a, x.b);
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    const __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 1)));
  }
  static int32_t ilargest(I x) {
    const __m256i eight = _mm256_max_epi32(x.a, x.b);
    const __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    const __m128i two = _mm_max_epi32(four, _mm_unpackhi_epi64(four, four));
    return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 1)));
  }

 private:
  static __m128i half(const uint16_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
  // Nearest even; finite numbers saturate, infinities and NaN stay. min and max give their second operand for NaN.
  static __m128i narrow(__m256 x) {
    const __m256 limit = _mm256_set1_ps(65504.0f), sign = _mm256_set1_ps(-0.0f);
    const __m256 clamped = _mm256_min_ps(limit, _mm256_max_ps(_mm256_xor_ps(limit, sign), x));
    const __m256 infinite = _mm256_cmp_ps(_mm256_andnot_ps(sign, x), _mm256_set1_ps(__builtin_inff()), _CMP_EQ_OQ);
    return _mm256_cvtps_ph(_mm256_blendv_ps(clamped, x, infinite), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};

// The lane type of sin and cos: four doubles, with loads from float.
struct F64 {
  static constexpr uint32_t kLanes = 4;
  using F = __m256d;
  using I = __m256i;
  using M = __m256d;
  static F set(double x) { return _mm256_set1_pd(x); }
  static F sub(F x, F y) { return _mm256_sub_pd(x, y); }
  static F mul(F x, F y) { return _mm256_mul_pd(x, y); }
  static F fma(F x, F y, F z) { return _mm256_fmadd_pd(x, y, z); }
  static M lt(F x, F y) { return _mm256_cmp_pd(x, y, _CMP_LT_OQ); }
  static F select(M m, F yes, F no) { return _mm256_blendv_pd(no, yes, m); }
  static I bits(F x) { return _mm256_castpd_si256(x); }
  static F from_bits(I x) { return _mm256_castsi256_pd(x); }
  static I iset(uint64_t x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }
  static I iadd(I x, I y) { return _mm256_add_epi64(x, y); }
  static I iand(I x, I y) { return _mm256_and_si256(x, y); }
  static I ixor(I x, I y) { return _mm256_xor_si256(x, y); }
  static M ieq(I x, I y) { return _mm256_castsi256_pd(_mm256_cmpeq_epi64(x, y)); }
  template <int n> static I shl(I x) { return _mm256_slli_epi64(x, n); }
  static F load(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
  static void store(float* p, F x) { _mm_storeu_ps(p, _mm256_cvtpd_ps(x)); }
};

}  // namespace
}  // namespace linnet::ops
