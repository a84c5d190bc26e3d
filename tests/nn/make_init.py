"""Writes init.json: initial values that PyTorch 1.13 draws from seed 7. Run it as `taskset -c 0`, so that no thread
draws out of turn."""

import json
import os

import torch
from torch.nn import init

CALLS = {
    "kaiming_uniform_": [{}, {"a": 0.5}, {"mode": "fan_out", "nonlinearity": "relu"}, {"nonlinearity": "selu"}],
    "kaiming_normal_": [{}, {"a": 0.5, "mode": "fan_out"}, {"nonlinearity": "tanh"}, {"nonlinearity": "linear"}],
    "xavier_uniform_": [{}, {"gain": 5 / 3}],
    "xavier_normal_": [{}, {"gain": 0.7}],
    "trunc_normal_": [{}, {"mean": 0.5, "std": 0.3, "a": -0.1, "b": 2.0}, {"std": 0.02}],
    "orthogonal_": [{}, {"gain": 1.5}],
    "eye_": [{}],
}
SHAPES = {"eye_": [(3, 5), (4, 2)]}
MATRICES = [(5, 8), (8, 5), (4, 3, 2, 3), (3, 2, 5)]

if __name__ == "__main__":
    cases = []
    for call, options in CALLS.items():
        for args in options:
            for shape in SHAPES.get(call, MATRICES):
                for dtype in ("float32", "float64"):
                    torch.manual_seed(7)
                    x = getattr(init, call)(torch.empty(shape, dtype=getattr(torch, dtype)), **args)
                    cases.append({"call": call, "args": args, "shape": shape, "dtype": dtype, "data": x.flatten().tolist()})
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "init.json"), "w") as file:
        file.write("[\n" + ",\n".join(map(json.dumps, cases)) + "\n]\n")
