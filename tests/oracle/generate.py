#!/usr/bin/env python3
"""Writes golden/*.json: small matrices in i8 and i4, and what linear layers give with them. README.md says what is in a file.

    python generate.py [--out DIR]
"""
import argparse
import json
from fractions import Fraction
from pathlib import Path

import numpy as np

import r16k4
from r16k4 import F32, I4, I8

LINEAR = [15 * i for i in range(-8, 8)]
CURVED = [-127, -101, -78, -61, -46, -33, -21, -9, 2, 13, 24, 36, 49, 64, 83, 105]
TINY = F32(2.0**-24)


def check_fma(rng):
    """fma() against rational numbers."""
    def exact(a, b, c):
        v = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        near = F32(float(v))  # one of the two neighbours, or right
        best = min((near, np.nextafter(near, F32(np.inf)), np.nextafter(near, F32(-np.inf))),
                   key=lambda y: (abs(Fraction(float(y)) - v), int(y.view(np.uint32)) & 1))
        return best
    for _ in range(20000):
        a, b = (F32(rng.integers(-(2**19), 2**19)), F32(rng.normal() * 2.0 ** rng.integers(-30, 2)))
        c = F32(-float(a) * float(b) * (1 + rng.normal() * 2.0 ** rng.integers(-30, 30)))
        if rng.integers(2):  # the hard case: c's last bit far above, and the product near the middle between two numbers
            c = F32(rng.normal() * 2.0 ** rng.integers(0, 20))
            b = F32(np.spacing(c) / 2 / a) if a else b
        got = r16k4.fma(a, b, c)
        assert got == exact(a, b, c), (a, b, c, got)


def hexed(array, kind):
    return np.ascontiguousarray(array, kind).tobytes().hex()


def activations(rng, n):
    """Rows that mean something, and rows that go to the edges."""
    normal = rng.normal(size=(3, n)).astype(F32)
    loud = normal[0] * F32(1e4)
    loud[::7] = 0
    ties = (np.arange(n) % 255 - 127 + 0.5).astype(F32)  # amax 127 where a group holds it: codes at half
    ties[::32] = 127
    edge = normal[1].copy()
    edge[:32] = 0                        # a group of zeros
    edge[32:64] *= F32(2.0**-126)        # below 2^-100
    edge[64:96] = F32(2.0**-100)         # not below
    tiny = normal[2] * F32(2.0**-95)
    return [normal[0], loud, ties, edge, tiny, np.zeros(n, F32), -np.abs(normal[1])]


def case(name, rng, dtype, scales, codes, levels, extra):
    rows, columns = codes.shape
    out = {"dtype": dtype, "rows": rows, "columns": columns}
    if levels is not None:
        out["levels"] = levels
    out.update(extra)
    data = r16k4.pack(dtype, scales, codes)
    back = r16k4.unpack(dtype, data, rows, columns)
    assert (back[0].view(np.uint16) == scales.view(np.uint16)).all() and (back[1] == codes).all()
    out["packed"] = data.hex()
    out["weights"] = hexed(r16k4.dequantize(dtype, scales, codes, levels), "<f4")
    bias = rng.normal(size=rows).astype(F32)
    residual = rng.normal(size=rows).astype(F32)
    out["bias"], out["residual"] = hexed(bias, "<f4"), hexed(residual, "<f4")
    out["rows_of_x"] = []
    special = rng.normal(size=(2, columns)).astype(F32)
    special[0, columns // 2] = np.inf
    special[1, columns - 1] = np.nan
    for x in activations(rng, columns) + list(special):
        with np.errstate(invalid="ignore"):
            run = lambda **k: hexed(r16k4.linear(dtype, scales, codes, levels, x, **k), "<f4")
            q, a = r16k4.quantize_activations(x)
            out["rows_of_x"].append({
                "x": hexed(x, "<f4"), "codes": hexed(q, "i1"), "scales": hexed(a, "<f4"),
                "sums": [int(s) for s in q.reshape(-1, 32).sum(1)],
                "y": run(), "y_bias": run(bias=bias), "y_bias_relu_residual": run(bias=bias, relu=True, residual=residual)})
    return name, out


def weights(rng, rows, columns):
    """Numbers as a trained matrix has them, and rows that go to the edges."""
    w = (rng.standard_t(5, size=(rows, columns)) * 0.03).astype(F32)
    w[1] = 0                                            # scale 0
    w[2] *= F32(2.0**-12)                               # subnormal f16 scales
    w[3] *= F32(2.0**-30)                               # too small for any
    w[4] *= F32(2.0**17)
    w[5] = F32(8e6) * np.sign(w[5])                     # scales near the end of f16
    w[6, ::2] = 0
    w[7] = np.linspace(-1, 1, columns, dtype=F32)
    w[8] = np.abs(w[8])
    w[9, : min(32, columns)] = 0                        # one group of zeros
    w[10] = -F32(0.5)
    w[11] *= 0
    w[11, columns - 1] = F32(-3)                        # one weight alone
    return w


def cases():
    rng = np.random.default_rng(20260)
    check_fma(rng)
    # From floats: what the converter must write, byte for byte.
    for dtype, levels, rows, columns in ((I8, None, 19, 77), (I8, None, 16, 64), (I4, CURVED, 19, 77), (I4, CURVED, 33, 32), (I4, LINEAR, 12, 40)):
        w = weights(rng, rows, columns)
        scales, codes = r16k4.quantize(dtype, w, levels)
        yield case(f"{dtype}-from-floats-{rows}x{columns}{'-linear' if levels is LINEAR else ''}", rng, dtype, scales, codes, levels,
                   {"source": hexed(w, "<f4")})
    # Any codes and scales that the format allows: every code, scales negative, subnormal, 0, the largest.
    for dtype, levels, rows, columns in ((I8, None, 21, 109), (I8, None, 3, 31), (I8, None, 1, 1), (I4, CURVED, 21, 109), (I4, CURVED, 3, 17),
                                         (I4, LINEAR, 17, 96), (I4, CURVED, 1, 1)):
        groups = -(-columns // 32)
        scales = (rng.normal(size=(rows, groups)) * 0.01).astype(np.float16)
        codes = rng.integers(-127, 128, (rows, columns)) if dtype == I8 else rng.integers(0, 16, (rows, columns))
        codes[0] = (np.where(np.arange(columns) % 2, 127, -127) if rows % 2 else np.full(columns, 127)) if dtype == I8 else 0
        if rows > 2:
            codes[1] = -127 if dtype == I8 else 15
            scales[2] = TINY
            scales[1, 0] = 65504
            scales[0, groups - 1] = -0.0
        yield case(f"{dtype}-any-{rows}x{columns}{'-linear' if levels is LINEAR else ''}", rng, dtype, scales, codes, levels, {})


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out", type=Path, default=Path(__file__).parent / "golden")
    a = p.parse_args()
    a.out.mkdir(exist_ok=True)
    total = 0
    for name, c in cases():
        text = json.dumps(c, indent=0) + "\n"
        (a.out / f"{name}.json").write_text(text)
        total += len(text)
        print(f"{name}: {len(text)} bytes")
    print(f"{total} bytes in all")


if __name__ == "__main__":
    main()
