#!/usr/bin/env python3
"""Writes the golden checkpoints: small random models in Hugging Face format, and what transformers computes with them.

    python3 -m venv venv
    venv/bin/pip install torch==2.15.0 transformers==5.24.0 safetensors==0.8.0 numpy==2.4.6
    venv/bin/python tests/golden/generate.py                        # everything, into the folder of this script
    venv/bin/python tests/golden/generate.py --only gpt2-relu       # one checkpoint (may be repeated)
    venv/bin/python tests/golden/generate.py --out DIR              # elsewhere
    venv/bin/python tests/golden/generate.py --table                # print the list that README.md holds

The checkpoints are listed in checkpoints.py. Each is a folder OUT/NAME/ with config.json, model.safetensors (or shards
and their index), generation_config.json where it matters, and expected.json.

How the expected values are computed
    transformers loads the folder just written, upcasts the weights to float32 (exact for f16 and bf16), and runs it
    with attn_implementation="eager". It is run twice: as it is, in float32, and in float64. The logits
    stored are the float64 ones, rounded once to float32. transformers casts to float32 in a few places even in a
    float64 model (RMSNorm, the softmax, RoPE); exact() lifts these. One float32 rounding is kept because it is
    part of the definition and not noise: inverse frequencies and angles of RoPE are float32 products.
    The float32 run must agree within 2e-5 of the largest |logit|, and transformers' generate() must give the same ids.

What the script checks before it writes expected.json
    - loading leaves no tensor missing, and none unexpected but the known buffers of GPT-2;
    - logits spread, and attention is neither uniform nor one-hot;
    - every gap between the best and the second best token, wherever a token is chosen, is over MIN_MARGIN;
    - "wrong": each mistake listed with a checkpoint (another GELU, a dropped bias, heads mapped to the wrong kv head ...)
      is made on purpose, and must move the logits by more than ten times the tolerance of 2e-5. expected.json
      lists how far each one moves them ("if_wrong", relative to the largest |logit|).

The same versions on the same kind of processor give the same bytes. On another one "hf_f32_max_abs_diff" may differ, since
BLAS picks its order of summation; with AVX2 in place of AVX-512 nothing else did.
"""
import argparse
import contextlib
import json
import math
import os
import shutil
import sys
import tempfile
import zlib

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import transformers
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM
from transformers.models.llama import modeling_llama
from transformers.models.qwen2 import modeling_qwen2

sys.dont_write_bytecode = True
from checkpoints import cases

VERSIONS = {"torch": "2.15.0", "transformers": "5.24.0", "numpy": "2.4.6"}
TOLERANCE = 2e-5    # of the largest |logit|: what transformers' own float32 run must reach, and Linnet too
MIN_WRONG = 10 * TOLERANCE   # how far a mistake must move the logits
MIN_MARGIN = 0.02   # between the best and the second best token, wherever one is chosen
NEW_TOKENS = 12
DTYPE_NAMES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}


# Running transformers.

@contextlib.contextmanager
def exact():
    """Lifts the casts to float32 that transformers makes inside a float64 model."""
    def rms_norm(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))

    def rotary(self, x, position_ids):
        angles = position_ids[..., None].float() * self.inv_freq.float()
        angles = torch.cat((angles, angles), dim=-1).double()
        return angles.cos() * self.attention_scaling, angles.sin() * self.attention_scaling

    softmax = torch.nn.functional.softmax

    def double_softmax(x, dim=None, _stacklevel=3, dtype=None):
        return softmax(x, dim=dim)

    places = [(modeling_llama.LlamaRMSNorm, "forward", rms_norm), (modeling_qwen2.Qwen2RMSNorm, "forward", rms_norm),
              (modeling_llama.LlamaRotaryEmbedding, "forward", rotary), (modeling_qwen2.Qwen2RotaryEmbedding, "forward", rotary),
              (torch.nn.functional, "softmax", double_softmax)]
    saved = [(owner, name, getattr(owner, name)) for owner, name, _ in places]
    try:
        for owner, name, fn in places:
            setattr(owner, name, fn)
        yield
    finally:
        for owner, name, fn in saved:
            setattr(owner, name, fn)


def load(folder, dtype):
    """Reads a folder as transformers does, weights upcast to float32, then to dtype."""
    model, info = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    unexpected = [k for k in info["unexpected_keys"] if not k.endswith((".attn.bias", ".attn.masked_bias"))]
    assert not info["missing_keys"] and not unexpected and not info["mismatched_keys"], (folder, info)
    return model.to(dtype).eval()


def logits_of(model, ids):
    with torch.no_grad():
        out = model(torch.tensor([ids]), use_cache=False).logits[0]
    assert out.dtype == next(model.parameters()).dtype
    return out.numpy()


def margin(row):
    second, first = np.sort(row)[-2:]
    return float(first - second)


def greedy(model, ids, eos, context):
    """Up to NEW_TOKENS ids (the end token is not one of them), the smallest margin on the way, the end token met or None."""
    ids, new, smallest = list(ids), [], math.inf
    while len(new) < NEW_TOKENS and len(ids) <= context:
        row = logits_of(model, ids)[-1]
        smallest = min(smallest, margin(row))
        best = int(np.argmax(row))
        if best in eos:
            return new, smallest, best
        new.append(best)
        ids.append(best)
    return new, smallest, None


def find_prompt(case, model, number):
    """The first prompt, from a fixed sequence of random ones, with clear margins and the end that is asked for."""
    length, end = case.prompts[number][0], case.ends[number]
    vocabulary, context = case.config["vocab_size"], model.config.max_position_embeddings
    rng = np.random.default_rng([zlib.crc32(case.group.encode()), number])
    for _ in range(3000):
        ids = [int(i) for i in rng.integers(0, vocabulary, length)]
        if set(ids) & set(case.eos):
            continue
        new, smallest, met = greedy(model, ids, case.eos, context)
        if met == end and smallest > MIN_MARGIN and (end is None or len(new) >= 3):
            return ids, new, smallest
    raise SystemExit(f"{case.name}: no prompt found for {case.prompts[number]}")


def attention_spread(model, ids):
    """Mean over heads and rows of the entropy of attention, as a fraction of a uniform one's."""
    with torch.no_grad():
        maps = model(torch.tensor([ids]), output_attentions=True, use_cache=False).attentions
    spreads = []
    for a in maps:
        p = a[0, :, 3:, :].double()
        seen = torch.arange(4, 4 + p.shape[1]).double()
        spreads.append((-(p * torch.log(p.clamp_min(1e-300))).sum(-1) / torch.log(seen)).mean().item())
    return spreads


def logits_if(case, mistake, ids):
    config, tensors, ids = mistake(case.config, case.tensors, ids)
    with tempfile.TemporaryDirectory() as folder:
        write_checkpoint(folder, config, tensors, 1)
        return logits_of(load(folder, torch.float64), ids), ids


# Writing.

def write_json(path, value):
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        f.write(json.dumps(value, indent=2, sort_keys=True) + "\n")


def write_tensors(path, tensors):
    save_file({k: t.contiguous() for k, t in tensors.items()}, path, metadata={"format": "pt"})
    os.chmod(path, 0o644)


def write_checkpoint(folder, config, tensors, shards, generation_config=None):
    write_json(os.path.join(folder, "config.json"), config)
    if generation_config is not None:
        write_json(os.path.join(folder, "generation_config.json"), generation_config)
    if shards == 1:
        write_tensors(os.path.join(folder, "model.safetensors"), tensors)
        return
    where = {k: f"model-{i % shards + 1:05}-of-{shards:05}.safetensors" for i, k in enumerate(tensors)}
    for file in sorted(set(where.values())):
        write_tensors(os.path.join(folder, file), {k: t for k, t in tensors.items() if where[k] == file})
    total = sum(t.numel() * t.element_size() for t in tensors.values())
    write_json(os.path.join(folder, "model.safetensors.index.json"), {"metadata": {"total_size": total}, "weight_map": where})


def number(x):
    return format(float(np.float32(x)), ".9g")


def write_expected(path, case, prompts, hf_diff, if_wrong):
    """JSON with one row of logits a line."""
    kinds = {DTYPE_NAMES[t.dtype] for k, t in case.tensors.items() if not k.endswith((".attn.bias", ".attn.masked_bias"))}
    lines = ["{", f'"family": {json.dumps(case.config["model_type"])},', f'"notes": {json.dumps(case.notes)},',
             f'"weights_dtype": "{kinds.pop() if len(kinds) == 1 else "mixed"}",', f'"eos": {json.dumps(list(case.eos))},',
             f'"reference": "float64",', f'"hf_f32_max_abs_diff": {hf_diff:.2g},', f'"if_wrong": {{{", ".join(f"{json.dumps(k)}: {v:.2g}" for k, v in if_wrong.items())}}},', '"prompts": [']
    for n, p in enumerate(prompts):
        lines += ["{", f'"ids": {json.dumps(p["ids"])},', f'"logit_rows": {json.dumps(p["rows"])},', '"logits": [']
        lines.append(",\n".join("[" + ",".join(number(x) for x in p["logits"][r]) + "]" for r in p["rows"]))
        lines += ["],", f'"greedy_ids": {json.dumps(p["greedy"])},', f'"min_margin": {p["margin"]:.4g}', "}" + ("," if n + 1 < len(prompts) else "")]
    lines += ["]", "}"]
    text = "\n".join(lines) + "\n"
    json.loads(text)
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        f.write(text)


def generate(case, out):
    folder = os.path.join(out, case.name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    write_checkpoint(folder, case.config, case.tensors, case.shards, case.generation_config)

    as_is = load(folder, torch.float32)
    eos = as_is.generation_config.eos_token_id
    assert tuple([eos] if isinstance(eos, int) else eos or ()) == case.eos, (case.name, eos)
    prompts, hf_diff, largest, if_wrong = [], 0.0, 0.0, {}
    with exact():
        reference = load(folder, torch.float64)
        for n, (length, rows) in enumerate(case.prompts):
            ids, new, smallest = find_prompt(case, reference, n)
            logits = logits_of(reference, ids)
            prompts.append({"ids": ids, "rows": list(rows if rows is not None else range(length)), "logits": logits, "greedy": new, "margin": smallest})
            largest = max(largest, float(np.abs(logits).max()))
        first = prompts[0]
        for label, mistake in case.wrong.items():
            logits, ids = logits_if(case, mistake, first["ids"])
            rows = first["rows"] if ids == first["ids"] else first["rows"][-1:]   # other tokens: does the last row notice?
            moved = np.abs(logits - first["logits"])[rows].max() / np.abs(first["logits"]).max()
            assert moved > MIN_WRONG, f"{case.name}: {label} moves the logits by only {moved:.2g}"
            if_wrong[label] = moved
        spread = attention_spread(reference, first["ids"])
    for p in prompts:
        hf_diff = max(hf_diff, float(np.abs(logits_of(as_is, p["ids"]).astype(np.float64) - p["logits"]).max()))
        new = as_is.generate(torch.tensor([p["ids"]]), attention_mask=torch.ones(1, len(p["ids"]), dtype=torch.long), do_sample=False, temperature=None, top_p=None,
                             max_length=None, max_new_tokens=min(NEW_TOKENS, as_is.config.max_position_embeddings + 1 - len(p["ids"])), pad_token_id=0)[0, len(p["ids"]):].tolist()
        assert [i for i in new if i not in case.eos] == p["greedy"], (case.name, new, p["greedy"])
    assert hf_diff <= TOLERANCE * largest, (case.name, hf_diff, largest)
    deviation = float(first["logits"].std())
    assert 1.2 < deviation < 6 and all(0.15 < s < 0.9 for s in spread), (case.name, deviation, spread)
    write_expected(os.path.join(folder, "expected.json"), case, prompts, hf_diff, if_wrong)
    size = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder))
    print(f"{case.name:28} {size / 1024:6.1f} KB  logits std {deviation:.2f} max {largest:5.2f}  attention {' '.join(f'{s:.2f}' for s in spread)}  "
          f"f32 {hf_diff / largest:.1e}  margin {min(p['margin'] for p in prompts):.3f}  least wrong {min(if_wrong.values(), default=math.nan):.1e}", flush=True)
    return size


def compare_groups(all_cases, out):
    """Cases of one group must have the same expected logits and ids."""
    groups = {}
    for case in all_cases:
        path = os.path.join(out, case.name, "expected.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                groups.setdefault(case.group, {})[case.name] = json.load(f)["prompts"]
    for members in groups.values():
        (first, prompts), *others = members.items()
        for name, p in others:
            assert p == prompts, f"{name} and {first} should have equal logits"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)), metavar="DIR", help="where to write (default: the folder of this script)")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this checkpoint; may be repeated")
    parser.add_argument("--table", action="store_true", help="print the names and notes as the list in README.md, and write nothing")
    args = parser.parse_args()
    for package, wanted in VERSIONS.items():
        found = sys.modules[package].__version__.split("+")[0]
        if found != wanted:
            print(f"warning: {package} is {found}, the committed files were made with {wanted}", file=sys.stderr)
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    all_cases = list(cases())
    names = [c.name for c in all_cases]
    assert len(set(names)) == len(names)
    if args.table:
        for c in all_cases:
            print(f"- `{c.name}`: {c.notes}")
        return
    unknown = set(args.only or ()) - set(names)
    if unknown:
        parser.error(f"no checkpoint named {', '.join(sorted(unknown))}; there are: {', '.join(names)}")
    total = sum(generate(c, args.out) for c in all_cases if not args.only or c.name in args.only)
    compare_groups(all_cases, args.out)
    print(f"{total / 1024:.0f} KB in all")


if __name__ == "__main__":
    main()
