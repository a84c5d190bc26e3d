"""Writes example.json: how tools/replay/README.md says to export a computation from PyTorch."""
import json
import torch

DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.int64: "i64", torch.bool: "bool"}


def packed(t):
    data = [x if abs(x) != float("inf") else str(x) for x in t.detach().flatten().tolist()]
    return {"dtype": DTYPES[t.dtype], "shape": list(t.shape), "data": data}


def step(op, inputs, out, t, **args):
    return {"op": op, "in": inputs, "args": args, "out": out, "value": packed(t), "text": str(t).split("\n")}


torch.manual_seed(123)
layer = torch.nn.Linear(3, 2, bias=False)
x = torch.tensor([[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64]])
q = layer(x)
scores = q @ q.transpose(0, 1)
mask = torch.ones(3, 3).triu(1)
masked = scores.masked_fill(mask.bool(), -torch.inf)
weights = torch.softmax(masked, dim=-1)
steps = [
    {"op": "linear_init", "args": {"in_features": 3, "out_features": 2, "bias": False}, "out": "W"},
    step("linear", ["x", "W"], "q", q),
    step("transpose", ["q"], "qT", q.transpose(0, 1), dim0=0, dim1=1),
    step("matmul", ["q", "qT"], "scores", scores),
    {"op": "ones", "args": {"shape": [3, 3]}, "out": "ones"},
    step("triu", ["ones"], "mask", mask, diagonal=1),
    step("masked_fill", ["scores", "mask"], "masked", masked, value="-inf"),
    step("softmax", ["masked"], "weights", weights, dim=-1),
]
case = {"name": "causal weights", "manual_seed": 123, "inputs": {"x": packed(x)},
        "weights": {"W": packed(layer.weight)}, "steps": steps}
with open("example.json", "w") as file:
    json.dump([case], file, indent=1)
    file.write("\n")
