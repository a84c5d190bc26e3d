#!/usr/bin/env python3
"""gradus's recipe in PyTorch, for the speed run: trains the run folder OUT, which `gradus eval` then reads.

    pytorch.py GRADUS TRAIN SEED OUT STEPS [DROPOUT]

GRADUS learns the tokenizer and encodes TRAIN, and its run folder has the files that describe the model. The weights and all steps
are PyTorch's: the decoder and Muon of annexes/bench/torch_twin.py, in the faster setting of threads, under torch.autocast.
"""
import json
import math
import os
import struct
import subprocess
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "annexes", "bench"))
import torch_twin  # noqa: E402

LAYERS, HEADS, WIDTH, BLOCK, BATCH, VOCABULARY = 4, 4, 128, 128, 12, 1089
RATE, WARM_UP, COOL_DOWN = 5e-3, 20, 0.3


def rate(step, steps):
    """wsd: linear warm-up, constant, and in the last 30 % of the steps 1 - sqrt(x)."""
    rest = (step - (1 - COOL_DOWN) * steps) / (COOL_DOWN * steps)
    return RATE * min(1.0, (step + 1) / WARM_UP) * (1 - math.sqrt(rest) if rest > 0 else 1.0)


def initial(name, value):
    if value.dim() == 1:
        return torch.ones_like(value)
    ends = name.endswith(("o_proj.weight", "down_proj.weight"))
    return torch.randn(value.shape) * (0.02 / math.sqrt(2 * LAYERS) if ends else 0.02)


def save(weights, path):
    header, data = {}, b""
    for name, value in weights.items():
        values = value.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def main():
    gradus, train, seed, out, steps = *sys.argv[1:5], int(sys.argv[5])
    dropout = float(sys.argv[6]) if len(sys.argv) > 6 else 0.0
    subprocess.run([gradus, "train", "--text", train, "--out", out, "--val-fraction", "0", "--quiet", "--preset", "mini", "--steps", "1",
                    "--tokenizer", "bpe", "--vocab", str(VOCABULARY)], check=True)
    encoded = subprocess.run([gradus, "tokenizer", "encode", out, train], check=True, capture_output=True, text=True).stdout
    tokens = torch.tensor([int(token) for token in encoded.split()])

    torch.manual_seed(int(seed))
    torch.set_num_threads(2)
    path = os.path.join(out, "model.safetensors")
    weights = {name: initial(name, value) for name, value in torch_twin.load(path).items()}
    model = torch_twin.Llama(LAYERS, HEADS, WIDTH, BLOCK, dropout, weights)

    def shuffled():
        """The windows of the text, each once an epoch, in a new order, from a random first token on."""
        while True:
            windows = tokens[torch.randint(BLOCK, ()):].unfold(0, BLOCK + 1, BLOCK)
            yield from windows[torch.randperm(len(windows))]

    order = shuffled()

    def batch():
        windows = torch.stack([next(order) for _ in range(BATCH)])
        return windows[:, :-1].contiguous(), windows[:, 1:].contiguous()

    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        training = torch_twin.Training(model, [])
        torch_twin.use_fastest_threads(lambda: model.loss(*batch()).backward(), 2)
        for value in model.weights.values():
            value.grad = None
        for step in range(steps):
            training.batches, training.next = [batch()], 0
            training.set_rate(rate(step, steps))
            training.step()

    for i, part in enumerate(model.layers):
        for fused, names in (("qkv", [f"self_attn.{n}_proj" for n in "qkv"]), ("gate_up", ["mlp.gate_proj", "mlp.up_proj"])):
            part.update(zip(names, part.pop(fused).chunk(len(names))))
        weights.update((f"model.layers.{i}.{name}.weight", value) for name, value in part.items())
    save(weights, path)
    os.remove(os.path.join(out, "checksums.sfv"))  # of the weights before


if __name__ == "__main__":
    main()
