// Stored element types as the kernels see them: how sixteen, some, or one become float. Widening is exact.
#pragma once
#include <cstring>

#include "ops/kernels/float16.h"
#include "ops/kernels/kernels.h"

namespace linnet::ops {
namespace {

struct FromF32 {
  using T = float;
  static F32x16::F load(const T* p) { return F32x16::load(p); }
  static F32x16::F load_part(const T* p, uint32_t n) { return F32x16::load_part(p, n); }
  static float one(T x) { return x; }
};

struct FromF16 {
  using T = uint16_t;
  static F32x16::F load(const T* p) { return F32x16::load_f16(p); }
  static F32x16::F load_part(const T* p, uint32_t n) {
    T t[16] = {};
    std::memcpy(t, p, n * sizeof(T));
    return load(t);
  }
  static float one(T x) { return f16_to_f32(x); }
};

struct FromBF16 {
  using T = uint16_t;
  static F32x16::F load(const T* p) { return F32x16::load_bf16(p); }
  static F32x16::F load_part(const T* p, uint32_t n) {
    T t[16] = {};
    std::memcpy(t, p, n * sizeof(T));
    return load(t);
  }
  static float one(T x) { return bf16_to_f32(x); }
};

// Codes with a scale for every 32: read by the integer kernels, or widened by whoever knows where the scales are.
struct FromI8 {
  using T = int8_t;
};

// Calls fn with the loader of `dtype`; false if it is no float type.
template <class Fn> bool with_dtype(uint8_t dtype, Fn fn) {
  switch (dtype) {
    case LINNET_F32: fn(FromF32{}); return true;
    case LINNET_F16: fn(FromF16{}); return true;
    case LINNET_BF16: fn(FromBF16{}); return true;
    default: return false;
  }
}

// Calls fn(i, n) for the lanes of an n-vector: whole ones, then what is left. `n` is 16 or the number of lanes left.
template <class Whole, class Part> void each_lane(uint64_t n, Whole whole, Part part) {
  uint64_t i = 0;
  for (; i + 16 <= n; i += 16) whole(i);
  if (i < n) part(i, static_cast<uint32_t>(n - i));
}

// y = fn(x), elementwise.
template <class Fn> void map(const float* x, float* y, uint64_t n, Fn fn) {
  each_lane(
      n, [&](uint64_t i) { F32x16::store(y + i, fn(F32x16::load(x + i))); },
      [&](uint64_t i, uint32_t left) { F32x16::store_part(y + i, fn(F32x16::load_part(x + i, left)), left); });
}
template <class Fn> void map2(const float* a, const float* b, float* y, uint64_t n, Fn fn) {
  each_lane(
      n, [&](uint64_t i) { F32x16::store(y + i, fn(F32x16::load(a + i), F32x16::load(b + i))); },
      [&](uint64_t i, uint32_t left) { F32x16::store_part(y + i, fn(F32x16::load_part(a + i, left), F32x16::load_part(b + i, left)), left); });
}

}  // namespace
}  // namespace linnet::ops
