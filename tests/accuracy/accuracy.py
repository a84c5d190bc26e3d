"""accuracy.py PROGRAM: the largest errors of operations in units of the last place, gradus beside PyTorch, as a table.

PROGRAM is gradus_accuracy. The truth is the definitions of autograd/reference/ in long double. The unit is the distance of the
true value from the next number of its dtype; for layer_norm and attention, that of the largest true value of the row.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch.nn import functional as F


def attention(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / 32 ** 0.5, -1) @ v


def total(x):
    return x.sum().reshape(1)


ROW, HEADS = (-1, 1000), (2, 4, 64, 32)
OPERATIONS = {  # the shape of inputs, PyTorch's call, the length of a row whose largest value counts
    "exp": ((-1,), torch.exp, 1),
    "tanh": ((-1,), torch.tanh, 1),
    "erf": ((-1,), torch.erf, 1),
    "gelu": ((-1,), F.gelu, 1),
    "softmax": (ROW, lambda x: torch.softmax(x, 1), 1),
    "logsumexp": (ROW, lambda x: torch.logsumexp(x, 1), 1),
    "cross_entropy": (ROW, lambda x, t: F.cross_entropy(x, t, reduction="none"), 1),
    "layer_norm": (ROW, lambda x: F.layer_norm(x, (1000,)), 1000),
    "attention": (HEADS, attention, 32),
    "sum of 10^6": ((-1,), total, 1),
    "sum of 10^8": ((-1,), total, 1),
}


def largest_error(got, true, row):
    rows = np.abs(true).reshape(-1, row)
    unit = np.spacing(np.repeat(rows.max(1), row).astype(got.dtype)).astype(np.longdouble)
    return float(np.max(np.abs(got.astype(np.longdouble) - true) / unit))


def errors(folder, op, dtype):
    path = os.path.join(folder, f"{op}.{dtype}.")
    if not os.path.exists(path + "true"):
        return ["", ""]
    shape, call, row = OPERATIONS[op]
    inputs = [torch.from_numpy(np.fromfile(path + "0", dtype)).reshape(shape)]
    if op == "cross_entropy":
        inputs.append(torch.from_numpy(np.fromfile(path + "1", np.int64)))
    if op == "attention":
        inputs += [torch.from_numpy(np.fromfile(path + i, dtype)).reshape(shape) for i in "12"]
    true = np.fromfile(path + "true", np.longdouble)
    ours, theirs = np.fromfile(path + "gradus", dtype), call(*inputs).numpy().reshape(-1)
    return [f"{largest_error(got, true, row):.2g}" for got in (ours, theirs)]


with open("/proc/cpuinfo", encoding="utf-8") as lines:
    cpu = next((line.split(": ")[1].strip() for line in lines if line.startswith("model name")), "an unknown processor")
with tempfile.TemporaryDirectory() as folder:
    level = subprocess.run([sys.argv[1], folder], check=True, capture_output=True, text=True).stdout.strip()
    capability = torch.__config__.show().split("CPU capability usage: ")[-1].split()[0]
    print(f"{cpu}, level {level}; PyTorch {torch.__version__} with {capability}")
    print("| operation | float32: gradus | PyTorch | float64: gradus | PyTorch |\n| --- | ---: | ---: | ---: | ---: |")
    for name in OPERATIONS:
        print("| " + " | ".join([name, *errors(folder, name, "float32"), *errors(folder, name, "float64")]) + " |")
