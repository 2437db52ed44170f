"""Writes golden_cases.inl: what Hugging Face's processors and warpers keep of random logits, and what our generator draws from it.

    pip install torch==2.15.0 transformers==5.24.0 numpy==2.4.6
    python tests/unit/sampling/generate_sampling.py

The processors run in float64, in Linnet's order: repetition penalty, bias, temperature, top-k, top-p, min-p. The draws are made here from
the definitions alone (Philox4x32-10, the 53-bit uniform, the first token whose cumulative probability is beyond it), so they are an oracle
that shares no code with the library. Cases that lie too close to a limit for float32 and float64 to agree are drawn again.
"""
import os

import numpy as np
import torch
from transformers.generation.logits_process import (MinPLogitsWarper, RepetitionPenaltyLogitsProcessor, SequenceBiasLogitsProcessor,
                                                    TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper)

MARGIN = 2e-6   # in probability
DRAWS = 12
MASK = 0xFFFFFFFF


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & MASK, (p0 >> 32) ^ c[3] ^ k[1], p0 & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def uniform(seed, position, stream=0):
    w = philox([position & MASK, position >> 32, stream, 0], [seed & MASK, seed >> 32])
    return ((w[1] << 32 | w[0]) >> 11) / 2 ** 53


def f32(x):
    return float(np.float32(x))


def distribution(case):
    """(ids best first, probabilities) that are left, or None if a limit is too close to say."""
    scores = torch.tensor([[f32(x) for x in case["logits"]]], dtype=torch.float64)
    history = case["history"][-case["window"]:] if case["window"] else case["history"]
    ids = torch.tensor([history], dtype=torch.long)
    if case["penalty"] != 1 and history:
        scores = RepetitionPenaltyLogitsProcessor(f32(case["penalty"]))(ids, scores)
    if case["biases"]:
        scores = SequenceBiasLogitsProcessor([[[t], f32(b)] for t, b in case["biases"]])(ids, scores)
    if torch.isneginf(scores).all():
        return None
    if case["temperature"] == 0:
        best = torch.argmax(scores[0])
        return [int(best)], [1.0]
    scores = TemperatureLogitsWarper(f32(case["temperature"]))(ids, scores)
    if len(set(scores[0].tolist()) - {-np.inf}) != int((~torch.isneginf(scores)).sum()):
        return None   # a tie: Hugging Face keeps or drops it as its sort pleases
    if case["top_k"]:
        scores = TopKLogitsWarper(case["top_k"])(ids, scores)
    if case["top_p"] < 1:
        p = torch.softmax(scores, -1).sort(descending=True).values[0]
        if ((p.cumsum(-1) - f32(case["top_p"])).abs() < MARGIN).any():
            return None
        scores = TopPLogitsWarper(f32(case["top_p"]))(ids, scores)
    if case["min_p"]:
        p = torch.softmax(scores, -1)[0]
        if 0 < case["min_p"] < 1 and ((p - f32(case["min_p"]) * p.max()).abs() < MARGIN).any():
            return None
        scores = MinPLogitsWarper(f32(case["min_p"]))(ids, scores)
    p = torch.softmax(scores, -1)[0]
    order = [int(i) for i in torch.argsort(scores[0], descending=True) if not torch.isneginf(scores[0, i])]
    return order, [float(p[i]) for i in order]


def draws(case, ids, probabilities):
    out = []
    # Consecutive positions from anywhere in 64 bits, the high word included.
    for position in range(case["first"], case["first"] + DRAWS):
        u = uniform(case["seed"], position)
        sums = np.cumsum(probabilities)
        if (np.abs(sums[:-1] - u) < MARGIN).any():
            return None
        at = int(np.argmax(sums > u)) if u < sums[-1] else len(ids) - 1
        out.append((position, ids[at], float(np.log(probabilities[at])) + 0.0))
    return out


def make(rng, parameters):
    n = int(rng.integers(20, 61))
    logits = [round(float(x), 3) for x in rng.normal(0, parameters.get("spread", 2.5), n)]
    if parameters.get("banned"):
        for i in rng.choice(n, n // 3, replace=False):
            logits[i] = -np.inf
    length = int(rng.integers(5, 30))
    return {
        "logits": logits,
        "history": [int(x) for x in rng.integers(0, n, length)] if parameters.get("penalty", 1) != 1 else [],
        "temperature": parameters.get("temperature", 1), "top_k": parameters.get("top_k", 0), "top_p": parameters.get("top_p", 1),
        "min_p": parameters.get("min_p", 0), "penalty": parameters.get("penalty", 1), "window": parameters.get("window", 0),
        "biases": [(int(t), round(float(rng.normal(0, 3)), 2)) for t in rng.choice(n, 3, replace=False)] if parameters.get("bias") else [],
        "seed": int(rng.integers(0, 2 ** 63)) * 2 + int(rng.integers(0, 2)),
        "first": int(rng.integers(0, 2 ** 40)) if rng.integers(0, 2) else 0,
    }


PARAMETERS = [
    {}, {"temperature": 0.7}, {"temperature": 1.9}, {"temperature": 0.01}, {"temperature": 50}, {"temperature": 0}, {"banned": 1},
    {"top_k": 1}, {"top_k": 5}, {"top_k": 19}, {"top_k": 1000}, {"top_k": 8, "temperature": 0.6}, {"top_k": 10, "banned": 1},
    {"top_p": 0}, {"top_p": 1e-4}, {"top_p": 0.1}, {"top_p": 0.5}, {"top_p": 0.9}, {"top_p": 0.999}, {"top_p": 0.9, "banned": 1},
    {"top_p": 0.8, "temperature": 1.5}, {"top_p": 0.8, "temperature": 0.5},
    {"min_p": 0.01}, {"min_p": 0.1}, {"min_p": 0.5}, {"min_p": 1}, {"min_p": 0.1, "temperature": 2}, {"min_p": 0.05, "banned": 1},
    {"penalty": 1.3}, {"penalty": 2, "window": 4}, {"penalty": 0.8}, {"penalty": 1.3, "temperature": 0}, {"penalty": 1.1, "window": 1000},
    {"bias": 1}, {"bias": 1, "penalty": 1.4}, {"bias": 1, "temperature": 0},
    {"top_k": 12, "top_p": 0.7}, {"top_k": 12, "min_p": 0.2}, {"top_p": 0.9, "min_p": 0.15}, {"top_k": 15, "top_p": 0.95, "min_p": 0.02},
    {"penalty": 1.2, "window": 8, "bias": 1, "temperature": 0.8, "top_k": 10, "top_p": 0.9, "min_p": 0.05},
    {"penalty": 1.5, "bias": 1, "temperature": 1.4, "top_k": 20, "top_p": 0.97, "min_p": 0.01, "spread": 1},
    {"spread": 0.2, "top_p": 0.6}, {"spread": 20, "top_p": 0.9}, {"spread": 60}, {"spread": 60, "temperature": 3, "top_k": 40},
]


def c_float(x):
    if np.isneginf(x):
        return "-kInf"
    text = repr(f32(x)) if abs(x) >= 1e15 else np.format_float_positional(np.float32(x), unique=True, trim="0")
    return text + "f"


def braces(items):
    """An initializer list, in lines of at most 140 columns."""
    lines, line = [], ""
    for item in items:
        if len(line) + len(item) + 2 > 140:
            lines.append(line.rstrip())
            line = ""
        line += item + ", "
    return "{" + "\n   ".join(lines + [line.rstrip(", ")]) + "}"


def main():
    rng = np.random.default_rng(20240601)
    out = ["// Written by generate_sampling.py; do not edit."]
    for parameters in PARAMETERS:
        while True:
            case = make(rng, parameters)
            kept = distribution(case)
            drawn = kept and draws(case, *kept)
            if drawn:
                break
        name = ", ".join(f"{k} {v}" for k, v in parameters.items()) or "nothing"
        options = ", ".join([c_float(case["temperature"]), str(case["top_k"]), c_float(case["top_p"]), c_float(case["min_p"]),
                             c_float(case["penalty"]), str(case["window"]), hex(case["seed"]) + "u"])
        out.append(f'{{"{name}", {options},\n  ' + ",\n  ".join([
            braces([c_float(x) for x in case["logits"]]),
            braces([str(x) for x in case["history"]]),
            braces([f"{{{t}, {c_float(b)}}}" for t, b in case["biases"]]),
            braces([f"{{{i}, {p:.7g}}}" for i, p in zip(*kept)]),
            braces([f"{{{p}, {t}, {lp:.6g}}}" for p, t, lp in drawn]),
        ]) + "},")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden_cases.inl"), "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
