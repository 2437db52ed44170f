#!/usr/bin/env python3
"""Hold a converted model against Hugging Face transformers, row by row of logits.

    compare_hf.py CHECKPOINT MODEL.linnet [--text FILE] [--tokens N] [--json]

    compare_hf.py gpt2 gpt2-f32.linnet                       # is it the same model?
    compare_hf.py gpt2 gpt2-i4.linnet --text novel.txt       # what did four bits cost, on your own text?

CHECKPOINT is the folder that was converted, MODEL.linnet what linnet-convert made of it. Both read the same token ids in
windows of up to 512 tokens; transformers computes in float32. Printed are

    largest difference   of two logits, and relative to the largest |logit| of transformers
    same top token       the share of positions where both find the same token most likely
    mean KL divergence   of Linnet's distribution from transformers', in nats a token
    perplexity           of the text under each

Needs torch and transformers (pip install torch transformers), and linnet-score and linnet-tokenize, looked for in
build/bin beside this script and on the PATH, or where --bin says. A checkpoint without a tokenizer is compared on ids:
--ids FILE, a JSON array. Exit status: 0 compared, 1 failed, 2 wrong usage.
"""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

TEXT = """Once upon a time there was a small bird who lived at the edge of a village. Every morning she sang to the baker, who
got up before everybody else, and every morning the baker put a crumb on the window sill. One winter the window stayed shut.
The bird did not know that the baker was ill; she only knew that it was cold, and that nobody listened. So she sang louder."""


def fail(message, status=1):
    print(f"compare_hf.py: {message}", file=sys.stderr)
    sys.exit(status)


def program(name, folder):
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "bin")
    for place in [folder] if folder else [beside]:
        if os.access(os.path.join(place, name), os.X_OK):
            return os.path.join(place, name)
    found = None if folder else shutil.which(name)
    return found or fail(f"{name} is not in {folder or os.path.normpath(beside)}; build it, or say where it is (--bin)")


def output_of(command):
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        fail(done.stderr.decode(errors="replace").strip() or f"{command[0]} failed")
    return done.stdout


def token_ids(arguments):
    if arguments.ids:
        with open(arguments.ids) as f:
            ids = json.load(f)
        if not (isinstance(ids, list) and all(isinstance(i, int) for i in ids)):
            fail(f"{arguments.ids} is not a JSON array of token ids")
        return ids
    path = arguments.text
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as own:
        if not path:
            own.write(TEXT)
            own.flush()
            path = own.name
        return json.loads(output_of([program("linnet-tokenize", arguments.bin), arguments.model, "-f", path, "--add-special"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", help="the checkpoint's folder")
    parser.add_argument("model", help="the .linnet file")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--text", help="a file; default: a paragraph of this script")
    source.add_argument("--ids", help="token ids instead: a JSON array in a file")
    parser.add_argument("--tokens", type=int, default=8192, help="read at most so many (default %(default)s)")
    parser.add_argument("--bin", help="the folder of Linnet's programs")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    arguments = parser.parse_args()
    for path in (os.path.join(arguments.checkpoint, "config.json"), arguments.model, arguments.text, arguments.ids):
        if path and not os.path.isfile(path):
            fail(f"{path}: no such file", 2)
    try:
        import numpy as np
        import torch
        from transformers import AutoModelForCausalLM
        from transformers.utils import logging
    except ImportError as e:
        fail(f"{e}; pip install torch transformers")
    logging.set_verbosity_error()
    logging.disable_progress_bar()

    ids = token_ids(arguments)[: arguments.tokens]
    if len(ids) < 2:
        fail(f"the text has {len(ids)} tokens; two at least are needed")
    try:
        reference = AutoModelForCausalLM.from_pretrained(arguments.checkpoint, dtype=torch.float32, attn_implementation="eager").eval()
    except (OSError, ValueError, KeyError) as e:
        fail(f"transformers cannot load {arguments.checkpoint}: {e}")
    limit = getattr(reference.config, "max_position_embeddings", None) or 512
    window = min(512, limit)
    pieces = [ids[i : i + window] for i in range(0, len(ids), window)]
    if len(pieces) > 1 and len(pieces[-1]) < 2:
        pieces.pop()

    largest = scale = divergence = 0.0
    rows = same = scored = 0
    said = {"transformers": 0.0, "linnet": 0.0}
    with tempfile.TemporaryDirectory() as folder:
        logits = os.path.join(folder, "logits.npy")
        for piece in pieces:
            with torch.no_grad():
                want = reference(input_ids=torch.tensor([piece]), use_cache=False).logits[0].double()
            listed = os.path.join(folder, "ids")
            with open(listed, "w") as f:
                json.dump(piece, f)
            with open(listed) as f:
                done = subprocess.run([program("linnet-score", arguments.bin), arguments.model, "--ids", "-", "--logits", logits],
                                      stdin=f, capture_output=True)
            if done.returncode:
                fail(done.stderr.decode(errors="replace").strip())
            got = torch.from_numpy(np.load(logits)).double()
            if got.shape != want.shape:
                fail(f"{arguments.model} gives logits of shape {list(got.shape)}, transformers {list(want.shape)}: is it made of {arguments.checkpoint}?")
            largest = max(largest, (got - want).abs().max().item())
            scale = max(scale, want.abs().max().item())
            p, q = torch.log_softmax(want, -1), torch.log_softmax(got, -1)
            divergence += (p.exp() * (p - q)).sum().item()
            same += (want.argmax(-1) == got.argmax(-1)).sum().item()
            rows += len(piece)
            following = torch.tensor(piece[1:])[:, None]
            scored += len(piece) - 1
            said["transformers"] += p[:-1].gather(1, following).sum().item()
            said["linnet"] += q[:-1].gather(1, following).sum().item()
    result = {
        "tokens": rows,
        "largest_difference": largest,
        "largest_logit": scale,
        "relative_difference": largest / scale,
        "same_top": same / rows,
        "mean_kl_divergence": divergence / rows,
        "perplexity": {name: math.exp(-sum_ / scored) for name, sum_ in said.items()},
    }
    if arguments.json:
        print(json.dumps(result))
        return
    print(f"tokens               {rows}")
    print(f"largest difference   {largest:.3g}, {result['relative_difference']:.2g} of the largest |logit| {scale:.4g}")
    print(f"same top token       {100 * result['same_top']:.2f} %")
    print(f"mean KL divergence   {result['mean_kl_divergence']:.3g}")
    print(f"perplexity           {result['perplexity']['linnet']:.4f}, transformers {result['perplexity']['transformers']:.4f}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except (OSError, json.JSONDecodeError) as e:
        fail(e)
