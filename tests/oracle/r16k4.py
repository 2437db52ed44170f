"""Integer weights, plainly: the layout R16K4, how weights and activations are quantized, and what a linear layer computes with them.

Written from the comment in ops/packing.h, schema/FORMAT.md and the numerics contract, in NumPy, and sharing nothing with the C++.
Every float operation is one of float32 in the order written here; fma() is exact.
"""
import numpy as np

F32 = np.float32
GROUP, PANEL = 32, 16
I8, I4 = "i8", "i4"


# ---- the layout -------------------------------------------------------------------------------------------------------------------

def _ceil(a, b):
    return -(-a // b)


def _shape(dtype, columns):
    """Groups, bytes of codes a group, bytes a panel."""
    groups, codes = _ceil(columns, GROUP), 512 if dtype == I8 else 256
    return groups, codes, _ceil(groups, 2) * 64 + groups * codes


def _places(dtype, row, column):
    """Byte of the scale and of the code within a panel, and the code's lowest bit. row counts within the panel."""
    codes = 512 if dtype == I8 else 256
    group, j = divmod(column, GROUP)
    superblock = group // 2 * (64 + 2 * codes)
    scale = superblock + group % 2 * 32 + 2 * row
    at = superblock + 64 + group % 2 * codes
    if dtype == I8:
        return scale, at + j // 4 * 64 + 4 * row + j % 4, 0
    return scale, at + j % 16 // 4 * 64 + 4 * row + j % 4, 4 if j >= 16 else 0


def pack(dtype, scales, codes):
    """scales: float16 [rows, groups]; codes: [rows, columns], of i4 0..15. Returns bytes."""
    rows, columns = codes.shape
    panel_bytes = _shape(dtype, columns)[2]
    out = bytearray(_ceil(rows, PANEL) * panel_bytes)
    for r in range(rows):
        base = r // PANEL * panel_bytes
        for c in range(columns):
            s, at, shift = _places(dtype, r % PANEL, c)
            if c % GROUP == 0:
                out[base + s : base + s + 2] = np.float16(scales[r, c // GROUP]).tobytes()
            out[base + at] |= (int(codes[r, c]) & (0xFF if dtype == I8 else 0xF)) << shift
    return bytes(out)


def unpack(dtype, data, rows, columns):
    """The reverse: scales float16 [rows, groups], codes int [rows, columns]."""
    groups, _, panel_bytes = _shape(dtype, columns)
    assert len(data) == _ceil(rows, PANEL) * panel_bytes
    scales, codes = np.zeros((rows, groups), np.float16), np.zeros((rows, columns), np.int64)
    for r in range(rows):
        base = r // PANEL * panel_bytes
        for c in range(columns):
            s, at, shift = _places(dtype, r % PANEL, c)
            scales[r, c // GROUP] = np.frombuffer(data, "<f2", 1, base + s)[0]
            byte = data[base + at]
            codes[r, c] = (byte ^ 128) - 128 if dtype == I8 else byte >> shift & 15
    return scales, codes


def whole(dtype, codes, levels):
    """What the codes stand for, before the scale: whole numbers."""
    return codes if dtype == I8 else np.asarray(levels, np.int64)[codes]


def dequantize(dtype, scales, codes, levels):
    s = np.repeat(scales.astype(F32), GROUP, axis=1)[:, : codes.shape[1]]
    return s * whole(dtype, codes, levels).astype(F32)  # exact: 11 bits by 7


# ---- quantizing weights (converter/quantize/README.md) -------------------------------------------------------------------------------

def _f16(x):
    """To the nearest f16, never beyond its range."""
    return np.clip(x, F32(-65504), F32(65504)).astype(np.float16).astype(F32)


def _inverse(s):
    return np.where(s != 0, F32(1) / np.where(s != 0, s, F32(1)), F32(0)).astype(F32)


def _ordered_sum(columns):
    total = np.zeros_like(columns[:, 0])
    for k in range(columns.shape[1]):
        total = total + columns[:, k]
    return total


def _codes_i8(w, s):
    return np.rint(np.clip(w * _inverse(s)[:, None], F32(-127), F32(127)))


def _group_i8(w):
    base = np.abs(w).max(1) / F32(127)
    scale, error = np.zeros_like(base), np.full_like(base, F32(3e38))
    for i in range(16):
        s = _f16(base * (F32(1) + F32(0.004) * F32(i)))
        d = w - s[:, None] * _codes_i8(w, s)
        e = _ordered_sum(d * d)
        scale, error = np.where(e < error, s, scale), np.where(e < error, e, error)
    return scale, _codes_i8(w, scale)


def _codes_i4(w, s, levels):
    begin = (levels[1:] + levels[:-1]).astype(F32) / F32(2)
    return (w[:, :, None] * _inverse(s)[:, None, None] > begin).sum(2)


def _group_i4(w, levels):
    levels = np.asarray(levels, np.int64)
    base = np.abs(w).max(1) / F32(max(-levels[0], levels[15]))
    scale, error = np.zeros_like(base), np.full_like(base, F32(3e38))

    def measure(s):
        v = levels[_codes_i4(w, s, levels)].astype(F32)
        d = w - s[:, None] * v
        wv, vv = _ordered_sum(w * v), _ordered_sum(v * v)
        return wv, _ordered_sum(d * d), np.where(vv > 0, wv / np.where(vv > 0, vv, F32(1)), F32(0)).astype(F32)

    for sign in (F32(1), F32(-1)):
        start, gain = np.zeros_like(base), np.full_like(base, F32(-1))
        for i in range(12):
            wv, _, fit = measure(base * (sign * (F32(0.76) + F32(0.05) * F32(i))))
            won = fit * wv
            start, gain = np.where(won > gain, fit, start), np.where(won > gain, won, gain)
        for _ in range(3):
            s = _f16(start)
            _, e, start = measure(s)
            scale, error = np.where(e < error, s, scale), np.where(e < error, e, error)
    return scale, np.where(scale[:, None] != 0, _codes_i4(w, scale, levels), 0)


def quantize(dtype, w, levels=None):
    """float32 [rows, columns] to scales float16 and codes."""
    w = np.asarray(w, F32)
    rows, columns = w.shape
    scales, codes = np.zeros((rows, _ceil(columns, GROUP)), np.float16), np.zeros((rows, columns), np.int64)
    for g in range(scales.shape[1]):
        part = w[:, g * GROUP : (g + 1) * GROUP]
        s, c = _group_i8(part) if dtype == I8 else _group_i4(part, levels)
        scales[:, g], codes[:, g * GROUP : g * GROUP + part.shape[1]] = s + F32(0), c  # + 0: no -0
    return scales, codes


# ---- running ----------------------------------------------------------------------------------------------------------------------

def quantize_activations(x):
    """One row of float32: codes padded to whole groups, and a scale a group."""
    padded = np.zeros(_ceil(len(x), GROUP) * GROUP, F32)
    padded[: len(x)] = x
    codes, scales = np.zeros(padded.shape, np.int64), np.zeros(len(padded) // GROUP, F32)
    for g in range(len(scales)):
        part = padded[g * GROUP : (g + 1) * GROUP]
        bits = int((part.view(np.uint32) & 0x7FFFFFFF).max())
        amax = np.uint32(bits).view(F32)
        if bits >= 0x7F800000:
            scales[g] = np.nan
        elif amax >= F32(2.0**-100):
            scales[g] = amax / F32(127)
            codes[g * GROUP : (g + 1) * GROUP] = np.rint(part * (F32(127) / amax))
    return codes, scales


def fma(a, b, c):
    """float32 a * b + c, rounded once. a * b must be exact in float64, as it is for any two float32."""
    p, c = np.asarray(a, np.float64) * np.asarray(b, np.float64), np.asarray(c, np.float64)
    s = p + c
    t = s - p  # the error of the sum, exactly (Knuth)
    e = (p - (s - t)) + (c - t)
    # Round to odd: a sum that is not exact and has an even last bit moves towards what was lost, so that rounding again to float32 is right.
    inexact = np.isfinite(s) & (e != 0) & (s.view(np.uint64) & 1 == 0)
    s = np.where(inexact, np.nextafter(s, np.where(e > 0, np.inf, -np.inf)), s)
    return s.astype(F32)


def linear(dtype, scales, codes, levels, x, bias=None, relu=False, residual=None):
    """float32 outputs for one row of activations."""
    rows, columns = codes.shape
    q, a = quantize_activations(x)
    w = np.zeros((rows, len(q)), np.int64)
    w[:, :columns] = whole(dtype, codes, levels)
    acc = np.zeros(rows, F32)
    for g in range(len(a)):
        part = slice(g * GROUP, (g + 1) * GROUP)
        dot = w[:, part] @ q[part]
        acc = fma(dot.astype(F32), scales[:, g].astype(F32) * a[g], acc)
    if bias is not None:
        acc = acc + bias
    if relu:
        acc = np.where(acc < 0, F32(0), acc)  # NaN stays
    return acc if residual is None else acc + residual
