#!/usr/bin/env python3
"""Writes golden/: a two-layer decoder of GPT-2's shape, and what PyTorch computes with it.

    /usr/bin/python3 make_gpt2_golden.py            # writes it
    /usr/bin/python3 make_gpt2_golden.py --check    # compares it with what PyTorch computes now; 77: there is none

golden/model/ is a folder as transformers would save it, float32. golden/expected.safetensors holds a batch and, computed
in float64 from the same float32 weights, its logits, loss and the gradient of every parameter (matrices [out, in]).
Needs torch only; the numbers in the repository came from 1.13.
"""
import json
import pathlib
import sys

from golden_files import check, check_config, read_safetensors, write_safetensors

import torch
import torch.nn.functional as F

VOCAB, BLOCK, LAYERS, HEADS, WIDTH = 11, 6, 2, 2, 16
CONFIG = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": VOCAB, "n_positions": BLOCK,
          "n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_inner": None, "activation_function": "gelu_new",
          "layer_norm_epsilon": 1e-5, "embd_pdrop": 0.1, "attn_pdrop": 0.1, "resid_pdrop": 0.1,
          "tie_word_embeddings": True}
FOLDER = pathlib.Path(__file__).parent / "golden"


def make_weights():
    shapes = {"wte.weight": (VOCAB, WIDTH), "wpe.weight": (BLOCK, WIDTH)}
    norms = ["ln_f"]
    for i in range(LAYERS):
        norms += [f"h.{i}.ln_1", f"h.{i}.ln_2"]
        for layer, (out, fan_in) in {"attn.c_attn": (3 * WIDTH, WIDTH), "attn.c_proj": (WIDTH, WIDTH),
                                     "mlp.c_fc": (4 * WIDTH, WIDTH), "mlp.c_proj": (WIDTH, 4 * WIDTH)}.items():
            shapes[f"h.{i}.{layer}.weight"] = (out, fan_in)
            shapes[f"h.{i}.{layer}.bias"] = (out,)
    # Wider than GPT-2's start, so that no gradient is close to 0 and no path hides behind another.
    weights = {name: 0.3 * torch.randn(shape) for name, shape in shapes.items()}
    for norm in norms:
        weights[norm + ".weight"] = 1 + 0.2 * torch.randn(WIDTH)
        weights[norm + ".bias"] = 0.2 * torch.randn(WIDTH)
    return weights


def logits_of(w, idx):
    batch, length = idx.shape

    def norm(x, name):
        return F.layer_norm(x, (WIDTH,), w[name + ".weight"], w[name + ".bias"], 1e-5)

    def dense(x, name):
        return F.linear(x, w[name + ".weight"], w[name + ".bias"])

    future = torch.triu(torch.ones(length, length, dtype=torch.bool), 1)
    x = w["wte.weight"][idx] + w["wpe.weight"][:length]
    for i in range(LAYERS):
        qkv = dense(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn")
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in qkv.chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / (WIDTH // HEADS) ** 0.5
        heads = scores.masked_fill(future, float("-inf")).softmax(-1) @ v
        x = x + dense(heads.transpose(1, 2).reshape(batch, length, WIDTH), f"h.{i}.attn.c_proj")
        u = dense(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")
        gelu = 0.5 * u * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (u + 0.044715 * u ** 3)))
        x = x + dense(gelu, f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


def expected_of(weights, idx, targets):
    w = {name: values.double().requires_grad_() for name, values in weights.items()}
    logits = logits_of(w, idx)
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), targets.reshape(-1))
    loss.backward()
    expected = {"idx": idx, "targets": targets, "logits": logits, "loss": loss}
    expected.update({"grad." + name: values.grad for name, values in w.items()})
    return expected


def turned(weights):
    """To and from the [in, out] that GPT-2's files have for some matrices."""
    conv1d = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
    return {name: values.T if name.endswith(conv1d) else values for name, values in weights.items()}


def main():
    if sys.argv[1:] == ["--check"]:
        check_config(CONFIG, FOLDER / "model" / "config.json")
        weights = turned(read_safetensors(FOLDER / "model" / "model.safetensors"))
        stored = read_safetensors(FOLDER / "expected.safetensors")
        check(expected_of(weights, stored["idx"], stored["targets"]), stored, FOLDER)
        return
    torch.manual_seed(2019)
    weights = make_weights()
    idx = torch.randint(VOCAB, (3, BLOCK - 1))
    targets = torch.randint(VOCAB, (3, BLOCK - 1))
    targets[1, 2] = -100
    (FOLDER / "model").mkdir(parents=True, exist_ok=True)
    write_safetensors(FOLDER / "model" / "model.safetensors", turned(weights))
    (FOLDER / "model" / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
    write_safetensors(FOLDER / "expected.safetensors", expected_of(weights, idx, targets))


if __name__ == "__main__":
    main()
