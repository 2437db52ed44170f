#!/usr/bin/env python3
"""Prints the polynomial coefficients of runtime/math.h. Needs mpmath; run by hand, never by the build.

Each polynomial is a minimax fit (Remez exchange) of f(x) with weight w(x), so that w is what turns an error of the polynomial into a
relative error of the function. Coefficients are rounded to the type they are evaluated in one at a time, lowest power first, and
the others fitted again around it, so that a later coefficient makes up for the rounding of an earlier one.
"""
import struct
import mpmath as mp

mp.mp.dps = 60


def to_f32(c):
    return mp.mpf(struct.unpack("f", struct.pack("f", float(c)))[0])


def to_f64(c):
    return mp.mpf(float(c))


def remez(f, w, powers, lo, hi, rounds=12, grid=1500):
    """Coefficients of sum c_i x^powers[i] with the smallest maximum of |w (f - p)| on [lo, hi], and that maximum."""
    n = len(powers)
    mid, half = (lo + hi) / 2, (hi - lo) / 2
    xs = [mid + half * mp.cos(mp.pi * i / grid) for i in range(grid, -1, -1)]
    ws, fs = [w(x) for x in xs], [f(x) for x in xs]
    nodes = [int(grid * i / n) for i in range(n + 1)]
    for _ in range(rounds):
        a, b = mp.matrix(n + 1, n + 1), mp.matrix(n + 1, 1)
        for row, i in enumerate(nodes):
            for col, power in enumerate(powers):
                a[row, col] = ws[i] * xs[i] ** power
            a[row, n] = mp.mpf(-1) ** row
            b[row] = ws[i] * fs[i]
        c = list(mp.lu_solve(a, b))[:n]
        error = [ws[i] * (fs[i] - sum(ci * xs[i] ** p for ci, p in zip(c, powers))) for i in range(grid + 1)]
        # New nodes: the extremum of every run of one sign.
        found = []
        for i, e in enumerate(error):
            if found and (e >= 0) == (error[found[-1]] >= 0):
                if abs(e) > abs(error[found[-1]]):
                    found[-1] = i
            else:
                found.append(i)
        while len(found) > n + 1:
            found.pop(0 if abs(error[found[0]]) < abs(error[found[-1]]) else -1)
        if len(found) < n + 1 or found == nodes:
            break
        nodes = found
    return c, max(abs(e) for e in error)


def fit(name, f, w, count, lo, hi, rounding=to_f32):
    """Prints `count` coefficients, highest power first (the order Horner's rule takes them in)."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    done = []
    for k in range(count):
        rest = lambda x: f(x) - sum(c * x**i for i, c in enumerate(done))
        c, worst = remez(rest, w, list(range(k, count)), lo, hi)
        done.append(rounding(c[0]))
    xs = [lo + (hi - lo) * i / 4000 for i in range(4001)]
    worst = max(abs(w(x) * (f(x) - sum(c * x**i for i, c in enumerate(done)))) for x in xs)
    suffix = "f" if rounding is to_f32 else ""
    print(f"{name}: relative error {mp.nstr(worst, 3)}")
    print("   ", ", ".join(float(c).hex() + suffix for c in reversed(done)))


def near_zero(f, limit):
    """f, with its limit at 0 where the formula divides by zero."""
    return lambda x: f(x) if abs(x) > mp.mpf(10) ** -12 else mp.mpf(limit)


r = mp.log(2) / 2 * mp.mpf("1.001")
fit("exp: (e^r - 1 - r) / r^2", near_zero(lambda x: (mp.exp(x) - 1 - x) / x**2, 0.5), lambda x: x**2 / mp.exp(x), 5, -r, r)

tanh_ratio = lambda u: mp.tanh(mp.sqrt(u)) / mp.sqrt(u)
fit("tanh: (tanh(x)/x - 1) / u, u = x^2", near_zero(lambda u: (tanh_ratio(u) - 1) / u, mp.mpf(-1) / 3),
    lambda u: u / (tanh_ratio(u) if u else 1), 6, 0, mp.mpf("0.625") ** 2)

erf_ratio = near_zero(lambda u: mp.erf(mp.sqrt(u)) / mp.sqrt(u), 2 / mp.sqrt(mp.pi))
fit("erf, small: erf(x)/x - 1", lambda u: erf_ratio(u) - 1, lambda u: 1 / erf_ratio(u), 7, 0, 1)
fit("erf, large: log(erfc(a))", lambda a: mp.log(mp.erfc(a)), lambda a: mp.erfc(a) / mp.erf(a), 9, 1, 4)

fit("log: (log1p(f) - f + f^2/2) / f^3", near_zero(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, mp.mpf(1) / 3),
    lambda f: f**3 / mp.log1p(f) if abs(f) > mp.mpf(10) ** -12 else mp.mpf(0), 9, mp.sqrt(mp.mpf("0.5")) - 1, mp.sqrt(2) - 1)

q = (mp.pi / 4 * mp.mpf("1.0001")) ** 2
sin_ratio = lambda u: mp.sin(mp.sqrt(u)) / mp.sqrt(u)
fit("sin: (sin(r)/r - 1) / u, u = r^2", near_zero(lambda u: (sin_ratio(u) - 1) / u, mp.mpf(-1) / 6), lambda u: u, 5, 0, q, to_f64)
fit("cos: (cos(r) - 1 + u/2) / u^2", near_zero(lambda u: (mp.cos(mp.sqrt(u)) - 1 + u / 2) / u**2, mp.mpf(1) / 24), lambda u: u**2, 5, 0, q, to_f64)

for name, value, rounding in (("ln 2", mp.log(2), to_f32), ("pi/2", mp.pi / 2, to_f64)):
    high = rounding(value)
    print(f"{name}: {float(high).hex()} + {float(rounding(value - high)).hex()}")
print("log2(e):", float(to_f32(1 / mp.log(2))).hex(), " 2/pi:", float(2 / mp.pi).hex())
