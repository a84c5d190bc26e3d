"""python check.py: whether PyTorch computes what gradus did when it wrote this folder. Exit code 0 if so, else 1."""

import json
import pathlib
import sys

import torch

from model import HERE, load, read_safetensors
from sample import generate
from tokenizer import Tokenizer

TOLERANCE = 1e-4  # of logits, relative to the largest: two orders of float32 sums differ by some 1e-6


def main():
    expected, tokenizer, model = read_safetensors(HERE / "check.safetensors"), Tokenizer(), load()
    spelt = json.loads((HERE / "check.json").read_text(encoding="utf-8"))
    tokens = expected["tokens"]
    with torch.no_grad():
        logits = model(tokens[None])[0]
    worst = float((logits - expected["logits"]).abs().max() / expected["logits"].abs().max())
    checks = {
        f"logits of {len(tokens)} positions, worst relative error {worst:.1e}": worst <= TOLERANCE,
        "greedy text": generate(model, tokens[:1].tolist(), len(tokens) - 1, 0) == tokens.tolist(),
        "tokens of a text": tokenizer.encode(spelt["text"]) == spelt["tokens"],
        "and back": tokenizer.decode(spelt["tokens"]) == spelt["text"],
    }
    for what, holds in checks.items():
        print("ok   " if holds else "FAIL ", what)
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
