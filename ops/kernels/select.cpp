// Which kernel set this processor runs, decided from CPUID, or what Linux says of an AArch64. An instruction set counts only if the operating system saves its registers.
#include <cstring>

#include "ops/kernels/kernels.h"

#if LINNET_X86
#include <cpuid.h>
#endif
#if LINNET_AARCH64 && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace linnet::ops {
namespace {

#if LINNET_X86
struct Cpu {
  bool avx2 = false, avxvnni = false, avx512 = false;
  Cpu() {
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return;
    constexpr unsigned needed = bit_FMA | bit_OSXSAVE | bit_AVX | bit_F16C;
    if ((c & needed) != needed) return;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
    avx2 = (low & 0x06u) == 0x06u && (b & bit_AVX2);  // XMM and YMM state
    constexpr unsigned avx512_b = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL, vnni_c = 1u << 11;
    avx512 = avx2 && (low & 0xE6u) == 0xE6u && (b & avx512_b) == avx512_b && (c & vnni_c);  // and opmask and ZMM state
    avxvnni = avx2 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 4);
  }
};
#endif

#if LINNET_AARCH64
bool runs_dot() {
#if defined(__linux__)
  return getauxval(AT_HWCAP) >> 20 & 1;  // HWCAP_ASIMDDP
#elif defined(__ARM_FEATURE_DOTPROD)
  return true;
#else
  return false;
#endif
}
#endif

// Best first.
struct Candidate {
  const char* name;
  bool (*runs)();
  const Kernels* (*kernels)();
};
constexpr Candidate kCandidates[] = {
#if LINNET_X86
    {"avx512", [] { return Cpu().avx512; }, avx512_kernels},
    {"avxvnni", [] { return Cpu().avxvnni; }, avxvnni_kernels},
    {"avx2", [] { return Cpu().avx2; }, avx2_kernels},
#endif
#if LINNET_AARCH64
    {"neon_dot", runs_dot, neon_dot_kernels},
    {"neon", [] { return true; }, neon_kernels},  // every AArch64 processor has it
#endif
    {"scalar", [] { return true; }, scalar_kernels},
};

}  // namespace

const Kernels* select(const char* isa) {
  for (const Candidate& c : kCandidates) {
    if (!isa || !std::strcmp(isa, c.name)) {
      if (c.runs()) return c.kernels();
    }
  }
  return nullptr;
}

}  // namespace linnet::ops
