#!/usr/bin/env python3
"""Writes golden/lora.safetensors: what PyTorch computes in float64 for a linear layer with a low-rank adapter.

    /usr/bin/python3 make_lora_golden.py            # writes it
    /usr/bin/python3 make_lora_golden.py --check    # compares it with what PyTorch computes now; 77: there is none

y = x W^T + b + alpha / r * x A^T B^T (Hu et al., arXiv 2106.09685, eq. 3); the loss is mean((y - target)^2). grad_NAME
are its gradients; A_20, B_20 and loss_20 come after 20 steps of AdamW on A and B. The numbers came from 1.13.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "models"))
from golden_files import check, read_safetensors, write_safetensors

import torch

FILE = pathlib.Path(__file__).parent / "golden" / "lora.safetensors"
torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
RANK, ALPHA = 2, 3.0
x, target = torch.randn(2, 3, 5, requires_grad=True), torch.randn(2, 3, 4)
weight, bias = torch.randn(4, 5), torch.randn(4)
a, b = torch.randn(RANK, 5, requires_grad=True), torch.randn(4, RANK, requires_grad=True)
out = {"x": x, "target": target, "weight": weight, "bias": bias, "A": a, "B": b}
out = {name: t.detach().clone() for name, t in out.items()}


def loss():
    y = x @ weight.T + bias + (ALPHA / RANK) * (x @ a.T) @ b.T
    return ((y - target) ** 2).mean()


first = loss()
first.backward()
out |= {"loss": first.detach().clone(), "grad_x": x.grad.clone(), "grad_A": a.grad.clone(), "grad_B": b.grad.clone()}
adamw = torch.optim.AdamW([a, b], lr=0.05, betas=(0.9, 0.99), weight_decay=0.1)
for _ in range(20):
    adamw.zero_grad()
    loss().backward()
    adamw.step()
out |= {"A_20": a.detach(), "B_20": b.detach(), "loss_20": loss().detach()}

out = {name: t.clone() for name, t in out.items()}
if "--check" in sys.argv:
    check(out, read_safetensors(FILE), "the adapter")
else:
    write_safetensors(FILE, out)
