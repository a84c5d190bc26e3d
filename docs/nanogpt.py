"""Trains nanoGPT's configuration for CPUs in PyTorch, for comparison with gradus: the same text, split and characters.

    python3 docs/nanogpt.py TEXT OUT [STEPS] [THREADS]

writes OUT/metrics.jsonl, one line each 200 steps, for `gradus report`. The seconds count training and evaluation from the first
step on. The configuration is that of nanoGPT's README for a laptop: 4 layers of 4 heads, 128 wide, 12 windows of 64, no dropout,
no biases; AdamW (0.9, 0.99) at 1e-3, 100 steps of warm-up, a cosine down to 1e-4, weight decay 0.1 for matrices, gradients
clipped at 1. Attention is computed in the form that is fastest in PyTorch without a fused operation.
"""

import json
import math
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

LAYERS, HEADS, WIDTH, BLOCK, BATCH = 4, 4, 128, 64, 12
RATE, LEAST_RATE, WARM_UP = 1e-3, 1e-4, 100
EVALUATED, EVERY = 32_768, 200  # tokens spread over the validation split; steps between evaluations


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = (nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.projection = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)
        for norm in (self.ln_1, self.ln_2):
            norm.bias.requires_grad_(False)

    def attend(self, x, mask):
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4).flatten(1, 2).unbind(0)
        scores = torch.baddbmm(mask[:, :length, :length], q, k.transpose(1, 2), alpha=1 / math.sqrt(WIDTH // HEADS))
        y = torch.bmm(torch.softmax(scores, -1), v).view(batch, HEADS, length, WIDTH // HEADS)
        return self.projection(y.transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, x, mask):
        x = x + self.attend(self.ln_1(x), mask)
        return x + self.down(F.gelu(self.up(self.ln_2(x))))


class Decoder(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)
        self.ln_f.bias.requires_grad_(False)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                into_the_sum = name.endswith(("projection.weight", "down.weight"))
                nn.init.normal_(parameter, 0, 0.02 / math.sqrt(2 * LAYERS) if into_the_sum else 0.02)
        self.register_buffer("mask", torch.full((1, BLOCK, BLOCK), -math.inf).triu_(1))

    def forward(self, x, y):
        h = self.wte(x) + self.wpe.weight[: x.shape[1]]
        for layer in self.layers:
            h = layer(h, self.mask)
        logits = F.linear(self.ln_f(h), self.wte.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), y.reshape(-1))


def windows(tokens, at):
    x = torch.stack([tokens[i : i + BLOCK] for i in at])
    y = torch.stack([tokens[i + 1 : i + 1 + BLOCK] for i in at])
    return x, y


@torch.no_grad()
def evaluate(model, tokens, count):
    places = (len(tokens) - 1) // BLOCK
    count = min(count, places)
    at = [n * places // count * BLOCK for n in range(count)]
    losses = [model(*windows(tokens, at[n : n + 64])) * len(at[n : n + 64]) for n in range(0, count, 64)]
    return sum(losses).item() / count


def rate_of(step, steps):
    if step < WARM_UP:
        return RATE * (step + 1) / (WARM_UP + 1)
    done = (step - WARM_UP) / max(1, steps - WARM_UP)
    return LEAST_RATE + 0.5 * (1 + math.cos(math.pi * done)) * (RATE - LEAST_RATE)


def main(text, out, steps=2000, threads=2):
    torch.set_num_threads(threads)
    torch.manual_seed(1337)
    characters = Path(text).read_text(encoding="utf-8")
    number_of = {c: i for i, c in enumerate(sorted(set(characters)))}
    tokens = torch.tensor([number_of[c] for c in characters])
    train, validation = tokens[: int(0.9 * len(tokens))], tokens[int(0.9 * len(tokens)) :]

    model = Decoder(len(number_of))
    learnt = [p for p in model.parameters() if p.requires_grad]
    groups = [{"params": [p for p in learnt if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in learnt if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.99))
    Path(out).mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    with open(Path(out) / "metrics.jsonl", "w") as log:

        def record(**fields):
            print(line := json.dumps({**fields, "elapsed_s": round(time.perf_counter() - begin, 3)}))
            log.write(line + "\n")

        for step in range(steps):
            for group in optimizer.param_groups:
                group["lr"] = rate_of(step, steps)
            loss = model(*windows(train, torch.randint(len(train) - BLOCK, (BATCH,)).tolist()))
            loss.backward()
            nn.utils.clip_grad_norm_(learnt, 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            if (step + 1) % EVERY == 0 or step + 1 == steps:
                count = EVALUATED // BLOCK if step + 1 < steps else len(validation)
                record(event="eval", step=step + 1, val_loss=evaluate(model, validation, count), train_loss=loss.item())


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:5]))
