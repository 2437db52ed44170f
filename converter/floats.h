// Conversions between the float formats of weights: exact where the target can hold the value, else to the nearest, ties to even.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace linnet::converter {

inline float bf16_to_f32(uint16_t h) { return std::bit_cast<float>(uint32_t{h} << 16); }

inline float f16_to_f32(uint16_t h) {
  const uint32_t sign = uint32_t{h} << 16 & 0x80000000u, exponent = h >> 10 & 31u, fraction = h & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24f));  // zero and subnormals
}

// Beyond the range: infinity. NaN stays NaN.
inline uint16_t f32_to_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

inline uint16_t f32_to_f16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x), magnitude = bits & 0x7fffffffu;
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu));
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 2^16 and beyond
  if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 leaves the multiple of 2^-24 in the low bits, rounded to even by the addition
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000u));
  }
  return static_cast<uint16_t>(sign | (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13);  // a carry into the exponent is right
}

}  // namespace linnet::converter
