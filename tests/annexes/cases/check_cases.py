#!/usr/bin/env python3
"""Compares the answers in files of cases, by default all, with PyTorch's: check_cases.py [FILE...].

Exits 77 without PyTorch 1.13 (Debian 12: python3-torch, which has no MKL).
"""
import json
import math
import pathlib
import sys

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    sys.exit(77)

DTYPES = {"f32": torch.float32, "f64": torch.float64, "i64": torch.int64, "bool": torch.bool}


def tensor(record):
    data = [float(x) if isinstance(x, str) else x for x in record["data"]]
    t = torch.tensor(data, dtype=DTYPES[record.get("dtype", "f32")]).reshape(record["shape"])
    return t.requires_grad_() if record.get("requires_grad") else t


def index(x, index, **tensors):
    makers = {"int": int, "slice": lambda v: slice(*v), "tensor": lambda v: (tensors | {"x": x})[v],
              "newaxis": lambda v: None, "ellipsis": lambda v: ...}
    return x[tuple(makers[kind](value) for subscript in index for kind, value in subscript.items())]


def attention(q, k, v, mask=None, is_causal=False, scale=None, enable_gqa=False):
    if enable_gqa:
        k, v = (t.repeat_interleave(q.size(-3) // t.size(-3), -3) for t in (k, v))
    scores = q @ k.transpose(-2, -1) * (scale or 1 / math.sqrt(q.size(-1)))
    if is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).tril() == 0, -math.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    return torch.softmax(scores, -1) @ v


def rotary(x, offset=0, base=10000.0):
    n = x.size(-1)
    positions, powers = (torch.arange(*a, dtype=torch.float64) for a in ((offset, offset + x.size(-2)), (0, n, 2)))
    angles = torch.outer(positions, base ** (-powers / n)).repeat(1, 2)
    return x * angles.cos() + torch.cat((-x[..., n // 2:], x[..., :n // 2]), -1) * angles.sin()


# The operations that PyTorch calls otherwise, or whose arguments it names otherwise.
OPERATIONS = {
    "__getitem__": index,
    "batch_norm": lambda x, running_mean=None, running_var=None, **args: F.batch_norm(x, running_mean, running_var, **args),
    **dict.fromkeys(("bmm", "mm"), torch.matmul),
    "discard": lambda n: torch.empty(n, dtype=torch.int32).random_(-2**31, 2**31)[:0],
    "div_sqrt": lambda x, n: x / torch.tensor(math.sqrt(n), dtype=torch.float32),
    "einsum": lambda tensors, equation: torch.einsum(equation, tensors),
    "embedding": lambda weight, index, **args: F.embedding(index, weight, **args),
    "embedding_init": lambda num, dim: torch.nn.Embedding(num, dim).weight,
    "eq": lambda x, value: x == value,
    "expand": lambda x, size: x.expand(size),
    "gelu_linear": lambda x, weight, bias=None, **args: F.linear(F.gelu(x, **args), weight, bias),
    "linear_init": lambda **args: list(torch.nn.Linear(**args).parameters()),
    "masked_fill": lambda x, mask, value: x.masked_fill(mask.bool(), value),
    "norm": lambda x, p=2, **args: torch.linalg.vector_norm(x, p, **args),
    "normal": lambda size, mean, std, **args: torch.empty(size, **args).normal_(mean, std),
    "pow": lambda x, other: x**other,
    "raw32": lambda n: torch.empty(n, dtype=torch.int32).random_(-2**31, 2**31).long() + 2**31,
    "rotary_embedding": rotary,
    "scaled_dot_product_attention": attention,
    "slice": lambda x, dim=0, start=None, end=None: x.transpose(0, dim)[start:end].transpose(0, dim),
    "split": lambda x, size, dim=0: x.split(size, dim),
    "swiglu": lambda gate, up: F.silu(gate) * up,
    "swiglu_linear": lambda gate, up, weight: F.linear(F.silu(gate) * up, weight),
    "to_bool": lambda x: x.bool(),
    "uniform": lambda size, lo, hi, **args: torch.empty(size, **args).uniform_(lo, hi),
    **dict.fromkeys(("reshape", "view"), lambda x, size: x.contiguous().view(size)),
    "where": lambda condition, x, other: torch.where(condition, x, other),
}


def results(op, args, *inputs, **named):
    args = {{"shape": "size", "train": "training"}.get(k, k): float(v) if v in ("inf", "-inf", "nan") else
            DTYPES[v] if k == "dtype" else v for k, v in args.items() if v is not None and k not in ("rng", "count")}
    if args and op in ("sum", "std", "var"):
        args.setdefault("dim", None)
    y = (OPERATIONS.get(op) or getattr(F, op, None) or getattr(torch, op))(*inputs, **named, **args)
    return list(y) if isinstance(y, (list, tuple)) else [y]


def same(got, record, atol=1e-12, rtol=1e-12):
    want = tensor(record).detach()
    return got.shape == want.shape and torch.allclose(got.detach().double(), want.double(), rtol, atol, equal_nan=True)


def conform(c):
    """What differs in a case of conform/."""
    inputs = {record["name"]: tensor(record) for record in c["inputs"]}
    named = {n: t for n, t in inputs.items() if not n.startswith("tensors.")}
    first = [list(inputs.values())] if not named else [] if c["op"] in OPERATIONS else [named.pop(next(iter(named)))]
    try:
        outputs = results(c["op"], c["args"], *first, **named)
    except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError) as error:
        return [] if "error" in c else [str(error)]
    if "error" in c:
        return ["it must fail"]
    wrong = [f"output {i}" for i, (y, r) in enumerate(zip(outputs, c["outputs"], strict=True)) if not same(y, r)]
    outputs, leaves = [y for y in outputs if y.is_floating_point()], {n: t for n, t in inputs.items() if t.requires_grad}
    if not outputs or not leaves:
        return wrong
    cotangents = [tensor(r).requires_grad_() for r in c["cotangents"]]
    grads = torch.autograd.grad(outputs, list(leaves.values()), cotangents, create_graph=True, allow_unused=True)
    grads = {n: g for n, g in zip(leaves, grads) if g is not None}
    wrong += [f"grad {n}" for n, g in grads.items() if not same(g, c["grads"][n])]
    attached = [n for n, g in grads.items() if g.requires_grad]
    if "grad2" not in c or not attached:
        return wrong
    wanted, v = [*leaves.values(), *cotangents], [tensor(c["grad2"]["v"][n]) for n in attached]
    found = torch.autograd.grad([grads[n] for n in attached], wanted, v, allow_unused=True)
    records = [*(c["grad2"]["grads"].get(n) for n in leaves), *c["grad2"]["cotangents"]]
    return wrong + [f"grad2 {i}" for i, (g, w, r) in enumerate(zip(found, wanted, records, strict=True))
                    if r and not same(torch.zeros_like(w) if g is None else g, r)]


def replay(c):
    """What differs in a case of replay/, but for those with draws of a build with MKL."""
    if any(step.get("args", {}).get("rng") == "mkl" for step in c["steps"]):
        return []
    tensors, wrong = {n: tensor(r) for n, r in c["inputs"].items()}, []
    torch.manual_seed(c.get("manual_seed") or 0)
    for i, step in enumerate(c["steps"]):
        names = step["out"] if isinstance(step.get("out"), list) else [step["out"]] if "out" in step else []
        inputs = [tensors[n] for n in step.get("in", [])]
        outs = results(step["op"], step.get("args", {}), *([inputs] if step["op"] == "stack" else inputs))
        tensors.update(zip(names, outs))
        checks = [(t, c["weights"][n], 0, 0) for n, t in zip(names, outs) if n in c.get("weights", {})]
        checks += [(outs[0], step["expected"], step["atol"], step["rtol"])] if "expected" in step else []
        checks += [(outs[0], step["value"], 1e-6, 1e-6)] if "value" in step else []
        wrong += [f"steps[{i}] {step['op']}" for check in checks if not same(*check)]
        text = step.get("text", [""])
        wrong += [f"steps[{i}] text"] if text[0].startswith("tensor(") and text != str(outs[0]).split("\n") else []
    return wrong


if not torch.__version__.startswith("1.13") or torch.backends.mkl.is_available():
    sys.exit(77)
torch.set_num_threads(1)
bad, here = 0, pathlib.Path(__file__).parent
for file in [f for f in sys.argv[1:] if f != "--check"] or sorted([*here.glob("conform/*.jsonl"), *here.glob("replay/*.json")]):
    text = pathlib.Path(file).read_text()
    for c in json.loads(text) if text.startswith("[") else map(json.loads, text.splitlines()):
        if wrong := (replay if "steps" in c else conform)(c):
            bad += 1
            print(f"{file}: {c.get('id', c.get('name'))}: {', '.join(wrong)}")
sys.exit(bad > 0)
