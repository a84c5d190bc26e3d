"""torch_op.py FAULT [--torch]: x^3 as a torch.autograd.Function, right or with a fault, for gradcheck --command. With
--torch, prints instead whether PyTorch's gradcheck and gradgradcheck find the fault."""
import json
import sys

import torch

FAULT = sys.argv[1]


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, gy):
        (x,) = ctx.saved_tensors
        if FAULT == "factor":
            return gy * x ** 2
        if FAULT == "clamped":  # right for the cotangents of ones and zeros with which PyTorch checks
            return gy.clamp(-1, 1) * 3 * x ** 2
        if FAULT == "nearly":  # within PyTorch's tolerance of 0.1 %
            return gy * 3.001 * x ** 2
        if FAULT == "detached":  # right, but not the gradient's gradient
            return gy * 3 * x.detach() ** 2
        return gy * 3 * x ** 2


def in_torch():
    x = torch.linspace(-2, 2, 6, dtype=torch.float64, requires_grad=True)
    for check in torch.autograd.gradcheck, torch.autograd.gradgradcheck:
        print(check.__name__, "passes" if check(Cube.apply, (x,), raise_exception=False) else "fails")


def answer(question):
    if question["ask"] == "description":
        return {"name": "cube", "inputs": [{"shape": [6]}], "output": [6], "order": 2}
    x = torch.tensor(question["inputs"][0], dtype=torch.float64, requires_grad=True)
    y = Cube.apply(x)
    if question["ask"] == "value":
        return {"value": y.tolist()}
    v = torch.tensor(question["cotangent"], dtype=torch.float64, requires_grad=True)
    gradient = torch.autograd.grad(y, x, v, create_graph=True)
    if question["ask"] == "gradient":
        return {"gradient": [g.tolist() for g in gradient]}
    u = torch.tensor(question["directions"][0], dtype=torch.float64)
    second = torch.autograd.grad(gradient, (x, v), u, allow_unused=True)
    return {"second_gradient": [torch.zeros(6).tolist() if g is None else g.tolist() for g in second]}


if "--torch" in sys.argv:
    in_torch()
else:
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
