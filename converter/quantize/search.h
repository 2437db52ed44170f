// The search for a group's scale and codes, N rows at a time: vector lanes are rows. Written in the compilers' vector extension, so that
// panel.cpp can compile it for several instruction sets, each with the width it has: of wider vectors GCC makes scalars. Everything is
// inlined: no two of those compilations may be mixed.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "converter/graph.h"
#include "ops/packing.h"

#define LINNET_INLINE [[gnu::always_inline]] static inline

namespace linnet::converter::quantize {

// One group of 16 rows: column after column; only the first `columns` are weights.
struct Group {
  alignas(64) float w[packing::kGroup][packing::kPanelRows];
  uint64_t columns;
};
struct Found {
  alignas(64) float scale[packing::kPanelRows];                  // exact in f16
  alignas(64) float code[packing::kGroup][packing::kPanelRows];  // whole numbers
};

// The levels as the search wants them: where each begins, and how far it lies above the one before.
struct Steps {
  float first = 0, begin[15] = {}, step[15] = {}, top = 0;
  explicit Steps(const Levels& levels) : first(levels[0]) {
    for (int i = 0; i < 15; ++i) {
      begin[i] = static_cast<float>(levels[i] + levels[i + 1]) / 2;
      step[i] = static_cast<float>(levels[i + 1] - levels[i]);
    }
    top = static_cast<float>(std::max(-levels[0], int{levels[15]}));
  }
};

template <int N>
struct Vectors;  // one by one: GCC 12 drops a vector_size that depends on N
template <>
struct Vectors<4> {
  using Floats = float __attribute__((vector_size(16)));
  using Ints = int32_t __attribute__((vector_size(16)));
};
template <>
struct Vectors<8> {
  using Floats = float __attribute__((vector_size(32)));
  using Ints = int32_t __attribute__((vector_size(32)));
};
template <>
struct Vectors<16> {
  using Floats = float __attribute__((vector_size(64)));
  using Ints = int32_t __attribute__((vector_size(64)));
};

template <int N>
struct Search {
  using Floats = typename Vectors<N>::Floats;
  using Ints = typename Vectors<N>::Ints;
  struct Rows {
    Floats w[packing::kGroup];
    uint64_t columns;
  };

  LINNET_INLINE Floats all(float x) { return Floats{} + x; }
  LINNET_INLINE Floats choose(Ints mask, Floats yes, Floats no) {
    return reinterpret_cast<Floats>((mask & reinterpret_cast<Ints>(yes)) | (~mask & reinterpret_cast<Ints>(no)));
  }
  LINNET_INLINE Floats only(Ints mask, Floats x) { return reinterpret_cast<Floats>(mask & reinterpret_cast<Ints>(x)); }
  LINNET_INLINE Floats magnitude(Floats x) { return reinterpret_cast<Floats>(reinterpret_cast<Ints>(x) & 0x7fffffff); }
  LINNET_INLINE Floats least(Floats a, Floats b) { return choose(a < b, a, b); }
  LINNET_INLINE Floats most(Floats a, Floats b) { return choose(a > b, a, b); }

  // To the nearest f16, ties to even, kept as f32. Beyond the range it gives 65536.
  LINNET_INLINE Floats to_f16(Floats x) {
    const Ints bits = reinterpret_cast<Ints>(x), sign = bits & INT32_MIN, size = bits & 0x7fffffff;
    const Floats small = (reinterpret_cast<Floats>(size) + 0.5f) - 0.5f;  // below 2^-14: 0.5 leaves the multiple of 2^-24
    const Floats normal = reinterpret_cast<Floats>((size + 0xfff + (size >> 13 & 1)) & ~0x1fff);
    const Floats rounded = least(choose(size < 0x38800000, small, normal), all(65536.0f));
    return reinterpret_cast<Floats>(reinterpret_cast<Ints>(rounded) | sign);
  }

  // 1 / scale, and 0 for 0: then every code is 0's.
  LINNET_INLINE Floats inverse(Floats scale) { return only(scale != 0.0f, 1.0f / choose(scale != 0.0f, scale, all(1.0f))); }

  // To the nearest whole number, ties to even, for |x| < 2^22.
  LINNET_INLINE Floats to_whole(Floats x) { return (x + 0x1.8p23f) - 0x1.8p23f; }

  LINNET_INLINE Floats largest(const Rows& g) {
    Floats a{};
    for (uint64_t k = 0; k < g.columns; ++k) a = most(a, magnitude(g.w[k]));
    return a;
  }

  LINNET_INLINE Floats code_i8(Floats w, Floats inverse_scale) { return to_whole(least(most(w * inverse_scale, all(-127.0f)), all(127.0f))); }

  LINNET_INLINE Floats scale_i8(const Rows& g) {
    constexpr int kTries = 16;
    const Floats base = largest(g) / 127.0f;
    Floats scale{}, error = all(3e38f);
    for (int i = 0; i < kTries; ++i) {
      const Floats s = to_f16(base * (1.0f + 0.004f * static_cast<float>(i))), inv = inverse(s);
      Floats e{};
      for (uint64_t k = 0; k < g.columns; ++k) {
        const Floats d = g.w[k] - s * code_i8(g.w[k], inv);
        e += d * d;
      }
      const Ints better = (e < error) & (s <= 65504.0f);
      scale = choose(better, s, scale);
      error = choose(better, e, error);
    }
    return scale;
  }

  LINNET_INLINE Floats level(const Steps& steps, Floats y) {
    Floats v = all(steps.first);
    for (int i = 0; i < 15; ++i) v += only(y > steps.begin[i], all(steps.step[i]));
    return v;
  }

  // Of the codes that a scale gives: the sums a least-squares scale is made of, and the squared error with the scale itself.
  struct Sums {
    Floats wv{}, vv{}, error{};
  };
  LINNET_INLINE Sums measure(const Rows& g, const Steps& steps, Floats scale) {
    const Floats inv = inverse(scale);
    Sums s;
    for (uint64_t k = 0; k < g.columns; ++k) {
      const Floats v = level(steps, g.w[k] * inv), d = g.w[k] - scale * v;
      s.wv += g.w[k] * v;
      s.vv += v * v;
      s.error += d * d;
    }
    return s;
  }
  LINNET_INLINE Floats fitted(const Sums& s) { return only(s.vv > 0.0f, s.wv / choose(s.vv > 0.0f, s.vv, all(1.0f))); }

  LINNET_INLINE Floats scale_i4(const Rows& g, const Steps& steps) {
    constexpr int kTries = 12, kRounds = 3;
    const Floats base = largest(g) / steps.top;
    Floats scale{}, error = all(3e38f);
    for (int sign = 0; sign < 2; ++sign) {
      // Where the least-squares scale of the codes would leave the least error.
      Floats start{}, gain = all(-1.0f);
      for (int i = 0; i < kTries; ++i) {
        const float factor = 0.76f + 0.05f * static_cast<float>(i);
        const Sums s = measure(g, steps, base * (sign ? -factor : factor));
        const Floats fit = fitted(s), won = fit * s.wv;
        const Ints better = won > gain;
        start = choose(better, fit, start);
        gain = choose(better, won, gain);
      }
      for (int i = 0; i < kRounds; ++i) {
        const Floats s = to_f16(least(most(start, all(-65504.0f)), all(65504.0f)));
        const Sums m = measure(g, steps, s);
        const Ints better = m.error < error;
        scale = choose(better, s, scale);
        error = choose(better, m.error, error);
        start = fitted(m);
      }
    }
    return scale;
  }

  // A group's scale and what its columns become.
  struct Coder {
    const Steps* steps;  // i4
    Floats scale, inv;
    LINNET_INLINE Coder of(const Rows& g, const Steps* steps) {
      const Floats found = steps ? scale_i4(g, *steps) : scale_i8(g), scale = only(found != 0.0f, found);  // no -0
      return {steps, scale, inverse(scale)};
    }
    [[gnu::always_inline]] Floats code(Floats w) const {
      if (!steps) return code_i8(w, inv);
      Floats code{};
      for (int i = 0; i < 15; ++i) code += only(w * inv > steps->begin[i], all(1.0f));
      return only(scale != 0.0f, code);
    }
    [[gnu::always_inline]] Floats value(Floats w) const { return scale * (steps ? level(*steps, w * inv) : code_i8(w, inv)); }
  };

  LINNET_INLINE void take(const Group& group, uint64_t lane, Rows* rows) {
    rows->columns = group.columns;
    for (uint64_t k = 0; k < packing::kGroup; ++k) std::memcpy(&rows->w[k], &group.w[k][lane], sizeof(Floats));
  }
  LINNET_INLINE void put(Floats scale, uint64_t lane, Found* found) { std::memcpy(&found->scale[lane], &scale, sizeof(Floats)); }
  LINNET_INLINE void put(Floats code, uint64_t k, uint64_t lane, Found* found) { std::memcpy(&found->code[k][lane], &code, sizeof(Floats)); }

  LINNET_INLINE void run(const Group& group, const Steps* steps, Found* found) {
    for (uint64_t lane = 0; lane < packing::kPanelRows; lane += N) {
      Rows g;
      take(group, lane, &g);
      const Coder coder = Coder::of(g, steps);
      put(coder.scale, lane, found);
      for (uint64_t k = 0; k < packing::kGroup; ++k) put(k < g.columns ? coder.code(g.w[k]) : Floats{}, k, lane, found);
    }
  }

  // The same where errors are fed on (calibrate.h): `factor` is row `first` of R, errors [k][16] hold w - value of the columns behind the
  // group, and get those of the group. Scales are held against the errors of the products.
  LINNET_INLINE void run_fed(const Group& group, const Steps* steps, const float* factor, uint64_t k, uint64_t first, float* errors, Found* found) {
    for (uint64_t lane = 0; lane < packing::kPanelRows; lane += N) {
      Rows g;
      take(group, lane, &g);
      // What the columns behind the group ask of each of its columns.
      Floats behind[packing::kGroup];
      uint64_t at = 0;
      const auto add_up = [&](auto several) __attribute__((always_inline)) {
        for (; at + several <= g.columns; at += several) {
          Floats sum[several]{};
          for (uint64_t j = first + g.columns; j < k; ++j) {
            Floats e;
            std::memcpy(&e, errors + j * packing::kPanelRows + lane, sizeof e);
            for (uint64_t s = 0; s < several; ++s) sum[s] += factor[(at + s) * k + j] * e;
          }
          for (uint64_t s = 0; s < several; ++s) behind[at + s] = sum[s];
        }
      };
      add_up(std::integral_constant<uint64_t, 8>());
      add_up(std::integral_constant<uint64_t, 1>());
      const auto asked = [&](uint64_t i, const Floats* e) __attribute__((always_inline)) {  // of column i, by all columns behind it
        Floats sum = behind[i];
        for (uint64_t j = i + 1; j < g.columns; ++j) sum += factor[i * k + first + j] * e[j];
        return sum / factor[i * k + first + i];
      };
      // Scales are tried around the one that is best where the columns would go if they could go anywhere.
      Floats e[packing::kGroup];
      Rows target = g;
      for (uint64_t i = g.columns; i-- > 0;) {
        const Floats shift = asked(i, e);
        e[i] = -shift;
        target.w[i] = g.w[i] + shift;
      }
      const Floats middle = Coder::of(target, steps).scale;
      Floats best{}, least = all(3e38f), left[packing::kGroup]{}, code[packing::kGroup]{};
      constexpr int kAround = 8;
      for (int t = -kAround; t <= kAround; ++t) {
        const Floats s = to_f16(middle * (1.0f + 0.0125f * static_cast<float>(t)));
        const Coder coder{steps, s, inverse(s)};
        Floats cost{}, codes[packing::kGroup];
        for (uint64_t i = g.columns; i-- > 0;) {
          const Floats wanted = g.w[i] + asked(i, e), value = coder.value(wanted), missed = (wanted - value) * factor[i * k + first + i];
          codes[i] = coder.code(wanted);
          e[i] = g.w[i] - value;
          cost += missed * missed;
        }
        const Ints better = (cost < least) & (magnitude(s) <= 65504.0f);
        best = choose(better, s, best);
        least = choose(better, cost, least);
        for (uint64_t i = 0; i < g.columns; ++i) left[i] = choose(better, e[i], left[i]), code[i] = choose(better, codes[i], code[i]);
      }
      put(best, lane, found);
      for (uint64_t i = 0; i < packing::kGroup; ++i) {
        put(code[i], i, lane, found);
        if (i < g.columns) std::memcpy(errors + (first + i) * packing::kPanelRows + lane, &left[i], sizeof left[i]);
      }
    }
  }
};

}  // namespace linnet::converter::quantize

#undef LINNET_INLINE
