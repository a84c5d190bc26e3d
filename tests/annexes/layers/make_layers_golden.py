#!/usr/bin/env python3
"""Writes golden/layers.safetensors: what PyTorch computes with recurrent and attention layers.

    /usr/bin/python3 make_layers_golden.py            # writes it
    /usr/bin/python3 make_layers_golden.py --check    # compares it with what PyTorch computes now; 77: there is none

For each case: init.NAME, the parameters after torch.manual_seed(SEED); and in float64 in.I, the inputs; out.I, the
results; target.I, for the loss sum_i mean((out_i - target_i)^2); grad.I and grad.NAME, its gradients with respect to
inputs and parameters; second.I and second.NAME, those of the sum of the squares of these gradients; losses, of 20 steps
of SGD. Each forward pass draws dropout after torch.manual_seed(SEED). The numbers in the repository came from 1.13.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent.parent / "models"))
from golden_files import check, read_safetensors, write_safetensors

import torch
from torch import nn

SEED, STEPS, LR = 7, 20, 0.2
FILE = pathlib.Path(__file__).parent / "golden" / "layers.safetensors"
INF = float("inf")


def flat(results):
    if isinstance(results, torch.Tensor):
        return [results]
    return [t for r in results if r is not None for t in flat(r)]


def expected_of(make, call, shapes):
    torch.manual_seed(SEED)
    module = make()
    found = {"init." + name: p.detach().clone() for name, p in module.named_parameters()}
    module.double()
    torch.manual_seed(SEED + 1)
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    targets = None

    def loss():
        nonlocal targets
        torch.manual_seed(SEED)
        outputs = flat(call(module, *inputs))
        if targets is None:
            targets = [torch.randn(o.shape, dtype=torch.float64) for o in outputs]
            found.update({f"out.{i}": o for i, o in enumerate(outputs)})
            found.update({f"target.{i}": t for i, t in enumerate(targets)})
        return sum(((o - t) ** 2).mean() for o, t in zip(outputs, targets))

    found.update({f"in.{i}": x.detach().clone() for i, x in enumerate(inputs)})
    leaves = {str(i): x for i, x in enumerate(inputs)} | dict(module.named_parameters())
    first = torch.autograd.grad(loss(), leaves.values(), create_graph=True)
    second = torch.autograd.grad(sum((g ** 2).sum() for g in first), leaves.values())
    for name, g, gg in zip(leaves, first, second):
        found["grad." + name], found["second." + name] = g, gg
    optimizer, losses = torch.optim.SGD(module.parameters(), lr=LR), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        losses.append(value.detach())
    found["losses"] = torch.stack(losses)
    return found


def recurrent(kind, shapes, **options):
    return (lambda: getattr(nn, kind)(3, 2, **options),
            lambda m, x, *state: m(x, tuple(state) if len(state) == 2 else state[0] if state else None), shapes)


def attention(shapes, masks=dict, **options):
    return lambda: nn.MultiheadAttention(4, 2, **options), lambda m, q, k, v: m(q, k, v, **masks()), shapes


def self_attention(shape, masks=dict, **options):
    return lambda: nn.MultiheadAttention(4, 2, **options), lambda m, x: m(x, x, x, **masks()), [shape]


def transformer(kind, shapes, masks=dict, **options):
    return (lambda: getattr(nn, f"Transformer{kind}Layer")(4, 2, dim_feedforward=3, **options),
            lambda m, *x: m(*x, **masks()), shapes)


def padding():  # the last keys of the second sequence
    return torch.tensor([[False, False, False], [False, False, True]])


def causal(n, m=None):
    return torch.triu(torch.ones(n, m or n, dtype=torch.bool), 1)


def added():  # the same for both sequences and heads, and different for each
    return torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3)


CASES = {
    "rnn": recurrent("RNN", [(4, 2, 3)]),
    "rnn_relu": recurrent("RNN", [(4, 2, 3), (4, 2, 2)], nonlinearity="relu", num_layers=2, bidirectional=True),
    "gru": recurrent("GRU", [(4, 2, 3), (1, 2, 2)]),
    "gru_deep": recurrent("GRU", [(2, 4, 3), (4, 2, 2)], num_layers=2, bidirectional=True, batch_first=True),
    "gru_no_bias": recurrent("GRU", [(4, 3)], bias=False),
    "lstm": recurrent("LSTM", [(4, 2, 3), (1, 2, 2), (1, 2, 2)]),
    "lstm_deep": recurrent("LSTM", [(2, 4, 3)], num_layers=2, bidirectional=True, batch_first=True),
    "lstm_unbatched": recurrent("LSTM", [(4, 3), (2, 2), (2, 2)], bidirectional=True, bias=False),
    "lstm_dropout": recurrent("LSTM", [(4, 2, 3)], num_layers=3, dropout=0.4),
    "attention": attention([(2, 2, 4), (3, 2, 4), (3, 2, 4)]),
    "attention_fused": self_attention((2, 3, 4), lambda: {"need_weights": False}, batch_first=True),
    "attention_causal": self_attention((3, 2, 4), lambda: {"attn_mask": causal(3), "need_weights": False}),
    "attention_kdim": attention([(2, 2, 4), (2, 3, 5), (2, 3, 3)], lambda: {"average_attn_weights": False},
                                kdim=5, vdim=3, batch_first=True, bias=False),
    "attention_masks": attention([(2, 2, 4), (3, 2, 4), (3, 2, 4)],
                                 lambda: {"key_padding_mask": padding(), "attn_mask": added()}),
    "attention_masks_fused": attention([(2, 2, 4), (3, 2, 4), (3, 2, 4)], lambda: {
        "key_padding_mask": padding(), "need_weights": False,
        "attn_mask": torch.stack([causal(2, 3), ~causal(2, 3).flip(1), causal(2, 3), causal(2, 3)])}),
    "attention_unbatched": attention([(2, 4), (3, 4), (3, 4)], lambda: {"key_padding_mask": padding()[1]}),
    "attention_dropout": attention([(2, 2, 4), (3, 2, 4), (3, 2, 4)], dropout=0.4),
    "encoder": transformer("Encoder", [(3, 2, 4)], lambda: {"src_mask": causal(3), "src_key_padding_mask": padding()},
                           dropout=0.0),
    "encoder_norm_first": transformer("Encoder", [(2, 3, 4)], norm_first=True, batch_first=True, activation="gelu",
                                      layer_norm_eps=1e-3, dropout=0.3),
    "decoder": transformer("Decoder", [(2, 2, 4), (3, 2, 4)], lambda: {
        "tgt_mask": causal(2), "memory_mask": added(), "memory_key_padding_mask": padding(),
        "tgt_key_padding_mask": padding()[:, 1:]}, dropout=0.2),
    "decoder_norm_first": transformer("Decoder", [(2, 4), (3, 4)], norm_first=True, activation="gelu", dropout=0.0),
}


def main():
    now = {f"{case}.{name}": t for case, spec in CASES.items() for name, t in expected_of(*spec).items()}
    if "--check" in sys.argv:
        check(now, read_safetensors(FILE), "the layers")
    else:
        write_safetensors(FILE, now)


main()
