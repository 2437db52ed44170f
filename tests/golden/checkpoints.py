"""The list of golden checkpoints: their configs, their weights, and the mistakes each one must show.

generate.py runs them through transformers and writes them; its docstring says how.
"""
import dataclasses
import math
import zlib

import numpy as np
import torch

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16


@dataclasses.dataclass
class Case:
    name: str
    notes: str
    config: dict
    tensors: dict                       # name -> tensor, as stored
    group: str                          # cases of one group share weights and prompts, and must get equal logits
    prompts: tuple = ((11, None), (3, None))   # (length, rows whose logits are stored: None for all)
    eos: tuple = ()
    generation_config: dict | None = None
    shards: int = 1
    wrong: dict = dataclasses.field(default_factory=dict)   # mistake -> fn(config, tensors, ids) that makes it
    ends: tuple = (None, None)          # for each prompt: the end token that greedy decoding must meet, or None


# Weights. Each tensor has its own generator, seeded by the group and the tensor's name.

def normal(group, name, shape, std, mean=0.0):
    rng = np.random.default_rng([zlib.crc32(group.encode()), zlib.crc32(name.encode())])
    return torch.from_numpy((mean + std * rng.standard_normal(shape)).astype(np.float32))


def gpt2_tensors(group, c, embedding=0.45, query=1.2, hidden=1.0, mlp=1.2):
    """Names as GPT2LMHeadModel has them; Conv1D weights are [in, out]."""
    d, inner = c["n_embd"], c["n_inner"] or 4 * c["n_embd"]
    t = {}

    def put(name, shape, std, mean=0.0):
        t[name] = normal(group, name, shape, std, mean)

    put("transformer.wte.weight", (c["vocab_size"], d), embedding)
    put("transformer.wpe.weight", (c["n_positions"], d), embedding)
    for i in range(c["n_layer"]):
        p = f"transformer.h.{i}."
        for norm in ("ln_1", "ln_2"):
            put(p + norm + ".weight", (d,), 0.35, 1.1)
            put(p + norm + ".bias", (d,), 0.3)
        put(p + "attn.c_attn.weight", (d, 3 * d), query / math.sqrt(d))
        put(p + "attn.c_attn.bias", (3 * d,), 0.4)
        put(p + "attn.c_proj.weight", (d, d), 0.9 / math.sqrt(d))
        put(p + "attn.c_proj.bias", (d,), 0.3)
        put(p + "mlp.c_fc.weight", (d, inner), hidden / math.sqrt(d))
        put(p + "mlp.c_fc.bias", (inner,), 0.5)
        put(p + "mlp.c_proj.weight", (inner, d), mlp / math.sqrt(inner))
        put(p + "mlp.c_proj.bias", (d,), 0.3)
    put("transformer.ln_f.weight", (d,), 0.35, 1.1)
    put("transformer.ln_f.bias", (d,), 0.3)
    if not c.get("tie_word_embeddings", True):
        put("lm_head.weight", (c["vocab_size"], d), embedding)
    return t


def llama_tensors(group, c, embedding=0.45, query=1.25, hidden=1.2, mlp=1.2):
    d, inner, heads = c["hidden_size"], c["intermediate_size"], c["num_attention_heads"]
    kv_heads, head_dim = c.get("num_key_value_heads", heads), c.get("head_dim") or d // heads
    qwen2 = c["model_type"] == "qwen2"
    t = {}

    def put(name, shape, std, mean=0.0):
        t[name] = normal(group, name, shape, std, mean)

    def linear(name, rows, columns, gain, bias):
        put(name + ".weight", (rows, columns), gain / math.sqrt(columns))
        if bias:
            put(name + ".bias", (rows,), bias)

    put("model.embed_tokens.weight", (c["vocab_size"], d), embedding)
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        put(p + "input_layernorm.weight", (d,), 0.35, 1.1)
        put(p + "post_attention_layernorm.weight", (d,), 0.35, 1.1)
        bias = 1.5 if qwen2 else 0.6 if c.get("attention_bias") else 0.0
        linear(p + "self_attn.q_proj", heads * head_dim, d, query, bias)
        linear(p + "self_attn.k_proj", kv_heads * head_dim, d, query, bias)
        linear(p + "self_attn.v_proj", kv_heads * head_dim, d, 1.0, bias)
        linear(p + "self_attn.o_proj", d, heads * head_dim, 0.9, 0.0 if qwen2 else bias)
        bias = 0.5 if c.get("mlp_bias") else 0.0
        linear(p + "mlp.gate_proj", inner, d, hidden, bias)
        linear(p + "mlp.up_proj", inner, d, 1.0, bias)
        linear(p + "mlp.down_proj", d, inner, mlp, bias)
    put("model.norm.weight", (d,), 0.35, 1.1)
    if not c.get("tie_word_embeddings", False):
        put("lm_head.weight", (c["vocab_size"], d), embedding)
    return t


# Configs, with the keys a real one has beside those that matter. `drop` removes keys, None values stay as null.

def gpt2_config(**over):
    c = {
        "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 60,
        "embd_pdrop": 0.1, "eos_token_id": 60, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
        "n_ctx": 24, "n_embd": 24, "n_head": 2, "n_inner": 20, "n_layer": 2, "n_positions": 24, "resid_pdrop": 0.1,
        "summary_activation": None, "summary_first_dropout": 0.1, "summary_proj_to_labels": True, "summary_type": "cls_index",
        "summary_use_proj": True, "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
        "torch_dtype": "float32", "transformers_version": "4.46.2", "use_cache": True, "vocab_size": 61,
    }
    return changed(c, over)


def llama_config(**over):
    """As transformers 4 writes it."""
    c = {
        "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 1,
        "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 24, "initializer_range": 0.02, "intermediate_size": 20,
        "max_position_embeddings": 512, "mlp_bias": False, "model_type": "llama", "num_attention_heads": 4,
        "num_hidden_layers": 2, "num_key_value_heads": 2, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": None,
        "rope_theta": 10000.0, "tie_word_embeddings": False, "torch_dtype": "float32", "transformers_version": "4.46.2",
        "use_cache": True, "vocab_size": 61,
    }
    return changed(c, over)


def qwen2_config(**over):
    c = {
        "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2,
        "hidden_act": "silu", "hidden_size": 24, "initializer_range": 0.02, "intermediate_size": 20,
        "max_position_embeddings": 512, "max_window_layers": 2, "model_type": "qwen2", "num_attention_heads": 4,
        "num_hidden_layers": 2, "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
        "sliding_window": 32768, "tie_word_embeddings": False, "torch_dtype": "float32", "transformers_version": "4.46.2",
        "use_cache": True, "use_sliding_window": False, "vocab_size": 61,
    }
    return changed(c, over)


def changed(config, over):
    over = dict(over)
    dropped = over.pop("drop", ())
    return {k: v for k, v in (config | over).items() if k not in dropped}


NEW_SPELLING = {"drop": ("rope_theta", "rope_scaling", "torch_dtype", "pretraining_tp"), "dtype": "float32", "transformers_version": "5.24.0"}
LLAMA3 = {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 64, "rope_type": "llama3"}


# Mistakes, made on purpose to see that a checkpoint would show them.

def config_with(**over):
    return lambda c, t, ids: (changed(c, over), t, ids)


def tensors_with(suffix, fn):
    """Changes every tensor whose name ends in suffix."""
    def apply(c, t, ids):
        assert any(k.endswith(suffix) for k in t), suffix
        return c, {k: fn(v.clone()) if k.endswith(suffix) else v for k, v in t.items()}, ids
    return apply


def dropped(suffix):
    return tensors_with(suffix, torch.zeros_like)


def transposed(suffix):
    return tensors_with(suffix, lambda w: w.t().contiguous())


def kv_heads_interleaved(c, t, ids):
    """Query head h reads kv head h % kv_heads in place of h // (heads / kv_heads)."""
    heads, kv_heads, d = c["num_attention_heads"], c["num_key_value_heads"], c["hidden_size"]
    head_dim = c.get("head_dim") or d // heads
    order = torch.arange(heads).reshape(heads // kv_heads, kv_heads).t().reshape(-1)
    t = dict(t)
    for k, w in t.items():
        if ".q_proj." in k:
            t[k] = w.reshape(heads, head_dim, -1)[order].reshape(w.shape).contiguous()
        elif k.endswith(".o_proj.weight"):
            t[k] = w.reshape(d, heads, head_dim)[:, order].reshape(w.shape).contiguous()
    return c, t, ids


def rope_pairs_adjacent(c, t, ids):
    """Rotates dimensions (2i, 2i + 1) in place of (i, i + head_dim / 2)."""
    head_dim = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    order = torch.arange(head_dim).reshape(head_dim // 2, 2).t().reshape(-1)
    t = dict(t)
    for k, w in t.items():
        if ".q_proj." in k or ".k_proj." in k:
            t[k] = w.reshape(-1, head_dim, *w.shape[1:])[:, order].reshape(w.shape).contiguous()
    return c, t, ids


def head_from_embedding(c, t, ids):
    c = changed(c, {"tie_word_embeddings": True})
    return c, {k: v for k, v in t.items() if k != "lm_head.weight"}, ids


def tokens_changed(first):
    """Other tokens in the first positions: shows whether the last rows look that far back."""
    return lambda c, t, ids: (c, t, [(i + 7) % c["vocab_size"] if n < first else i for n, i in enumerate(ids)])


# The checkpoints.

def cast(tensors, dtype):
    return {k: v.to(dtype) for k, v in tensors.items()}


def gpt2(name, notes, group=None, weights=None, edit=lambda t: t, **kw):
    group = group or name
    config = gpt2_config(**kw.pop("config", {}))
    eos = config["eos_token_id"]
    tensors = edit(gpt2_tensors(group, config, **(weights or {})))
    return Case(name, notes, config, tensors, group, eos=(eos,) if eos is not None else (), **kw)


def llama(name, notes, group=None, weights=None, edit=lambda t: t, base=llama_config, **kw):
    group = group or name
    config = base(**kw.pop("config", {}))
    eos = config.get("eos_token_id")
    kw.setdefault("eos", tuple(eos) if isinstance(eos, list) else (eos,) if eos is not None else ())
    return Case(name, notes, config, edit(llama_tensors(group, config, **(weights or {}))), group, **kw)


def qwen2(name, notes, **kw):
    return llama(name, notes, base=qwen2_config, **kw)


def without_prefix(t):
    return {k.removeprefix("transformer."): v for k, v in t.items()}


def with_buffers(dtype, masked_bias):
    def edit(t):
        t = dict(t)
        for prefix in sorted({k[:k.index(".ln_1")] for k in t if ".ln_1." in k}):
            t[prefix + ".attn.bias"] = torch.tril(torch.ones(24, 24)).reshape(1, 1, 24, 24).to(dtype)
            if masked_bias:
                t[prefix + ".attn.masked_bias"] = torch.tensor(-1e4)
        return t
    return edit


def asymmetric(t):
    """Square matrices that differ as much as can be from their transpose: large above the diagonal, almost nothing below."""
    t = dict(t)
    for k, w in t.items():
        if k.endswith(("attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")):
            assert w.shape[0] == w.shape[1]
            t[k] = torch.triu(w, 1) * 1.5 + torch.tril(w) * 0.02
    return t


def mixed(t):
    kinds = {"q_proj": F32, "k_proj": F16, "v_proj": BF16, "o_proj": F16, "gate_proj": BF16, "up_proj": F16, "down_proj": F32,
             "input_layernorm": F32, "post_attention_layernorm": BF16, "embed_tokens": BF16, "lm_head": F16, "norm": F16}
    return {k: v.to(kinds[k.split(".")[-2]]) for k, v in t.items()}


def cases():
    # GPT-2: activations. The two tanh kinds share weights and results.
    strong = {"hidden": 1.8, "mlp": 4.0}   # the two GELUs differ by 5e-4 at most: let the feed-forward dominate
    for label, group, act, mistakes in (("gelu-new", "gpt2-gelu-tanh", "gelu_new", {"erf GELU in place of tanh": "gelu"}),
                                        ("gelu-pytorch-tanh", "gpt2-gelu-tanh", "gelu_pytorch_tanh", {"erf GELU in place of tanh": "gelu"}),
                                        ("gelu-erf", None, "gelu", {"tanh GELU in place of erf": "gelu_new"}),
                                        ("relu", None, "relu", {"GELU": "gelu", "SiLU": "silu"})):
        yield gpt2(f"gpt2-{label}", f'activation_function "{act}"', group=group, weights=strong, config={"activation_function": act},
                   wrong={k: config_with(activation_function=v) for k, v in mistakes.items()})
    yield gpt2("gpt2-inner-null", "n_inner null: four times n_embd", config={"n_inner": None, "n_layer": 1})
    yield gpt2("gpt2-untied-head", "tie_word_embeddings false, lm_head.weight stored and different from wte",
               config={"tie_word_embeddings": False}, wrong={"head taken from the embedding": head_from_embedding})
    yield gpt2("gpt2-no-prefix", "tensors of the base model at top level (wte.weight, h.0...), no buffers", group="gpt2-prefix", edit=without_prefix)
    yield gpt2("gpt2-no-prefix-buffers", "top-level names as the published gpt2 has them, with attn.bias [1, 1, n, n] as F32; equals gpt2-no-prefix", group="gpt2-prefix",
               edit=lambda t: with_buffers(F32, False)(without_prefix(t)))
    yield gpt2("gpt2-prefix-buffers", "transformer. prefix, attn.bias as U8, attn.masked_bias as F32 of rank 0; equals gpt2-no-prefix", group="gpt2-prefix",
               edit=with_buffers(torch.uint8, True))
    yield gpt2("gpt2-asymmetric-square", "n_inner = n_embd, so attn.c_proj, c_fc and mlp.c_proj are all square, and nearly triangular",
               config={"n_inner": 24}, edit=asymmetric,
               wrong={w + " transposed": transposed(w + ".weight") for w in ("attn.c_proj", "mlp.c_fc", "mlp.c_proj")})
    yield gpt2("gpt2-odd-sizes", "n_embd 27, 3 heads of 9, n_inner 50, vocabulary 71, 21 positions: nothing a multiple of 4",
               config={"n_embd": 27, "n_head": 3, "n_inner": 50, "vocab_size": 71, "n_positions": 21, "n_ctx": 21})
    yield gpt2("gpt2-context-16", "n_positions 16 and a prompt of exactly 16: one new id, then the context is full; the second prompt (5) has just room for 12",
               config={"n_positions": 16, "n_ctx": 16}, prompts=((16, None), (5, None)))
    yield gpt2("gpt2-scale-by-layer", "scale_attn_by_inverse_layer_idx true", config={"scale_attn_by_inverse_layer_idx": True}, weights={"query": 1.5},
               wrong={"flag ignored": config_with(scale_attn_by_inverse_layer_idx=False)})
    yield gpt2("gpt2-no-attn-scale", "scale_attn_weights false", config={"scale_attn_weights": False}, weights={"query": 0.75},
               wrong={"flag ignored": config_with(scale_attn_weights=True)})
    yield gpt2("gpt2-eps-1e-3", "layer_norm_epsilon 1e-3", config={"layer_norm_epsilon": 1e-3}, wrong={"epsilon 1e-5": config_with(layer_norm_epsilon=1e-5)})
    yield gpt2("gpt2-eps-large", "layer_norm_epsilon 0.25", config={"layer_norm_epsilon": 0.25}, wrong={"epsilon 1e-3": config_with(layer_norm_epsilon=1e-3)})
    yield gpt2("gpt2-f16", "all tensors F16", config={"torch_dtype": "float16"}, edit=lambda t: cast(t, F16))
    yield gpt2("gpt2-bf16", "all tensors BF16", config={"torch_dtype": "bfloat16"}, edit=lambda t: cast(t, BF16))

    # Llama: heads.
    pairing = {"RoPE on adjacent pairs": rope_pairs_adjacent}
    grouped = pairing | {"kv heads interleaved": kv_heads_interleaved}
    yield llama("llama-mha-no-kv-key", "num_key_value_heads absent from config.json: one kv head a head", config={"drop": ("num_key_value_heads",), "tie_word_embeddings": True}, wrong=pairing)
    yield llama("llama-gqa-6over2", "6 heads over 2 kv heads", config={"hidden_size": 36, "num_attention_heads": 6, "intermediate_size": 20, "tie_word_embeddings": True}, wrong=grouped)
    yield llama("llama-mqa-8over1", "8 heads over 1 kv head, head_dim 4", config={"hidden_size": 32, "num_attention_heads": 8, "num_key_value_heads": 1, "intermediate_size": 20, "tie_word_embeddings": True}, wrong=pairing)
    heads = {"hidden_size": 40, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 14, "tie_word_embeddings": True}
    yield llama("llama-head-dim-16", "explicit head_dim 16 with hidden 40 and 4 heads", config=heads | {"head_dim": 16}, wrong=grouped)
    yield llama("llama-head-dim-null", '"head_dim": null with hidden 40 and 4 heads: 10', config=heads | {"head_dim": None}, wrong=grouped)
    # Head and biases.
    yield llama("llama-untied-head", "lm_head.weight stored, tie_word_embeddings false", wrong={"head taken from the embedding": head_from_embedding})
    yield llama("llama-tied-head", "tie_word_embeddings true, no lm_head.weight", group="llama-tied", config={"tie_word_embeddings": True})
    yield llama("llama-tied-head-stored", "tie_word_embeddings true, and lm_head.weight stored too, equal to the embedding; equals llama-tied-head", group="llama-tied",
                config={"tie_word_embeddings": True}, edit=lambda t: t | {"lm_head.weight": t["model.embed_tokens.weight"].clone()})
    yield llama("llama-attention-bias", "attention_bias true: q, k, v and o have biases", config={"attention_bias": True, "tie_word_embeddings": True},
                wrong={p + " bias dropped": dropped(p + "_proj.bias") for p in ("q", "k", "v", "o")} | {"kv heads interleaved": kv_heads_interleaved})
    yield llama("llama-mlp-bias", "mlp_bias true: gate, up and down have biases", config={"mlp_bias": True, "tie_word_embeddings": True},
                wrong={p + " bias dropped": dropped(p + "_proj.bias") for p in ("gate", "up", "down")})
    # Norm and activation.
    yield llama("llama-eps-1e-2", "rms_norm_eps 1e-2", config={"rms_norm_eps": 1e-2, "tie_word_embeddings": True}, wrong={"epsilon 1e-5": config_with(rms_norm_eps=1e-5), "epsilon 1e-6": config_with(rms_norm_eps=1e-6)})
    yield llama("llama-minimal-config", "hidden_act, rms_norm_eps (1e-6), rope_theta (10000), head_dim, tie_word_embeddings (false) and biases absent; embeddings so small that 1e-6 matters",
                config={"drop": ("hidden_act", "rms_norm_eps", "rope_theta", "rope_scaling", "attention_bias", "mlp_bias", "tie_word_embeddings", "initializer_range", "attention_dropout",
                                 "pretraining_tp", "torch_dtype", "transformers_version", "use_cache", "max_position_embeddings")},
                edit=lambda t: t | {"model.embed_tokens.weight": t["model.embed_tokens.weight"] * (1 / 256)},
                wrong={"epsilon 1e-5": config_with(rms_norm_eps=1e-5), "theta 500000": config_with(rope_theta=5e5)})
    yield llama("llama-act-gelu", 'hidden_act "gelu": erf', config={"hidden_act": "gelu", "tie_word_embeddings": True}, weights={"hidden": 1.8, "mlp": 3.0},
                wrong={"tanh GELU in place of erf": config_with(hidden_act="gelu_pytorch_tanh"), "SiLU": config_with(hidden_act="silu")})
    yield llama("llama-act-gelu-tanh", 'hidden_act "gelu_pytorch_tanh"', config={"hidden_act": "gelu_pytorch_tanh", "tie_word_embeddings": True}, weights={"hidden": 1.8, "mlp": 3.0},
                wrong={"erf GELU in place of tanh": config_with(hidden_act="gelu"), "SiLU": config_with(hidden_act="silu")})
    # RoPE spellings.
    theta = {"theta 10000": config_with(rope_theta=10000.0, rope_parameters=None)}
    yield llama("llama-rope-theta-old", "top-level rope_theta 500000, torch_dtype", group="llama-theta", config={"rope_theta": 500000.0, "tie_word_embeddings": True}, wrong=theta)
    yield llama("llama-rope-theta-new", "rope_parameters {default, 500000}, no top-level rope_theta, dtype; equals llama-rope-theta-old", group="llama-theta",
                config=NEW_SPELLING | {"tie_word_embeddings": True, "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"}}, wrong=theta)
    far = {"num_attention_heads": 2, "num_key_value_heads": 1, "tie_word_embeddings": True, "eos_token_id": [2, 3]}
    rows = ((210, (0, 1, 63, 64, 200, 209)), (2, None))
    unscaled = {"scaling ignored": config_with(rope_scaling=None, rope_parameters={"rope_type": "default", "rope_theta": 10000.0}),
                "linear scaling instead": config_with(rope_scaling={"rope_type": "linear", "factor": 8.0}, rope_parameters=None)}
    yield llama("llama-rope-llama3", "rope_scaling llama3: factor 8, original 64; rows 0 to 209 of 210; eos list in config.json", group="llama-llama3", prompts=rows, wrong=unscaled,
                config=far | {"rope_scaling": LLAMA3})
    yield llama("llama-rope-llama3-type-key", 'the same with the old key "type"; equals llama-rope-llama3', group="llama-llama3", prompts=rows, wrong=unscaled,
                config=far | {"rope_scaling": {("type" if k == "rope_type" else k): v for k, v in LLAMA3.items()}})
    yield llama("llama-rope-llama3-new", "the same in rope_parameters; equals llama-rope-llama3", group="llama-llama3", prompts=rows, wrong=unscaled,
                config=far | NEW_SPELLING | {"rope_parameters": LLAMA3 | {"rope_theta": 10000.0}})
    yield llama("llama-rope-linear", 'rope_scaling {"type": "linear", "factor": 4}', config={"rope_scaling": {"factor": 4.0, "type": "linear"}, "tie_word_embeddings": True},
                wrong={"scaling ignored": config_with(rope_scaling=None)})
    # Sizes, types, files, lengths, end tokens.
    yield llama("llama-odd-sizes", "hidden 44, 2 heads of 22, intermediate 70, vocabulary 97; one layer", wrong=pairing,
                config={"hidden_size": 44, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 70, "vocab_size": 97, "num_hidden_layers": 1, "tie_word_embeddings": True})
    yield llama("llama-12-layers", "12 layers, so layer 10 comes before layer 2 in the file; hidden 12", wrong=pairing, weights={"query": 1.25, "hidden": 1.0, "mlp": 0.8},
                config={"hidden_size": 12, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 12, "num_hidden_layers": 12, "tie_word_embeddings": True})
    yield llama("llama-f16", "all tensors F16", config={"torch_dtype": "float16"}, edit=lambda t: cast(t, F16))
    yield llama("llama-bf16", "all tensors BF16", config={"torch_dtype": "bfloat16"}, edit=lambda t: cast(t, BF16))
    yield llama("llama-mixed-dtypes", "F32, F16 and BF16 in one file, also within q/k/v and gate/up of one layer", config={"torch_dtype": "bfloat16"}, edit=mixed)
    yield llama("llama-sharded-3", "three shards and an index; q, k, v and gate, up of one layer lie in different shards", shards=3)
    yield llama("llama-long-300", "a prompt of 300: crosses pages of 64 positions and segments of 256",
                config={"num_attention_heads": 2, "num_key_value_heads": 1, "tie_word_embeddings": True},
                prompts=((300, (0, 62, 63, 64, 127, 128, 255, 256, 257, 299)), (65, (63, 64))), weights={"query": 1.0},
                wrong=pairing | {"first 64 tokens not seen by the last row": tokens_changed(64)})
    yield llama("llama-eos-list", "config.json eos 5, generation_config.json eos [5, 7]: the first prompt ends on 7, the second on 5; neither is in greedy_ids", config={"eos_token_id": 5},
                generation_config={"_from_model_config": False, "bos_token_id": 1, "do_sample": True, "eos_token_id": [5, 7], "max_length": 512, "temperature": 0.6, "top_p": 0.9, "transformers_version": "4.46.2"},
                eos=(5, 7), ends=(7, 5))

    # Qwen2.
    biases = {p + " bias dropped": dropped(p + "_proj.bias") for p in ("q", "k", "v")}
    yield qwen2("qwen2-untied", "large q, k, v biases, 4 heads over 2, untied head", wrong=biases | grouped | {"theta 10000": config_with(rope_theta=10000.0)})
    yield qwen2("qwen2-tied", "6 heads over 3, tied head, as the small published ones are", config={"num_attention_heads": 6, "num_key_value_heads": 3, "tie_word_embeddings": True}, wrong=biases | grouped)
    yield qwen2("qwen2-sliding-window-off", "use_sliding_window false with sliding_window 4: no window", config={"sliding_window": 4, "max_window_layers": 1, "tie_word_embeddings": True},
                prompts=((14, None), (1, None)), wrong={"window of 4 applied": config_with(use_sliding_window=True)})
    yield qwen2("qwen2-sliding-window-null", "use_sliding_window false with sliding_window null, layer_types, rope_parameters and dtype, as transformers 5 writes it",
                config={"drop": ("rope_theta", "torch_dtype"), "dtype": "float32", "sliding_window": None, "layer_types": ["full_attention", "full_attention"], "tie_word_embeddings": True,
                        "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"}, "transformers_version": "5.24.0"},
                wrong={"theta 10000": config_with(rope_parameters={"rope_type": "default", "rope_theta": 10000.0})})
    yield qwen2("qwen2-bf16", "all tensors BF16, biases too", config={"torch_dtype": "bfloat16"}, edit=lambda t: cast(t, BF16), wrong=biases)
