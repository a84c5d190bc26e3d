#!/usr/bin/env python3
"""Writes torch.json: every operation of replay files at many shapes, dtypes, dims and seeds, with what PyTorch
gives and prints. Run it with PyTorch 1.13 (Debian 12's python3-torch, a build without MKL) in this folder."""

import json
import math

import numpy as np
import torch

DTYPES = {"f32": torch.float32, "f64": torch.float64, "i64": torch.int64, "bool": torch.bool}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


def number(x):
    if isinstance(x, float) and not math.isfinite(x):
        return str(x)  # "-inf", "inf", "nan"
    return x


def packed(t):
    """A tensor as the file has it; float32 as the shortest decimals that read back."""
    t = t.detach()
    flat = t.reshape(-1).tolist()
    if t.dtype == torch.float32:
        flat = [float(str(np.float32(x))) for x in flat]
    return {"dtype": NAMES[t.dtype], "shape": list(t.shape), "data": [number(x) for x in flat]}


def words(n):
    low = -(2**31)
    return torch.tensor([torch.empty((), dtype=torch.int32).random_(low, -low).item() - low for _ in range(n)],
                        dtype=torch.int64)


def linear_init(in_features, out_features, bias=True):
    layer = torch.nn.Linear(in_features, out_features, bias=bias)
    return [layer.weight, layer.bias] if bias else [layer.weight]


def dtype_of(args):
    return DTYPES[args.get("dtype", "f32")]


OPERATIONS = {
    "manual_seed": lambda x, a: [torch.manual_seed(a["seed"])][:0],
    "discard": lambda x, a: words(a["n"])[:0],
    "raw32": lambda x, a: [words(a["n"])],
    "rand": lambda x, a: [torch.rand(a["shape"], dtype=dtype_of(a))],
    "uniform": lambda x, a: [torch.empty(a["shape"], dtype=dtype_of(a)).uniform_(a["lo"], a["hi"])],
    "randn": lambda x, a: [torch.randn(a["shape"], dtype=dtype_of(a))],
    "normal": lambda x, a: [torch.empty(a["shape"], dtype=dtype_of(a)).normal_(a["mean"], a["std"])],
    "randint": lambda x, a: [torch.randint(a["low"], a["high"], a["shape"])],
    "randperm": lambda x, a: [torch.randperm(a["n"])],
    "multinomial": lambda x, a: [torch.multinomial(x[0], a["num_samples"], a.get("replacement", False))],
    "bernoulli": lambda x, a: [torch.bernoulli(x[0])],
    "linear_init": lambda x, a: linear_init(**a),
    "embedding_init": lambda x, a: [torch.nn.Embedding(a["num"], a["dim"]).weight],
    "dropout": lambda x, a: [torch.nn.functional.dropout(x[0], a["p"], a.get("train", True))],
    "linear": lambda x, a: [torch.nn.functional.linear(*x)],
    "matmul": lambda x, a: [torch.matmul(*x)],
    "transpose": lambda x, a: [x[0].transpose(a["dim0"], a["dim1"])],
    "view": lambda x, a: [x[0].contiguous().view(a["shape"])],
    "stack": lambda x, a: [torch.stack(x, a.get("dim", 0))],
    "select": lambda x, a: [x[0].select(a["dim"], a["index"])],
    "ones": lambda x, a: [torch.ones(a["shape"], dtype=dtype_of(a))],
    "tril": lambda x, a: [x[0].tril(a.get("diagonal", 0))],
    "triu": lambda x, a: [x[0].triu(a.get("diagonal", 0))],
    "eq": lambda x, a: [x[0] == a["value"]],
    "to_bool": lambda x, a: [x[0].bool()],
    "mul": lambda x, a: [x[0] * x[1]],
    "div": lambda x, a: [x[0] / x[1]],
    "sum": lambda x, a: [x[0].sum(a["dim"], a.get("keepdim", False)) if a.get("dim") is not None else x[0].sum()],
    "softmax": lambda x, a: [torch.softmax(x[0], a["dim"])],
    "div_sqrt": lambda x, a: [x[0] / torch.tensor(math.sqrt(a["n"]), dtype=torch.float32)],
    "masked_fill": lambda x, a: [x[0].masked_fill(x[1].bool(), float(a["value"]))],
}
DRAWS = {"raw32", "rand", "uniform", "randn", "normal", "randint", "randperm", "multinomial", "bernoulli",
         "linear_init", "embedding_init", "dropout"}


class Case:
    """Runs steps in PyTorch and writes down what they gave."""

    def __init__(self, name, seed=None, **inputs):
        self.case = {"name": name, "manual_seed": seed, "inputs": {k: packed(v) for k, v in inputs.items()},
                     "weights": {}, "steps": []}
        self.tensors = dict(inputs)
        if seed is not None:
            torch.manual_seed(seed)

    def do(self, op, *names, out=None, text=True, exact=False, **args):
        """Appends a step. text=False where the last digit that is printed hangs on the order of a long sum; exact=True
        where the result is the same in any order, to the last bit."""
        step = {"op": op, "in": list(names), "args": args}
        results = OPERATIONS[op]([self.tensors[n] for n in names], {k: v for k, v in args.items() if k != "rng"})
        outs = out if isinstance(out, list) else [out] if out else []
        self.tensors.update(zip(outs, results))
        if out:
            step["out"] = out
        if op in ("linear_init", "embedding_init"):
            self.case["weights"].update((n, packed(t)) for n, t in zip(outs, results))
        elif op in DRAWS and op != "dropout":
            libm = results[0].dtype == torch.float64 and op in ("randn", "normal")  # log, sin, cos
            step.update(expected=packed(results[0]), atol=1e-14 if libm else 0.0, rtol=1e-15 if libm else 0.0)
        elif exact:
            step.update(expected=packed(results[0]), atol=0.0, rtol=0.0)
        elif outs:
            step["value"] = packed(results[0])
        if len(outs) == 1 and text and results[0].numel() <= 150:
            step["text"] = (str(results[0])).split("\n")
        self.case["steps"].append(step)
        return self


def draws(cases):
    sizes = [1, 2, 7, 15, 16, 17, 32, 33, 47]
    for seed in (0, 42, 2**31, 2**40 + 5, -1, 2**63 - 1):
        c = Case(f"torch.draws.seed_{seed}", seed)
        c.do("raw32", n=3, out="words").do("discard", n=623).do("raw32", n=2, out="next")
        for i, n in enumerate(sizes):
            dtype = ("f32", "f64")[(i + seed) % 2]
            c.do("rand", shape=[n], dtype=dtype, out=f"rand{n}")
            c.do("randn", shape=[n], dtype=dtype, out=f"randn{n}")
            c.do("normal", shape=[n], mean=-1.5, std=0.3, out=f"normal{n}")
            c.do("uniform", shape=[n], lo=-0.1 * (i + 1), hi=0.7, out=f"uniform{n}")
            c.do("randperm", n=n, out=f"perm{n}")
        c.do("randint", low=-5, high=5, shape=[3, 4], out="i").do("randint", low=0, high=2**40, shape=[5], out="j")
        c.do("linear_init", in_features=7, out_features=3, bias=True, out=["w", "b"])
        c.do("linear_init", in_features=16, out_features=1, bias=False, out="w1")
        c.do("embedding_init", num=3, dim=5, out="e15").do("embedding_init", num=4, dim=4, out="e16")
        c.do("embedding_init", num=17, dim=1, out="e17")
        c.do("raw32", n=1, out="last")
        cases.append(c.case)


def choices(cases):
    for seed in (3, 2024, -12):
        g = torch.Generator().manual_seed(seed + 100)
        for dtype in (torch.float32, torch.float64):
            p = torch.rand(3, 6, generator=g, dtype=dtype)
            c = Case(f"torch.choices.{NAMES[dtype]}.seed_{seed}", seed, p=p, row=p[0].clone())
            for k in (1, 2, 6):
                c.do("multinomial", "p", num_samples=k, replacement=False, out=f"without{k}")
            for k in (1, 9):
                c.do("multinomial", "p", num_samples=k, replacement=True, out=f"with{k}")
            c.do("multinomial", "row", num_samples=2, out="of_row").do("bernoulli", "p", out="coins")
            for i, q in enumerate((0.0, 0.1, 0.5, 0.75, 1.0)):
                c.do("dropout", "p", p=q, rng="default", out=f"dropped{i}")
            c.do("dropout", "p", p=0.5, train=False, out="kept").do("raw32", n=2, out="after")
            # Elements are dropped in the order of the transposed matrix, whatever its storage.
            c.do("transpose", "p", dim0=0, dim1=1, out="pT").do("dropout", "pT", p=0.4, out="droppedT")
            cases.append(c.case)


def shapes(cases):
    """Each operation that draws nothing, at many shapes."""
    g = torch.Generator().manual_seed(7)
    for dtype in (torch.float32, torch.float64):
        name = NAMES[dtype]

        def t(*shape):
            return torch.randn(shape, generator=g, dtype=dtype)

        # Each BLAS, and each of its kernels, adds up in an order of its own. Of whole numbers of 32nds below 8, float32 holds
        # every product and every sum of 257 products exactly: 5 + 5 bits below the point and 6 + 9 above it at most, of
        # which these take 22. So there is one right result, and one right print of it, in any order.
        def short(*shape):
            return (t(*shape) * 32).round() / 32

        c = Case(f"torch.products.{name}", x=short(3), y=short(3, 5), z=short(5, 4), b=short(2, 3, 5), b1=short(1, 5, 2),
                 h=short(2, 3, 4, 5), w=short(6, 5), bias=short(6), v5=short(5), long=short(3, 257), tall=short(257, 2))
        for k, (a, b) in enumerate((("x", "x"), ("x", "y"), ("y", "v5"), ("y", "z"), ("b", "z"), ("b", "b1"),
                                    ("h", "b1"), ("b", "v5"), ("v5", "z"), ("long", "tall"), ("x", "b"))):
            c.do("matmul", a, b, out=f"m{k}", exact=True)
        for k, x in enumerate(("y", "b", "h", "v5")):
            c.do("linear", x, "w", out=f"l{k}", exact=True).do("linear", x, "w", "bias", out=f"lb{k}", exact=True)
        cases.append(c.case)

        c = Case(f"torch.views.{name}", x=t(4), y=t(3, 5), b=t(2, 3, 5), h=t(2, 3, 4, 5))
        c.do("transpose", "y", dim0=0, dim1=-1, out="yT").do("transpose", "h", dim0=-3, dim1=-2, out="hT")
        c.do("transpose", "b", dim0=0, dim1=0, out="same")
        c.do("view", "hT", shape=[2, 4, 15], out="v0").do("view", "yT", shape=[-1], out="v1")
        c.do("view", "b", shape=[3, -1, 2], out="v2").do("view", "x", shape=[2, 1, 2], out="v3")
        for dim in (0, 1, 2, -1, -3):
            c.do("stack", "y", "y", "y", dim=dim, out=f"s{dim}")
        c.do("stack", "x", out="one")
        for dim, index in ((0, 0), (0, -1), (-1, 2), (1, 1), (2, -4)):
            c.do("select", "h" if dim == 2 else "b", dim=dim, index=index, out=f"e{dim}{index}")
        c.do("select", "x", dim=0, index=3, out="number")
        cases.append(c.case)

        c = Case(f"torch.masks.{name}", y=t(3, 5), b=t(2, 4, 4), zeros=torch.zeros(2, 2, dtype=dtype))
        for k in (-6, -2, -1, 0, 1, 3, 9):
            c.do("tril", "y", diagonal=k, out=f"tril{k}").do("triu", "b", diagonal=k, out=f"triu{k}")
        c.do("ones", shape=[4, 4], out="ones").do("triu", "ones", diagonal=1, out="up").do("tril", "ones", out="low")
        c.do("eq", "low", value=0, out="mask").do("to_bool", "up", out="up_bool").do("tril", "up_bool", out="bool_low")
        c.do("eq", "mask", value=1, out="ones_again").do("ones", shape=[2, 0, 3], out="nothing")
        for k, value in enumerate(("-inf", -1e9, 0, 0.25)):
            c.do("masked_fill", "b", "mask", value=value, out=f"f{k}")
            c.do("masked_fill", "b", "up", value=value, out=f"g{k}").do("softmax", f"g{k}", dim=-1, out=f"p{k}")
        c.do("masked_fill", "b", "ones", value="-inf", out="all").do("softmax", "all", dim=1, out="nan")
        c.do("to_bool", "zeros", out="false").do("eq", "zeros", value=0, out="true")
        cases.append(c.case)

        c = Case(f"torch.arithmetic.{name}", y=t(3, 5), r=t(3, 1), b=t(2, 3, 5), s=t(), x=t(5), long=t(2, 300))
        for a, b in (("y", "y"), ("y", "r"), ("r", "y"), ("b", "y"), ("b", "s"), ("x", "b"), ("s", "s")):
            c.do("mul", a, b, out=f"mul_{a}{b}").do("div", a, b, out=f"div_{a}{b}")
        for dim in (0, 1, 2, -1, -2, [0, 2], None):
            for keepdim in (False, True):
                if dim is not None or not keepdim:
                    c.do("sum", "b", dim=dim, keepdim=keepdim, out=f"sum{dim}{keepdim}")
        for dim in (0, 1, 2, -1):
            c.do("softmax", "b", dim=dim, out=f"soft{dim}")
        c.do("softmax", "long", dim=1, out="soft_long").do("sum", "long", dim=-1, out="sum_long", text=False)
        c.do("softmax", "x", dim=0, out="soft_x")
        for n in (1, 2, 3, 64, 2.5):
            c.do("div_sqrt", "y", n=n, out=f"scaled{n}")
        cases.append(c.case)

    counts = torch.tensor([[3, 0, -2], [1, 5, 7]])
    c = Case("torch.integers", n=counts, x=torch.tensor([[0.5, 2.0, -1.0]]), m=counts > 0)
    c.do("eq", "n", value=5, out="fives").do("eq", "n", value=0.5, out="none").do("to_bool", "n", out="set")
    c.do("sum", "n", dim=0, out="columns").do("sum", "m", dim=1, keepdim=True, out="set_counts")
    c.do("mul", "x", "m", out="masked").do("mul", "n", "x", out="weighted").do("div", "n", "n", out="ratios")
    c.do("tril", "n", out="low").do("transpose", "n", dim0=0, dim1=1, out="nT").do("select", "n", dim=1, index=-1, out="last")
    c.do("view", "nT", shape=[6], out="flat").do("stack", "m", "fives", dim=0, out="both").do("masked_fill", "n", "m", value=-9, out="filled")
    cases.append(c.case)


def attention(cases):
    """Whole layers with their gradients' names: heads, biases, both masks, dropout."""
    for seed, batch, tokens, width, heads, bias in ((4, 1, 4, 6, 2, False), (6, 2, 5, 8, 4, True), (7, 3, 3, 4, 1, True),
                                                   (8, 2, 7, 12, 3, False)):
        x = torch.randn(batch, tokens, width, generator=torch.Generator().manual_seed(seed))
        c = Case(f"torch.attention.heads_{heads}.seed_{seed}", seed, x=x)
        for w in ("q", "k", "v", "o"):
            c.do("linear_init", in_features=width, out_features=width, bias=bias, out=["W" + w, "b" + w] if bias else "W" + w)
        split = [batch, tokens, heads, width // heads]
        for w in ("q", "k", "v"):
            c.do("linear", "x", "W" + w, *(["b" + w] if bias else []), out=w + "0")
            c.do("view", w + "0", shape=split, out=w + "1").do("transpose", w + "1", dim0=1, dim1=2, out=w)
        c.do("transpose", "k", dim0=-2, dim1=-1, out="kT").do("matmul", "q", "kT", out="scores")
        c.do("ones", shape=[tokens, tokens], out="ones").do("triu", "ones", diagonal=1, out="up").do("tril", "ones", out="low")
        c.do("masked_fill", "scores", "up", value="-inf", out="masked").do("div_sqrt", "masked", n=width // heads, out="scaled")
        c.do("softmax", "scaled", dim=-1, out="weights").do("dropout", "weights", p=0.3, rng="default", out="dropped")
        c.do("matmul", "dropped", "v", out="ctx").do("transpose", "ctx", dim0=1, dim1=2, out="ctxT")
        c.do("view", "ctxT", shape=[batch, tokens, width], out="joined")
        c.do("linear", "joined", "Wo", *(["bo"] if bias else []), out="out")
        c.do("softmax", "scores", dim=-1, out="open").do("mul", "open", "low", out="cut")
        c.do("sum", "cut", dim=-1, keepdim=True, out="rows").do("div", "cut", "rows", out="normed")
        c.do("select", "out", dim=0, index=0, out="first").do("sum", "first", out="total")
        c.do("stack", "first", "first", out="twice").do("eq", "cut", value=0, out="zeros")
        c.do("dropout", "out", p=0.5, train=False, out="same").do("tril", "open", out="lower")
        cases.append(c.case)


def main():
    cases = []
    for make in (draws, choices, shapes, attention):
        make(cases)
    with open("torch.json", "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
