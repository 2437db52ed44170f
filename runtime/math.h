// The library's own exp, tanh, erf, log, sin and cos: one fixed order of fma, the same bits on every processor and vector width.
//
// Each function is written once, over a "lane type" L that says how to do one operation: L::F is a float (or 16 of them), L::I its
// bits, L::M the answer of a comparison. FloatLane below is the plain float; ops/kernels/f32x16_*.h are the vectors. sin and cos are
// written over a lane type of doubles, since their argument is reduced in double.
//
// Measured largest errors, in units of the last place (tests/unit/ops/math_test.cpp holds them to this):
//   exp 1.02, tanh 1.34, erf 1.09, log 0.84, sin and cos 0.501 for |x| <= 1e6.
// exp(0) = 1 exactly; exp(x < -87.3) = +0; NaN gives NaN. sin and cos of |x| > 2^50 or infinity are NaN. The coefficients are fitted by
// ops/kernels/fit_coefficients.py.
//
// Everything here has internal linkage: this file is compiled once an instruction set, and the linker must never choose among copies.
// Compile with -ffp-contract=off -fno-fast-math.
#pragma once
#include <cstdint>
#include <utility>

namespace linnet::detail {
namespace {

struct FloatLane {
  using F = float;
  using I = uint32_t;
  using M = bool;
  static F set(float x) { return x; }
  static F add(F a, F b) { return a + b; }
  static F sub(F a, F b) { return a - b; }
  static F mul(F a, F b) { return a * b; }
  static F div(F a, F b) { return a / b; }
  static F fma(F a, F b, F c) { return __builtin_fmaf(a, b, c); }  // a * b + c, rounded once
  static F max(F a, F b) { return a > b ? a : b; }                 // b where either is NaN, as x86 does
  static F sqrt(F x) { return __builtin_sqrtf(x); }
  static M lt(F a, F b) { return a < b; }
  static M eq(F a, F b) { return a == b; }
  static F select(M m, F yes, F no) { return m ? yes : no; }
  static I bits(F x) { return __builtin_bit_cast(I, x); }
  static F from_bits(I x) { return __builtin_bit_cast(F, x); }
  static I iset(uint32_t x) { return x; }
  static I iadd(I a, I b) { return a + b; }
  static I isub(I a, I b) { return a - b; }
  static I iand(I a, I b) { return a & b; }
  static I ior(I a, I b) { return a | b; }
  template <int n> static I shl(I x) { return x << n; }
  template <int n> static I sar(I x) { return static_cast<uint32_t>(static_cast<int32_t>(x) >> n); }  // arithmetic
  static F from_int(I x) { return static_cast<float>(static_cast<int32_t>(x)); }
};

struct DoubleLane {
  using F = double;
  using I = uint64_t;
  using M = bool;
  static F set(double x) { return x; }
  static F sub(F a, F b) { return a - b; }
  static F mul(F a, F b) { return a * b; }
  static F fma(F a, F b, F c) { return __builtin_fma(a, b, c); }
  static M lt(F a, F b) { return a < b; }
  static F select(M m, F yes, F no) { return m ? yes : no; }
  static I bits(F x) { return __builtin_bit_cast(I, x); }
  static F from_bits(I x) { return __builtin_bit_cast(F, x); }
  static I iset(uint64_t x) { return x; }
  static I iadd(I a, I b) { return a + b; }
  static I iand(I a, I b) { return a & b; }
  static I ixor(I a, I b) { return a ^ b; }
  static M ieq(I a, I b) { return a == b; }
  template <int n> static I shl(I x) { return x << n; }
};

constexpr uint32_t kSignBit = 0x80000000u;

template <class L> typename L::F lane_abs(typename L::F x) { return L::from_bits(L::iand(L::bits(x), L::iset(~kSignBit))); }
template <class L> typename L::F lane_copy_sign(typename L::F magnitude, typename L::F sign) {  // magnitude >= +0
  return L::from_bits(L::ior(L::bits(magnitude), L::iand(L::bits(sign), L::iset(kSignBit))));
}

// Horner's rule, highest power first.
template <class L, typename T, int n> typename L::F lane_polynomial(const T (&c)[n], typename L::F x) {
  typename L::F p = L::set(c[0]);
  // Unrolled by hand: gcc keeps a short loop, and then reads the coefficients from memory four times slower.
  [&]<int... i>(std::integer_sequence<int, i...>) { ((p = L::fma(p, x, L::set(c[i + 1]))), ...); }(std::make_integer_sequence<int, n - 1>());
  return p;
}

// e^x = 2^n e^r with n = round(x log2 e), |r| <= ln2 / 2.
template <class L> inline __attribute__((always_inline)) typename L::F lane_exp(typename L::F x) {
  constexpr float c[] = {0x1.6ab780p-10f, 0x1.123d5cp-7f, 0x1.55585ap-5f, 0x1.55548cp-3f, 0x1.fffffcp-2f};
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits, where a shift puts it into the exponent.
  const typename L::F magic = L::set(0x1.8p23f);
  const typename L::F shifted = L::fma(x, L::set(0x1.715476p+0f), magic);
  const typename L::F n = L::sub(shifted, magic);
  typename L::F r = L::fma(n, L::set(-0x1.62e430p-1f), x);  // exact
  r = L::fma(n, L::set(0x1.05c610p-29f), r);
  const typename L::F p = L::add(L::fma(L::mul(r, r), lane_polynomial<L>(c, r), r), L::set(1.0f));
  // p is in [0.7, 1.42] and the result is normal wherever it is kept, so adding n to the exponent multiplies by 2^n exactly.
  typename L::F y = L::from_bits(L::iadd(L::bits(p), L::template shl<23>(L::bits(shifted))));
  y = L::select(L::lt(x, L::set(-87.3f)), L::set(0.0f), y);
  y = L::select(L::lt(L::set(0x1.62e42ep+6f), x), L::set(__builtin_inff()), y);  // the largest x whose result is finite: 88.7228
  return L::select(L::eq(x, x), y, x);
}

// Below 0.625 an odd polynomial, above 1 - 2 / (e^2a + 1).
template <class L> typename L::F lane_tanh(typename L::F x) {
  constexpr float c[] = {0x1.1a2816p-9f, -0x1.0c5ed0p-7f, 0x1.63a550p-6f, -0x1.b9f188p-5f, 0x1.11107ap-3f, -0x1.555554p-2f};
  const typename L::F a = lane_abs<L>(x), u = L::mul(a, a), one = L::set(1.0f);
  const typename L::F small = L::fma(L::mul(a, u), lane_polynomial<L>(c, u), a);
  const typename L::F large = L::sub(one, L::div(L::set(2.0f), L::add(lane_exp<L>(L::add(a, a)), one)));
  return lane_copy_sign<L>(L::select(L::lt(a, L::set(0.625f)), small, large), x);
}

// Below 1 an odd polynomial, above 1 - exp(polynomial), the polynomial being log(erfc(a)); from 4 on erf is 1 in float.
template <class L> typename L::F lane_erf(typename L::F x) {
  constexpr float inner[] = {0x1.4771fep-14f, -0x1.a3515ep-11f, 0x1.53f224p-8f, -0x1.b7f71ap-6f, 0x1.ce2ce6p-4f, -0x1.81273ep-2f, 0x1.06eba8p-3f};
  constexpr float outer[] = {0x1.bf20d4p-23f, -0x1.9e8f06p-16f, 0x1.e27f54p-12f, -0x1.17d848p-8f, 0x1.9f4dbap-6f,
                             -0x1.bcd98cp-4f, -0x1.44213cp-1f,  -0x1.2130b2p+0f, 0x1.a7c28ap-13f};
  const typename L::F a = lane_abs<L>(x), u = L::mul(a, a), four = L::set(4.0f);
  const typename L::F small = L::fma(a, lane_polynomial<L>(inner, u), a);
  const typename L::F clamped = L::select(L::lt(four, a), four, a);  // keeps NaN
  const typename L::F large = L::sub(L::set(1.0f), lane_exp<L>(lane_polynomial<L>(outer, clamped)));
  return lane_copy_sign<L>(L::select(L::lt(a, L::set(1.0f)), small, large), x);
}

// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
template <class L> typename L::F lane_log(typename L::F x) {
  constexpr float c[] = {0x1.b41330p-5f,  -0x1.bf3d62p-4f, 0x1.f00cd4p-4f,  -0x1.010150p-3f, 0x1.23036ep-3f,
                         -0x1.552f18p-3f, 0x1.99a540p-3f,  -0x1.000070p-2f, 0x1.555548p-2f};
  const typename L::M tiny = L::lt(x, L::set(0x1p-126f));
  const typename L::F scaled = L::select(tiny, L::mul(x, L::set(0x1p24f)), x);  // denormals become normal
  const typename L::I exponent = L::template sar<23>(L::isub(L::bits(scaled), L::iset(0x3f3504f3u)));  // bits of sqrt(1/2)
  const typename L::F f = L::sub(L::from_bits(L::isub(L::bits(scaled), L::template shl<23>(exponent))), L::set(1.0f));
  const typename L::F e = L::sub(L::from_int(exponent), L::select(tiny, L::set(24.0f), L::set(0.0f)));
  const typename L::F u = L::mul(f, f);
  typename L::F y = L::mul(L::mul(f, u), lane_polynomial<L>(c, f));
  y = L::fma(e, L::set(-0x1.05c610p-29f), y);  // the low part of ln 2
  y = L::fma(u, L::set(-0.5f), y);
  y = L::add(f, y);
  y = L::fma(e, L::set(0x1.62e430p-1f), y);
  const typename L::F inf = L::set(__builtin_inff()), zero = L::set(0.0f);
  y = L::select(L::eq(x, inf), inf, y);
  y = L::select(L::eq(x, zero), L::sub(zero, inf), y);
  y = L::select(L::lt(x, zero), L::set(__builtin_nanf("")), y);
  return L::select(L::eq(x, x), y, x);
}

// sin (shift 0) or cos (shift 1) over double lanes: x = n pi/2 + r, |r| <= pi/4; n + shift chooses the polynomial and the sign.
template <class D, int shift> typename D::F lane_sine(typename D::F x) {
  constexpr double s[] = {-0x1.a966d6e82adf8p-26, 0x1.71d77cdd4b335p-19, -0x1.a019f95a610aep-13, 0x1.1111110ca262ap-7, -0x1.55555555523f8p-3};
  constexpr double c[] = {0x1.1c0103786d530p-29, -0x1.27e0f23ab9681p-22, 0x1.a019fca0e2c02p-16, -0x1.6c16c16982d08p-10, 0x1.5555555554a25p-5};
  const typename D::F magic = D::set(0x1.8p52), one = D::set(1.0);
  const typename D::F shifted = D::fma(x, D::set(0x1.45f306dc9c883p-1), magic);
  const typename D::F n = D::sub(shifted, magic);
  typename D::F r = D::fma(n, D::set(-0x1.921fb54442d18p+0), x);  // exact: x is a float
  r = D::fma(n, D::set(-0x1.1a62633145c07p-54), r);
  const typename D::F u = D::mul(r, r);
  const typename D::F sine = D::fma(D::mul(r, u), lane_polynomial<D>(s, u), r);
  const typename D::F cosine = D::fma(D::fma(u, lane_polynomial<D>(c, u), D::set(-0.5)), u, one);
  const typename D::I quadrant = D::iadd(D::bits(shifted), D::iset(shift));
  const typename D::M even = D::ieq(D::iand(quadrant, D::iset(1)), D::iset(0));
  typename D::F y = D::select(even, sine, cosine);
  y = D::from_bits(D::ixor(D::bits(y), D::template shl<62>(D::iand(quadrant, D::iset(2)))));
  const typename D::F a = D::from_bits(D::iand(D::bits(x), D::iset(~(uint64_t{1} << 63))));
  return D::select(D::lt(a, D::set(0x1p50)), y, D::set(__builtin_nan("")));
}

// The plain functions, for callers with one number. They hide ::exp and its kin inside linnet::detail, so a double is refused.
inline float exp(float x) { return lane_exp<FloatLane>(x); }
inline float tanh(float x) { return lane_tanh<FloatLane>(x); }
inline float erf(float x) { return lane_erf<FloatLane>(x); }
inline float log(float x) { return lane_log<FloatLane>(x); }
inline float sin(float x) { return static_cast<float>(lane_sine<DoubleLane, 0>(x)); }
inline float cos(float x) { return static_cast<float>(lane_sine<DoubleLane, 1>(x)); }
void exp(double) = delete;
void tanh(double) = delete;
void erf(double) = delete;
void log(double) = delete;
void sin(double) = delete;
void cos(double) = delete;

}  // namespace
}  // namespace linnet::detail
