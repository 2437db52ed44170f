// Sixteen floats in one AVX-512 register. Compile with -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c; the bits are those of
// f32x16_scalar.h.
#pragma once
#include <immintrin.h>

#include <cstring>

#include "runtime/math.h"

namespace linnet::ops {
namespace {

struct F32x16 {
  // Tiles of linear, in 32 registers: 8 rows x 3 panels keep 24 sums and 3 weights, the input is broadcast from memory; one row alone needs
  // 8 chains to cover fma's latency of 4 on two ports.
  static constexpr int kTileRows = 8, kTilePanels = 3, kRowPanels = 8, kQueries = 4;
  using F = __m512;
  using I = __m512i;
  using M = __mmask16;

  static F set(float x) { return _mm512_set1_ps(x); }
  static F add(F x, F y) { return _mm512_add_ps(x, y); }
  static F sub(F x, F y) { return _mm512_sub_ps(x, y); }
  static F mul(F x, F y) { return _mm512_mul_ps(x, y); }
  static F div(F x, F y) { return _mm512_div_ps(x, y); }
  static F fma(F x, F y, F z) { return _mm512_fmadd_ps(x, y, z); }
  static F max(F x, F y) { return _mm512_max_ps(x, y); }
  static M lt(F x, F y) { return _mm512_cmp_ps_mask(x, y, _CMP_LT_OQ); }
  static M eq(F x, F y) { return _mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ); }
  static F select(M m, F yes, F no) { return _mm512_mask_blend_ps(m, no, yes); }
  static M first(int32_t n) { return n <= 0 ? M{0} : n >= 16 ? static_cast<M>(0xFFFF) : static_cast<M>((1u << n) - 1); }  // lanes below n

  static I bits(F x) { return _mm512_castps_si512(x); }
  static F from_bits(I x) { return _mm512_castsi512_ps(x); }
  static I iset(uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static I iadd(I x, I y) { return _mm512_add_epi32(x, y); }
  static I isub(I x, I y) { return _mm512_sub_epi32(x, y); }
  static I iand(I x, I y) { return _mm512_and_si512(x, y); }
  static I ior(I x, I y) { return _mm512_or_si512(x, y); }
  static I imax(I x, I y) { return _mm512_max_epi32(x, y); }
  template <int n> static I shl(I x) { return _mm512_slli_epi32(x, n); }
  template <int n> static I sar(I x) { return _mm512_srai_epi32(x, n); }
  static F from_int(I x) { return _mm512_cvtepi32_ps(x); }

  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F x) { _mm512_storeu_ps(p, x); }
  static F load_part(const float* p, uint32_t n) { return _mm512_maskz_loadu_ps(first(static_cast<int32_t>(n)), p); }  // 0 from lane n on
  static void store_part(float* p, F x, uint32_t n) { _mm512_mask_storeu_ps(p, first(static_cast<int32_t>(n)), x); }
  static F load_f16(const uint16_t* p) { return _mm512_cvtph_ps(half(p)); }
  static F load_bf16(const uint16_t* p) { return from_bits(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half(p)), 16)); }
  // Nearest even; finite numbers saturate, infinities and NaN stay. min and max give their second operand for NaN.
  static void store_f16(uint16_t* p, F x) {
    const F limit = set(65504.0f);
    const F clamped = _mm512_min_ps(limit, _mm512_max_ps(set(-65504.0f), x));
    const M infinite = eq(from_bits(iand(bits(x), iset(0x7FFFFFFFu))), set(__builtin_inff()));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(select(infinite, x, clamped), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static I load_i8(const int8_t* p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static void store_i8(int8_t* p, I x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x)); }  // the low bytes

  // The fixed tree: lane i with i + 8, then + 4, + 2, + 1.
  static float sum(F x) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
  static float largest(F x) {
    const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
  static int32_t isum(I x) { return _mm512_reduce_add_epi32(x); }
  static int32_t ilargest(I x) { return _mm512_reduce_max_epi32(x); }

 private:
  static __m256i half(const uint16_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
};

// The lane type of sin and cos: eight doubles, with loads from float.
struct F64 {
  static constexpr uint32_t kLanes = 8;
  using F = __m512d;
  using I = __m512i;
  using M = __mmask8;
  static F set(double x) { return _mm512_set1_pd(x); }
  static F sub(F x, F y) { return _mm512_sub_pd(x, y); }
  static F mul(F x, F y) { return _mm512_mul_pd(x, y); }
  static F fma(F x, F y, F z) { return _mm512_fmadd_pd(x, y, z); }
  static M lt(F x, F y) { return _mm512_cmp_pd_mask(x, y, _CMP_LT_OQ); }
  static F select(M m, F yes, F no) { return _mm512_mask_blend_pd(m, no, yes); }
  static I bits(F x) { return _mm512_castpd_si512(x); }
  static F from_bits(I x) { return _mm512_castsi512_pd(x); }
  static I iset(uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
  static I iadd(I x, I y) { return _mm512_add_epi64(x, y); }
  static I iand(I x, I y) { return _mm512_and_si512(x, y); }
  static I ixor(I x, I y) { return _mm512_xor_si512(x, y); }
  static M ieq(I x, I y) { return _mm512_cmpeq_epi64_mask(x, y); }
  template <int n> static I shl(I x) { return _mm512_slli_epi64(x, n); }
  static F load(const float* p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
  static void store(float* p, F x) { _mm256_storeu_ps(p, _mm512_cvtpd_ps(x)); }
};

}  // namespace
}  // namespace linnet::ops
