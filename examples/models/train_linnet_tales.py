#!/usr/bin/env python3
"""Train the demonstration model "linnet-tales" on the tales of tales.py.

Nothing is downloaded and nothing is borrowed. The script

  1. tells many thousands of short tales (each one different);
  2. trains a GPT-2 style byte-level BPE tokenizer on them;
  3. trains a small GPT-2 language model on them;
  4. saves config.json, generation_config.json, model.safetensors (float16),
     tokenizer.json and tokenizer_config.json in the Hugging Face layout.

    python train_linnet_tales.py --out linnet-tales               # the shipped model
    python train_linnet_tales.py --out quick --steps 200          # a quick trial

Everything is seeded and runs on one thread, so the same versions on the same kind
of processor give the same model. The shipped model was made with Python 3.11 and

    pip install torch==2.15.0 transformers==5.24.0 tokenizers==0.23.3 \\
                safetensors==0.8.0 numpy==2.4.6
"""

import argparse
import json
import math
import os
import random
import time

from tales import BOYS, GIRLS, tell_tales

EOS = "<|endoftext|>"


def train_tokenizer(tales, vocabulary):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.train_from_iterator(tales, trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=[EOS], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tokenizer


def pack(tales, eos, length, rng):
    """Rows of `length` tokens.  Each row begins at the beginning of a tale (half of them
    with the end-of-text token in front) and goes on with other tales until it is full."""
    rows, row = [], []
    for tale in tales:
        if not row and rng.random() < 0.5:
            row.append(eos)
        row += tale + [eos]
        if len(row) >= length:
            rows.append(row[:length])
            row = []
    return rows


def head_start(model, name_ids):
    """Begin with weights from which a small model soon learns who is who.

    The embeddings are larger than usual, so that each name keeps a direction of its own,
    and all names share one direction more.  One head in every layer but the first looks
    for that direction and copies what it finds.  Positions begin as waves.  Training may
    change all of it; it only need not find it by chance."""
    import torch
    width, size = model.config.n_embd, model.config.n_embd // model.config.n_head
    with torch.no_grad():
        words, places = model.transformer.wte.weight, model.transformer.wpe.weight
        torch.nn.init.normal_(words, std=0.1)
        waves = torch.arange(len(places))[:, None] * torch.exp(-math.log(1000) * torch.linspace(0, 1, width // 2))
        places.copy_(0.1 * torch.cat([waves.sin(), waves.cos()], dim=1))
        shared = torch.randn(width)
        shared = (shared - shared.mean()) / (shared - shared.mean()).norm()
        words -= torch.outer(words @ shared, shared)
        words[name_ids] += 0.1 * math.sqrt(width) * shared
        basis = torch.linalg.qr(torch.cat([shared[:, None], torch.randn(width, width - 1)], dim=1))[0][:, 1:]
        for number, block in enumerate(model.transformer.h[1:]):
            begin = number % (model.config.n_head - 1) * size
            part = basis[:, begin:begin + size]
            block.attn.c_attn.bias[0] = 6.0                                      # query: a name, please
            block.attn.c_attn.weight[:, width] += shared                         # key: here is a name
            block.attn.c_attn.weight[:, 2 * width:2 * width + size] = part       # value: which one
            block.attn.c_proj.weight[:size] = 0.5 * part.T


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="linnet-tales", help="folder for the model (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=4000, help="training steps (default: %(default)s)")
    parser.add_argument("--tales", type=int, default=20000, help="number of tales to tell (default: %(default)s)")
    parser.add_argument("--vocabulary", type=int, default=2048, help="tokens in the vocabulary (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=8, help="rows in a batch (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=0.02, help="learning rate of Muon; AdamW has 0.075 of it (default: %(default)s)")
    parser.add_argument("--name-weight", type=float, default=4.0, help="how much a name counts (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of everything (default: %(default)s)")
    args = parser.parse_args()

    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, GenerationConfig
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    rng = random.Random(args.seed + 1)
    begun = time.time()

    # The text, the tokenizer, and the rows to train on.
    tales = tell_tales(args.tales + 200, args.seed)
    tokenizer = train_tokenizer(tales[:12000], args.vocabulary)
    eos = tokenizer.token_to_id(EOS)
    coded = [e.ids for e in tokenizer.encode_batch(tales)]
    lengths = sorted(map(len, coded))
    print(f"{len(tales)} tales, {sum(lengths)} tokens; tokens in a tale: shortest {lengths[0]}, "
          f"median {lengths[len(lengths) // 2]}, longest {lengths[-1]}; {time.time() - begun:.0f} s", flush=True)
    held_out, coded = coded[:200], coded[200:]

    context = 256
    config = GPT2Config(
        vocab_size=tokenizer.get_vocab_size(), n_positions=context, n_embd=128, n_layer=6, n_head=4,
        activation_function="gelu_pytorch_tanh", resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        bos_token_id=eos, eos_token_id=eos, tie_word_embeddings=True)
    model = GPT2LMHeadModel(config)
    # gelu_pytorch_tanh is the same function as gelu_new, but quicker to train with; the
    # model is saved with GPT-2's own name for it.
    config = GPT2Config(**{**config.to_dict(), "activation_function": "gelu_new"})
    print(f"{sum(p.numel() for p in model.parameters())} parameters", flush=True)

    name_ids = [tokenizer.token_to_id("\u0120" + name) for name in GIRLS + BOYS]
    name_ids = [i for i in name_ids if i is not None]
    is_name = torch.zeros(config.vocab_size)
    is_name[name_ids] = 1.0
    head_start(model, name_ids)

    def losses_of(rows):
        rows = torch.tensor(rows)
        logits = model(input_ids=rows[:, :-1], use_cache=False).logits
        targets = rows[:, 1:].flatten()
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets, reduction="none"), is_name[targets]

    def held_out_loss():
        """The mean loss of all tokens, and the mean loss of names."""
        rows = pack(held_out, eos, context + 1, random.Random(0))
        with torch.no_grad():
            losses, names = zip(*(losses_of(rows[i:i + 16]) for i in range(0, len(rows), 16)))
        losses, names = torch.cat(losses), torch.cat(names)
        return f"held-out loss {losses.mean().item():.4f}, of names {((losses * names).sum() / names.sum()).item():.4f}"

    def save():
        """Rounded to float16; the rounded weights are the model."""
        os.makedirs(args.out, exist_ok=True)
        half = GPT2LMHeadModel(config)
        half.load_state_dict(model.state_dict())
        half = half.to(torch.float16)
        half.generation_config = GenerationConfig(bos_token_id=eos, eos_token_id=eos)
        half.save_pretrained(args.out)
        tokenizer.save(os.path.join(args.out, "tokenizer.json"))
        with open(os.path.join(args.out, "tokenizer_config.json"), "w") as f:
            json.dump(dict(tokenizer_class="GPT2Tokenizer", add_prefix_space=False, bos_token=EOS, eos_token=EOS,
                           unk_token=EOS, model_max_length=context, clean_up_tokenization_spaces=False), f, indent=2)
            f.write("\n")

    # Muon for the matrices of the blocks, AdamW for the embeddings and the vectors.  The
    # rates warm up, stay, and go down over the last 40 % of the steps.  Names are few, but
    # a tale is nothing without them: they count several times, until the rates go down.
    matrices = [p for n, p in model.named_parameters() if ".h." in n and p.dim() == 2]
    others = [p for n, p in model.named_parameters() if not (".h." in n and p.dim() == 2)]
    optimizers = [torch.optim.Muon(matrices, lr=args.rate, momentum=0.95, weight_decay=0.0),
                  torch.optim.AdamW(others, lr=args.rate * 0.075, betas=(0.9, 0.98), weight_decay=0.0)]
    full_rates = [optimizer.param_groups[0]["lr"] for optimizer in optimizers]
    model.train()
    rows, begun = [], time.time()
    recent = None
    for step in range(args.steps):
        if len(rows) < args.batch:
            rng.shuffle(coded)
            rows = pack(coded, eos, context + 1, rng)
        batch, rows = rows[:args.batch], rows[args.batch:]
        down = min(1.0, (args.steps - step) / (0.4 * args.steps))
        for optimizer, full in zip(optimizers, full_rates):
            optimizer.param_groups[0]["lr"] = full * min(1.0, (step + 1) / 100) * max(0.01, down)
        losses, names = losses_of(batch)
        weights = 1.0 + (args.name_weight - 1.0) * down * names
        for optimizer in optimizers:
            optimizer.zero_grad()
        ((losses * weights).sum() / weights.sum()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        mean = losses.mean().item()
        recent = mean if recent is None else 0.98 * recent + 0.02 * mean
        if step % 50 == 49:
            print(f"step {step + 1}  loss {recent:.4f}  {time.time() - begun:.0f} s", flush=True)
        if step % 250 == 249 and step + 1 < args.steps:
            print(held_out_loss(), flush=True)
            save()
    print(f"{held_out_loss()}; {args.steps} steps, {time.time() - begun:.0f} s", flush=True)
    save()


if __name__ == "__main__":
    main()
