// Integer dot products in plain C++.
#pragma once
#include "ops/kernels/f32x16_scalar.h"

namespace linnet::ops {
namespace {

struct Dot {
  static constexpr int kTileRows = 1, kTilePanels = 1, kStreams = 1;
  using I = F32x16::I;
  struct W { int8_t v[64]; };
  struct Table { int8_t v[16]; };

  static Table table(const int8_t* levels) {
    Table t;
    std::memcpy(t.v, levels, sizeof t.v);
    return t;
  }
  static W ready(const uint8_t* p) {
    W w;
    std::memcpy(w.v, p, sizeof w.v);
    return w;
  }
  static void keep(uint8_t* p, W w) { std::memcpy(p, w.v, sizeof w.v); }
  static W i8(const uint8_t* p) { return ready(p); }
  static void i4(const uint8_t* p, const Table& t, W* low, W* high) {
    for (int i = 0; i < 64; ++i) low->v[i] = t.v[p[i] & 15], high->v[i] = t.v[p[i] >> 4];
  }
  static I start(int32_t) { return zero(); }
  static I zero() { return F32x16::iset(0); }
  static I dot(I sum, const W& w, int32_t four) {
    int8_t q[4];
    std::memcpy(q, &four, sizeof q);
    for (int r = 0; r < 16; ++r) {
      const int8_t* c = w.v + 4 * r;
      sum.v[r] += static_cast<uint32_t>(c[0] * q[0] + c[1] * q[1] + c[2] * q[2] + c[3] * q[3]);
    }
    return sum;
  }
};

}  // namespace
}  // namespace linnet::ops
