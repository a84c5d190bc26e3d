#!/usr/bin/env python3
"""Writes golden/book: a two-layer decoder under the names of the book Build a Large Language Model (From Scratch), with a head of
its own and no biases of queries, keys and values, and what PyTorch computes with it.

    /usr/bin/python3 make_book_golden.py            # writes it
    /usr/bin/python3 make_book_golden.py --check    # compares it with what PyTorch computes now; 77: there is none

model.safetensors is the state_dict of the module, float32; config.json the book's dictionary. expected.safetensors holds a batch
and, computed in float64 from the same weights, its logits, loss and the gradient of every parameter. The numbers in the
repository came from 1.13.
"""
import json
import pathlib
import sys

from golden_files import check, check_config, read_safetensors, write_safetensors

import torch
import torch.nn.functional as F
from torch import nn

CONFIG = {"vocab_size": 11, "context_length": 6, "emb_dim": 16, "n_heads": 2, "n_layers": 2, "drop_rate": 0.1, "qkv_bias": False}
VOCAB, BLOCK, WIDTH, HEADS = CONFIG["vocab_size"], CONFIG["context_length"], CONFIG["emb_dim"], CONFIG["n_heads"]
FOLDER = pathlib.Path(__file__).parent / "golden" / "book"


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
        self.out_proj = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("mask", torch.triu(torch.ones(BLOCK, BLOCK), 1))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (layer(x).view(batch, length, HEADS, -1).transpose(1, 2) for layer in (self.W_query, self.W_key, self.W_value))
        scores = (q @ k.transpose(-2, -1) / (WIDTH // HEADS) ** 0.5).masked_fill(self.mask[:length, :length] == 1, float("-inf"))
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, WIDTH))


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x):
        return F.layer_norm(x, (WIDTH,), self.scale, self.shift, 1e-5)


class Gelu(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x ** 3)))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), Gelu(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        return self.layers(x)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.att, self.ff, self.norm1, self.norm2 = Attention(), FeedForward(), Norm(), Norm()

    def forward(self, x):
        x = x + self.att(self.norm1(x))
        return x + self.ff(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_emb, self.pos_emb = nn.Embedding(VOCAB, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.trf_blocks = nn.Sequential(*(Block() for _ in range(CONFIG["n_layers"])))
        self.final_norm, self.out_head = Norm(), nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, idx):
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(idx.shape[1]))
        return self.out_head(self.final_norm(self.trf_blocks(x)))


def expected_of(weights, idx, targets):
    model = Decoder().double()
    model.load_state_dict({name: values.double() for name, values in weights.items()})
    logits = model(idx)
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), targets.reshape(-1))
    loss.backward()
    expected = {"idx": idx, "targets": targets, "logits": logits, "loss": loss}
    expected.update({"grad." + name: parameter.grad for name, parameter in model.named_parameters()})
    return expected


def main():
    if sys.argv[1:] == ["--check"]:
        stored = read_safetensors(FOLDER / "expected.safetensors")
        check_config(CONFIG, FOLDER / "config.json")
        weights = read_safetensors(FOLDER / "model.safetensors")
        check(expected_of(weights, stored["idx"], stored["targets"]), stored, FOLDER)
        return
    torch.manual_seed(2024)
    model = Decoder()
    with torch.no_grad():  # Wider than at the start of a training, so that no path hides behind another.
        for name, parameter in model.named_parameters():
            parameter.normal_(1.0 if name.endswith("scale") else 0.0, 0.3)
    idx, targets = torch.randint(VOCAB, (2, 3, BLOCK - 1))
    targets[1, 2] = -100
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_safetensors(FOLDER / "model.safetensors", model.state_dict())
    write_safetensors(FOLDER / "expected.safetensors", expected_of(model.state_dict(), idx, targets))
    (FOLDER / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")


if __name__ == "__main__":
    main()
