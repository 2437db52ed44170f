// Which kernel set this processor runs, decided from CPUID. An instruction set counts only if the operating system saves its registers.
#include <cstring>

#include "ops/kernels/kernels.h"

#if LINNET_X86
#include <cpuid.h>
#endif

namespace linnet::ops {
namespace {

#if LINNET_X86
bool runs_avx2() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
  constexpr unsigned needed = bit_FMA | bit_OSXSAVE | bit_AVX | bit_F16C;
  if ((c & needed) != needed) return false;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 6u) != 6u) return false;  // XMM and YMM state
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
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
    {"avx2", runs_avx2, avx2_kernels},
#endif
#if LINNET_AARCH64
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
