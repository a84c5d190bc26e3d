"""python sample.py [PROMPT] [--tokens N] [--temperature F] [--seed N]: writes text with the model beside this file."""

import argparse

import torch

from model import load
from tokenizer import Tokenizer


@torch.no_grad()
def generate(model, tokens, count, temperature, ends=()):
    """Adds `count` tokens to a list of them, or those before one of `ends`; the model sees the last block_size.
    Temperature 0 takes the likeliest."""
    for _ in range(count):
        logits = model(torch.tensor([tokens[-model.block_size :]]))[0, -1]
        if temperature == 0:
            token = int(logits.argmax())
        else:
            token = int(torch.multinomial((logits / temperature).softmax(-1), 1))
        if token in ends:
            break
        tokens.append(token)
    return tokens


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes text with the model beside this file.")
    parser.add_argument("prompt", nargs="?", default="The ")
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=1337)
    flags = parser.parse_args()
    torch.manual_seed(flags.seed)
    tokenizer = Tokenizer()
    prompt = tokenizer.prefix + tokenizer.encode(flags.prompt)
    tokens = generate(load(), prompt, flags.tokens, flags.temperature, tokenizer.ends)
    print(tokenizer.decode(tokens[len(tokenizer.prefix) :]))
