// Kernels over one row: norms, elementwise, softmax, rope, widening and narrowing.
//
// A sum over a row is sixteen strided partial sums (element i goes to partial i % 16, ascending), then the fixed tree of F32x16::sum.
#pragma once
#include "ops/kernels/load.inl.h"

namespace linnet::ops {
namespace {

void add(const float* a, const float* b, float* y, uint64_t n) { map2(a, b, y, n, F32x16::add); }
void mul(const float* a, const float* b, float* y, uint64_t n) { map2(a, b, y, n, F32x16::mul); }
void scale(const float* x, float by, float* y, uint64_t n) {
  map(x, y, n, [v = F32x16::set(by)](F32x16::F e) { return F32x16::mul(e, v); });
}

// sum over i of term(x[i], partial); `term` adds one element to its partial sum, and gets +0 partials to start from.
template <class Term> float row_sum(const float* x, uint64_t n, Term term) {
  F32x16::F partial = F32x16::set(0.0f);
  each_lane(
      n, [&](uint64_t i) { partial = term(F32x16::load(x + i), partial); },
      [&](uint64_t i, uint32_t left) {
        partial = F32x16::select(F32x16::first(static_cast<int32_t>(left)), term(F32x16::load_part(x + i, left), partial), partial);
      });
  return F32x16::sum(partial);
}

// y = x * (1 / sqrt(mean(x^2) + epsilon)), then * weight.
void rms_norm(const float* x, const float* weight, float* y, uint64_t n, float epsilon) {
  const float sum = row_sum(x, n, [](F32x16::F v, F32x16::F partial) { return F32x16::fma(v, v, partial); });
  const float inverse = 1.0f / __builtin_sqrtf(sum / static_cast<float>(n) + epsilon);
  scale(x, inverse, y, n);
  if (weight) mul(y, weight, y, n);
}

// y = (x - mean) * (1 / sqrt(variance + epsilon)), then * weight, then + bias. The variance is of x - mean (two passes) and biased.
void layer_norm(const float* x, const float* weight, const float* bias, float* y, uint64_t n, float epsilon) {
  const float mean = row_sum(x, n, [](F32x16::F v, F32x16::F partial) { return F32x16::add(partial, v); }) / static_cast<float>(n);
  const F32x16::F center = F32x16::set(mean);
  const float sum = row_sum(x, n, [&](F32x16::F v, F32x16::F partial) {
    const F32x16::F d = F32x16::sub(v, center);
    return F32x16::fma(d, d, partial);
  });
  const float inverse = 1.0f / __builtin_sqrtf(sum / static_cast<float>(n) + epsilon);
  map(x, y, n, [&](F32x16::F v) { return F32x16::mul(F32x16::sub(v, center), F32x16::set(inverse)); });
  if (weight) mul(y, weight, y, n);
  if (bias) add(y, bias, y, n);
}

// x * scale, then softcap * tanh(that / softcap) if there is a cap.
F32x16::F scaled(F32x16::F x, float scale, float softcap) {
  x = F32x16::mul(x, F32x16::set(scale));
  if (softcap == 0.0f) return x;
  const F32x16::F cap = F32x16::set(softcap);
  return F32x16::mul(cap, detail::lane_tanh<F32x16>(F32x16::div(x, cap)));
}

void softmax(const Softmax& a) {
  for (uint64_t i = 0; i < a.first; ++i) a.y[i] = 0.0f;
  const float* x = a.x + a.first;
  float* y = a.y + a.first;
  const uint64_t n = a.n - a.first;
  map(x, y, n, [&](F32x16::F v) { return scaled(v, a.scale, a.softcap); });
  F32x16::F top = F32x16::set(-__builtin_inff());
  each_lane(
      n, [&](uint64_t i) { top = F32x16::max(top, F32x16::load(y + i)); },
      [&](uint64_t i, uint32_t left) {
        top = F32x16::select(F32x16::first(static_cast<int32_t>(left)), F32x16::max(top, F32x16::load_part(y + i, left)), top);
      });
  const F32x16::F m = F32x16::set(F32x16::largest(top));
  map(y, y, n, [&](F32x16::F v) { return detail::lane_exp<F32x16>(F32x16::sub(v, m)); });
  const F32x16::F l = F32x16::set(row_sum(y, n, [](F32x16::F v, F32x16::F partial) { return F32x16::add(partial, v); }));
  map(y, y, n, [&](F32x16::F v) { return F32x16::div(v, l); });
}

// (a, b) -> (a cos - b sin, b cos + a sin), each as fma(first, second product).
template <class L> void rotate(typename L::F& a, typename L::F& b, typename L::F cosine, typename L::F sine) {
  const typename L::F bs = L::mul(b, sine), as = L::mul(a, sine);
  a = L::fma(a, cosine, L::sub(L::set(-0.0f), bs));
  b = L::fma(b, cosine, as);
}

void rope(const float* x, const float* table, float* y, uint32_t heads, uint32_t head_dim, uint32_t rotary_dim, uint32_t style) {
  const uint32_t half = rotary_dim / 2;
  const float *cosines = table, *sines = table + half;
  for (uint32_t h = 0; h < heads; ++h, x += head_dim, y += head_dim) {
    if (style == kHalves) {
      each_lane(
          half,
          [&](uint64_t i) {
            F32x16::F a = F32x16::load(x + i), b = F32x16::load(x + half + i);
            rotate<F32x16>(a, b, F32x16::load(cosines + i), F32x16::load(sines + i));
            F32x16::store(y + i, a);
            F32x16::store(y + half + i, b);
          },
          [&](uint64_t i, uint32_t left) {
            F32x16::F a = F32x16::load_part(x + i, left), b = F32x16::load_part(x + half + i, left);
            rotate<F32x16>(a, b, F32x16::load_part(cosines + i, left), F32x16::load_part(sines + i, left));
            F32x16::store_part(y + i, a, left);
            F32x16::store_part(y + half + i, b, left);
          });
    } else {
      for (uint32_t i = 0; i < half; ++i) {
        float a = x[2 * i], b = x[2 * i + 1];
        rotate<detail::FloatLane>(a, b, cosines[i], sines[i]);
        y[2 * i] = a;
        y[2 * i + 1] = b;
      }
    }
    if (y != x) for (uint32_t i = rotary_dim; i < head_dim; ++i) y[i] = x[i];
  }
}

void widen(uint8_t dtype, const void* from, uint64_t stride, uint64_t n, float* y) {
  with_dtype(dtype, [&](auto loader) {
    using W = decltype(loader);
    const typename W::T* p = static_cast<const typename W::T*>(from);
    if (stride == 1) {
      each_lane(
          n, [&](uint64_t i) { F32x16::store(y + i, W::load(p + i)); },
          [&](uint64_t i, uint32_t left) { F32x16::store_part(y + i, W::load_part(p + i, left), left); });
    } else {
      for (uint64_t i = 0; i < n; ++i) y[i] = W::one(p[i * stride]);
    }
  });
}

void narrow(const float* x, uint64_t n, uint8_t dtype, void* to, uint64_t stride) {
  if (dtype == LINNET_F32) {
    for (uint64_t i = 0; i < n; ++i) static_cast<float*>(to)[i * stride] = x[i];
    return;
  }
  uint16_t* out = static_cast<uint16_t*>(to);
  uint16_t t[16];
  const auto place = [&](uint64_t i, uint32_t count) {
    for (uint32_t j = 0; j < count; ++j) out[(i + j) * stride] = t[j];
  };
  each_lane(
      n, [&](uint64_t i) { F32x16::store_f16(t, F32x16::load(x + i)); place(i, 16); },
      [&](uint64_t i, uint32_t left) { F32x16::store_f16(t, F32x16::load_part(x + i, left)); place(i, left); });
}

}  // namespace
}  // namespace linnet::ops
