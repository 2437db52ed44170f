// f16 and bf16 in plain integer arithmetic: exact when widened; narrowed to nearest, ties to even. The bits are those of the F16C instructions,
// except that a finite number beyond 65504 becomes 65504 (a state must not turn large keys into infinities; infinities and NaN stay what they are).
#pragma once
#include <cstdint>

namespace linnet::ops {
namespace {

inline float f16_to_f32(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16, exponent = h >> 10 & 31u, mantissa = h & 0x3ffu;
  uint32_t bits;
  if (exponent == 0) {
    bits = __builtin_bit_cast(uint32_t, static_cast<float>(mantissa) * 0x1p-24f);  // zero or denormal: exact
  } else if (exponent == 31) {
    bits = 0x7f800000u | mantissa << 13 | (mantissa ? 0x400000u : 0u);  // NaN becomes quiet
  } else {
    bits = (exponent + 112) << 23 | mantissa << 13;
  }
  return __builtin_bit_cast(float, sign | bits);
}

inline uint16_t f32_to_f16(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x), sign = bits >> 16 & 0x8000u, a = bits & 0x7fffffffu;
  uint32_t h;
  if (a > 0x7f800000u) {
    h = 0x7e00u | (a >> 13 & 0x3ffu);
  } else if (a == 0x7f800000u) {
    h = 0x7c00u;
  } else if (a > 0x477fe000u) {  // beyond 65504
    h = 0x7bffu;
  } else if (a < 0x38800000u) {  // below 2^-14: adding 0.5, whose unit in the last place is f16's smallest denormal, rounds as wanted
    h = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, a) + 0.5f) - 0x3f000000u;
  } else {
    h = (a - (112u << 23) + 0xfffu + (a >> 13 & 1u)) >> 13;
  }
  return static_cast<uint16_t>(sign | h);
}

inline float bf16_to_f32(uint16_t b) { return __builtin_bit_cast(float, static_cast<uint32_t>(b) << 16); }

}  // namespace
}  // namespace linnet::ops
