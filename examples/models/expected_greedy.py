#!/usr/bin/env python3
"""Write what greedy decoding of a few prompts must give: the golden file of the tests.

    python expected_greedy.py [--model linnet-tales] [--tokens 160] [--out FILE]
    python expected_greedy.py --sample 3 --seed 7 [--prompt "The little fox"]

The saved float16 weights are loaded and computed with in float32 by Hugging Face
transformers.  For each prompt the file has the ids of the prompt, the new ids (they
stop before the end-of-text token), the whole text, whether the end-of-text token was
reached, and the smallest margin between the best and the second best logit on the way.
A margin near zero would make the file depend on rounding, so a prompt with a margin of
1e-3 or less is refused.  The empty prompt begins with the end-of-text token, which is
also the beginning-of-text token.

With --sample, nothing is written: that many texts are sampled and printed.

Made with torch 2.15.0, transformers 5.24.0 and tokenizers 0.23.3.
"""

import argparse
import json
import os

import torch
from tokenizers import Tokenizer
from transformers import GPT2LMHeadModel

PROMPTS = ["Once upon a time", "One morning, a linnet named", "The little fox"]
LEAST_MARGIN = 1e-3


def next_logits(model, ids):
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]


def greedy(model, ids, count):
    """New ids, whether the end was reached, and the smallest top-1/top-2 margin."""
    eos = model.config.eos_token_id
    new, margin = [], float("inf")
    while len(new) < count and len(ids) + len(new) < model.config.n_positions:
        best = torch.topk(next_logits(model, ids + new), 2)
        margin = min(margin, (best.values[0] - best.values[1]).item())
        if best.indices[0].item() == eos:
            return new, True, margin
        new.append(best.indices[0].item())
    return new, False, margin


def sample(model, ids, count, temperature, top_k, generator):
    eos, new = model.config.eos_token_id, []
    while len(new) < count and len(ids) + len(new) < model.config.n_positions:
        best = torch.topk(next_logits(model, ids + new) / temperature, top_k)
        choice = torch.multinomial(best.values.softmax(0), 1, generator=generator)
        token = best.indices[choice].item()
        if token == eos:
            break
        new.append(token)
    return new


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default=os.path.join(here, "linnet-tales"), help="folder of the model")
    parser.add_argument("--out", default=None, help="golden file (default: expected-greedy.json in that folder)")
    parser.add_argument("--tokens", type=int, default=160, help="most new tokens (default: %(default)s)")
    parser.add_argument("--prompt", action="append", help="a prompt; may be given more than once")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="print N sampled texts instead")
    parser.add_argument("--temperature", type=float, default=0.8, help="for --sample (default: %(default)s)")
    parser.add_argument("--top-k", type=int, default=40, help="for --sample (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="for --sample (default: %(default)s)")
    args = parser.parse_args()

    torch.set_num_threads(1)
    model = GPT2LMHeadModel.from_pretrained(args.model, dtype=torch.float32).eval()
    tokenizer = Tokenizer.from_file(os.path.join(args.model, "tokenizer.json"))
    eos = model.config.eos_token_id
    prompts = args.prompt or PROMPTS

    if args.sample:
        generator = torch.Generator().manual_seed(args.seed)
        for i in range(args.sample):
            prompt = prompts[i % len(prompts)]
            ids = tokenizer.encode(prompt).ids or [eos]
            new = sample(model, ids, model.config.n_positions, args.temperature, args.top_k, generator)
            print(prompt + tokenizer.decode(new), end="\n\n* * *\n\n")
        return

    results = []
    for prompt in prompts:
        ids = tokenizer.encode(prompt).ids or [eos]
        new, ended, margin = greedy(model, ids, args.tokens)
        if margin <= LEAST_MARGIN:
            raise SystemExit(f"{prompt!r}: margin {margin:.2e} is too small")
        results.append(dict(prompt=prompt, ids=ids, greedy_ids=new, ends_with_eos=ended,
                            min_margin=round(margin, 6), text=prompt + tokenizer.decode(new)))
        print(f"{prompt!r}: {len(new)} tokens, end of text {ended}, smallest margin {margin:.4f}\n"
              f"{results[-1]['text']}\n")
    golden = dict(model=os.path.basename(os.path.abspath(args.model)), arithmetic="float32",
                  max_new_tokens=args.tokens, min_margin=min(r["min_margin"] for r in results), prompts=results)
    text = json.dumps(golden, indent=1, ensure_ascii=False)
    # Ids on one line: they are easier to compare by eye.
    import re
    text = re.sub(r"\[\s+((?:\d+,?\s+)+)\]", lambda m: "[" + ", ".join(m.group(1).replace(",", " ").split()) + "]", text)
    with open(args.out or os.path.join(args.model, "expected-greedy.json"), "w") as f:
        f.write(text + "\n")


if __name__ == "__main__":
    main()
