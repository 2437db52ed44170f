#!/usr/bin/env python3
"""Finds the 16 levels of i4 (kLevels in levels.h) from trained weights.

    python find_levels.py CHECKPOINT.safetensors... [--iterations N] [--sample GROUPS]

Needs numpy and safetensors. Every matrix of the checkpoints is cut into groups of 32 along K, and each weight counts by its
tensor's mean square, so that no tensor is louder than another. Two steps alternate until nothing moves (Lloyd and Max, with the
scale of the group as a second unknown): with the levels fixed, each group gets the scale, of either sign, and the nearest codes of
least squared error; with scales and codes fixed, each level becomes the least-squares one, but for the smallest, which is 0, so that a
pruned weight stays nothing. At the end the largest level is 127, the others are rounded, and single levels are moved by one as long as
that lowers the error.
"""
import argparse

import numpy as np

GROUP = 32
# Scales tried, as parts of the largest magnitude over the largest level.
FACTORS = np.concatenate([np.linspace(0.72, 1.36, 17), -np.linspace(0.72, 1.36, 17)])


def groups_of(path, transposed):
    """The matrices of a checkpoint as groups of 32 along K, each tensor divided by its root mean square."""
    from safetensors.numpy import load_file

    out = []
    for name, w in sorted(load_file(path).items()):
        if w.ndim != 2 or "attn.bias" in name or "wpe" in name:
            continue
        if any(part in name for part in transposed):
            w = w.T
        w = w.astype(np.float64)
        w = w[:, : w.shape[1] // GROUP * GROUP].reshape(-1, GROUP)
        if w.size and w.any():
            out.append(w / np.sqrt(np.mean(w * w)))
    return np.concatenate(out)


def nearest(y, levels):
    return np.searchsorted((levels[1:] + levels[:-1]) / 2, y, side="left")  # ties go to the lower code


def search(w, levels):
    """For each group the best scale and codes, and the squared error."""
    amax = np.abs(w).max(1)
    top = np.abs(levels).max()
    best = np.full(len(w), np.inf)
    scale = np.zeros(len(w))
    amax[amax == 0] = 1
    for f in FACTORS:
        s = f * amax / top
        for _ in range(2):  # the nearest codes, then the scale that suits them
            v = levels[nearest(w / s[:, None], levels)]
            s = (w * v).sum(1) / np.maximum((v * v).sum(1), 1e-30)
            s[s == 0] = 1e-30
        v = levels[nearest(w / s[:, None], levels)]
        e = ((w - s[:, None] * v) ** 2).sum(1)
        better = e < best
        best[better], scale[better] = e[better], s[better]
    return scale, nearest(w / scale[:, None], levels), best


def lloyd(w, levels, iterations):
    last = np.inf
    for i in range(iterations):
        scale, codes, error = search(w, levels)
        total = error.sum() / (w * w).sum()
        s = np.broadcast_to(scale[:, None], w.shape)
        up = np.bincount(codes.ravel(), (s * w).ravel(), 16)
        down = np.bincount(codes.ravel(), (s * s).ravel(), 16)
        levels = np.sort(np.where(down > 0, up / np.maximum(down, 1e-30), levels))
        levels[np.abs(levels).argmin()] = 0
        levels = levels * (127 / np.abs(levels).max())
        print(f"  {i:3} error {total:.6f}", flush=True)
        if last - total < 2e-6:
            break
        last = total
    return levels


def relative_error(w, levels):
    return search(w, levels)[2].sum() / (w * w).sum()


def polish(w, levels):
    """Whole numbers: moves single levels by one while the error falls."""
    levels = np.round(levels)
    best = relative_error(w, levels)
    moved = True
    while moved:
        moved = False
        for i in range(16):
            for d in (-1, 1):
                trial = levels.copy()
                trial[i] += d
                if levels[i] == 0 or abs(trial).max() > 127 or (np.diff(trial) <= 0).any():
                    continue
                e = relative_error(w, trial)
                if e < best - 1e-7:
                    best, levels, moved = e, trial, True
    return levels, best


LINEAR = np.arange(-8.0, 8.0)


def q4_0(w):
    """The plain rule: scale = the weight of largest magnitude / -8 in f16, codes rounded."""
    m = np.take_along_axis(w, np.abs(w).argmax(1)[:, None], 1)
    s = (m / -8).astype(np.float16).astype(np.float64)
    v = np.clip(np.floor(np.divide(w, s, out=np.zeros_like(w), where=s != 0) + 8.5), 0, 15) - 8
    return ((w - s * v) ** 2).sum() / (w * w).sum()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("checkpoints", nargs="+")
    p.add_argument("--iterations", type=int, default=60)
    p.add_argument("--sample", type=int, default=12000, help="groups taken of each checkpoint, evenly")
    p.add_argument("--in-out", default="c_attn,c_proj,c_fc", help="matrices stored [in, out]: these parts of names")
    a = p.parse_args()
    all_groups = [groups_of(c, a.in_out.split(",")) for c in a.checkpoints]
    some = [g[:: max(1, len(g) // a.sample)] for g in all_groups]
    w = np.concatenate(some)
    print(f"{len(w)} groups; plain 4-bit {q4_0(w):.6f}, linear levels and a search {relative_error(w, LINEAR):.6f}")
    starts = {"linear": LINEAR * (127 / 8), "bell": 127 * np.sinh(np.linspace(-1.6, 1.45, 16)) / np.sinh(1.6)}
    found = []
    for name, start in starts.items():
        print(f"from {name} levels:")
        levels, error = polish(w[::4], lloyd(w, start, a.iterations))
        error = relative_error(w, levels)
        found.append((error, levels))
        print(f"  {error:.6f} {[int(x) for x in levels]}", flush=True)
    error, levels = min(found, key=lambda f: f[0])
    print("levels:", ", ".join(str(int(x)) for x in levels))
    for c, g in zip(a.checkpoints, some):
        print(f"  {c}: plain {q4_0(g):.6f}, linear + search {relative_error(g, LINEAR):.6f}, these {relative_error(g, levels):.6f}")


if __name__ == "__main__":
    main()
