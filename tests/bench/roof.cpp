#include "roof.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#include <sys/auxv.h>
#endif

namespace linnet::bench {
namespace {

volatile uint64_t sink;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Processor time of this thread, as the kernels are timed.
double busy() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// The best of a few runs, in seconds: what the machine can do, not what its neighbours left.
template <class Work> double best(int times, Work work) {
  double seconds = 1e9;
  for (int i = 0; i < times; ++i) {
    const double start = busy();
    work();
    seconds = std::min(seconds, busy() - start);
  }
  return seconds;
}

struct Figure {
  double value = 0, taken = -1e9;
  template <class Measure> double get(Measure measure) {
    if (now() - taken > 5) value = measure(), taken = now();
    return value;
  }
};

// Adds `block` up in registers of type V, four cache lines a turn, as far ahead prefetched as the kernels are.
#define LINNET_READ(name, attributes, V)                                                                    \
  attributes void name(const void* block, uint64_t bytes) {                                                 \
    const V* p = static_cast<const V*>(block);                                                              \
    constexpr int n = static_cast<int>(256 / sizeof(V));                                                    \
    V sum[n] = {};                                                                                          \
    for (const V* end = p + bytes / 256 * n; p < end; p += n) {                                             \
      for (int line = 0; line < 256; line += 64) __builtin_prefetch(reinterpret_cast<const char*>(p) + 4096 + line); \
      _Pragma("GCC unroll 16") for (int j = 0; j < n; ++j) sum[j] ^= p[j];                                  \
    }                                                                                                       \
    for (int j = 1; j < n; ++j) sum[0] ^= sum[j];                                                           \
    sink = static_cast<uint64_t>(sum[0][0]);                                                                \
  }
using Register16 = long long __attribute__((vector_size(16), may_alias));
LINNET_READ(read_16, __attribute__((noinline)), Register16)
#if defined(__x86_64__)
using Register32 = long long __attribute__((vector_size(32), may_alias));
using Register64 = long long __attribute__((vector_size(64), may_alias));
LINNET_READ(read_32, __attribute__((noinline, target("avx2"))), Register32)
LINNET_READ(read_64, __attribute__((noinline, target("avx512f"))), Register64)
#endif
#undef LINNET_READ

double measure_read(const void* block, uint64_t bytes) {
  auto read = read_16;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) read = read_64;
  else if (__builtin_cpu_supports("avx2")) read = read_32;
#endif
  const uint64_t passes = std::max<uint64_t>(1, (64u << 20) / bytes);
  const double s = best(5, [&] {
    for (uint64_t pass = 0; pass < passes; ++pass) read(block, bytes);
  });
  return static_cast<double>(bytes * passes) / s / 1e9;
}

constexpr int64_t kTurns = 4000000;
constexpr int kChains = 10;  // times latency 4 on two ports, with room

#if defined(__x86_64__)

// `op` on kChains accumulators of type V, kTurns times; the seconds it takes.
#define LINNET_CHAINS(name, isa, V, zero, op)                             \
  __attribute__((target(isa), noinline)) double name() {                  \
    return best(5, []() __attribute__((target(isa))) {                    \
      V a[kChains];                                                       \
      V b = zero;                                                         \
      for (V& x : a) x = zero;                                            \
      __asm__ volatile("" : "+x"(b));                                     \
      for (int64_t i = 0; i < kTurns; ++i) {                              \
        _Pragma("GCC unroll 10") for (int c = 0; c < kChains; ++c) {      \
          V& x = a[c];                                                    \
          op;                                                             \
        }                                                                 \
      }                                                                   \
      V all = zero;                                                       \
      for (const V& x : a) all = all + x;                                 \
      uint64_t bits;                                                      \
      std::memcpy(&bits, &all, 8);                                        \
      sink = bits;                                                        \
    });                                                                   \
  }
LINNET_CHAINS(fma_512, "avx512f", __m512, _mm512_setzero_ps(), x = _mm512_fmadd_ps(x, b, b))
LINNET_CHAINS(fma_256, "avx2,fma", __m256, _mm256_setzero_ps(), x = _mm256_fmadd_ps(x, b, b))
LINNET_CHAINS(fma_128, "sse2", __m128, _mm_setzero_ps(), x = _mm_add_ps(_mm_mul_ps(x, b), b))
LINNET_CHAINS(dot_512, "avx512f,avx512vnni", __m512i, _mm512_setzero_si512(), x = _mm512_dpbusd_epi32(x, b, b))
LINNET_CHAINS(dot_vnni, "avx2,avxvnni", __m256i, _mm256_setzero_si256(), x = _mm256_dpbusd_avx_epi32(x, b, b))
LINNET_CHAINS(dot_256, "avx2", __m256i, _mm256_setzero_si256(),
              x = _mm256_add_epi32(x, _mm256_madd_epi16(_mm256_maddubs_epi16(b, _mm256_xor_si256(x, b)), b)))
#undef LINNET_CHAINS

double measure_fma() {
  const bool wide = __builtin_cpu_supports("avx512f"), middle = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const double lanes = wide ? 16 : middle ? 8 : 4;
  return 2 * lanes * kChains * kTurns / (wide ? fma_512() : middle ? fma_256() : fma_128()) / 1e9;
}

double measure_dot() {
  if (__builtin_cpu_supports("avx512vnni")) return 128.0 * kChains * kTurns / dot_512() / 1e9;
  if (!__builtin_cpu_supports("avx2")) return 0;
  unsigned a = 0, b, c, d;
  const bool vnni = __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
  return 64.0 * kChains * kTurns / (vnni ? dot_vnni() : dot_256()) / 1e9;
}

#elif defined(__aarch64__)

double measure_fma() {
  const double s = best(5, [] {
    float32x4_t a[kChains], b = vdupq_n_f32(0);
    for (float32x4_t& x : a) x = b;
    __asm__ volatile("" : "+w"(b));
    for (int64_t i = 0; i < kTurns; ++i) {
#pragma GCC unroll 10
      for (int c = 0; c < kChains; ++c) a[c] = vfmaq_f32(a[c], a[c], b);
    }
    float32x4_t all = b;
    for (const float32x4_t& x : a) all = vaddq_f32(all, x);
    sink = static_cast<uint64_t>(vaddvq_f32(all));
  });
  return 8.0 * kChains * kTurns / s / 1e9;
}

double measure_dot() {
  constexpr unsigned long dotprod = 1ul << 20;  // HWCAP_ASIMDDP
  if (!(getauxval(AT_HWCAP) & dotprod)) return 0;
  const double s = best(5, [] {
    int32x4_t a[kChains];
    for (int32x4_t& x : a) x = vdupq_n_s32(0);
    for (int64_t i = 0; i < kTurns; ++i) {
#pragma GCC unroll 10
      for (int c = 0; c < kChains; ++c) __asm__ volatile(".arch_extension dotprod\n\tsdot %0.4s, %0.16b, %0.16b" : "+w"(a[c]));
    }
    sink = static_cast<uint64_t>(vaddvq_s32(a[0]));
  });
  return 32.0 * kChains * kTurns / s / 1e9;
}

#else
double measure_fma() { return 0; }
double measure_dot() { return 0; }
#endif

}  // namespace

double read_gbs(const void* block, uint64_t bytes) {
  static std::map<uint64_t, Figure> figures;
  return figures[bytes].get([=] { return measure_read(block, bytes); });
}

double fma_gflops() {
  static Figure figure;
  return figure.get(measure_fma);
}

double int8_gops() {
  static Figure figure;
  return figure.get(measure_dot);
}

}  // namespace linnet::bench
