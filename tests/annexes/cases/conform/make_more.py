"""Writes more.jsonl, with arguments that opinfo.jsonl lacks, and has what the other makers share. Made with PyTorch 1.13."""

import json
import math
import os
import sys
import types
import unittest

import torch
import torch.nn.functional as F

DTYPES = {torch.float64: "f64", torch.int64: "i64", torch.bool: "bool"}
INF, NAN = math.inf, math.nan


def number(x):
    return x if not isinstance(x, float) or math.isfinite(x) else str(x)


def packed(t):
    return {"dtype": DTYPES[t.dtype], "shape": list(t.shape), "data": [number(x) for x in t.clone().flatten().tolist()]}


def begun(name, op, inputs, args):
    """The record of a call without what it gives."""
    args = {k: number(v) for k, v in args.items()}
    tensors = [{"name": n, **packed(t), "requires_grad": t.requires_grad} for n, t in inputs.items()]
    return {"id": name, "op": op, "args": args, "inputs": tensors}


def finished(record, inputs, outputs):
    """The record with what PyTorch made of the inputs, its gradients, and their gradients."""
    outputs = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
    record["outputs"] = [packed(y) for y in outputs]
    outputs = [y for y in outputs if y.dtype == torch.float64]
    cotangents = [torch.randn_like(y).requires_grad_() for y in outputs]
    record["cotangents"] = [packed(c) for c in cotangents]
    leaves = {n: t for n, t in inputs.items() if t.requires_grad}
    record["grads"] = {}
    if not outputs or not leaves:
        return record
    grads = torch.autograd.grad(outputs, list(leaves.values()), cotangents, create_graph=True, allow_unused=True)
    grads = {n: g for n, g in zip(leaves, grads) if g is not None}
    record["grads"] = {n: packed(g) for n, g in grads.items()}
    v = {n: torch.randn_like(g) for n, g in grads.items()}
    wanted = list(leaves.values()) + cotangents
    attached = [n for n, g in grads.items() if g.requires_grad]
    second = [None] * len(wanted)
    if attached:
        second = torch.autograd.grad(
            [grads[n] for n in attached], wanted, [v[n] for n in attached], allow_unused=True
        )
    second = [packed(torch.zeros_like(w) if s is None else s) for w, s in zip(wanted, second)]
    record["grad2"] = {
        "v": {n: packed(t) for n, t in v.items()},
        "grads": dict(zip(leaves, second)),
        "cotangents": second[len(leaves):],
    }
    return record


def case(name, op, f, inputs, **args):
    return finished(begun(name, op, inputs, args), inputs, f(**inputs))


def op_db():
    """The samples of PyTorch's own tests, whose package imports expecttest, which only has to exist."""
    sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase, ACCEPT=False))
    from torch.testing._internal.common_methods_invocations import op_db as found
    return found


def write(file, records):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), file), "w") as lines:
        for i, record in enumerate(records):
            record["id"] = f"{record['op']}/{record['id']} {i}"
            lines.write(json.dumps(record) + "\n")


def draw(*shape):
    return torch.randn(shape, dtype=torch.float64).requires_grad_()


def given(*values):
    return torch.tensor(values, dtype=torch.float64).requires_grad_()


def ints(*values):
    return torch.tensor(values)


def losses():
    weight = torch.tensor([0.5, 2.0, 1.0], dtype=torch.float64)
    target, inner = lambda ignored: ints(2, ignored, 1, 0), lambda ignored: ints([[2, 0, 1]], [[1, 1, ignored]])
    options = [{"label_smoothing": 0.2}, {"ignore_index": 2, "label_smoothing": 0.7}, {"label_smoothing": 1.0}]
    for o in options:
        for reduction in ("mean", "sum", "none"):
            o = {**o, "reduction": reduction}
            ignored = o.get("ignore_index", -100)
            loss = lambda x, target, weight=None: F.cross_entropy(x, target, weight, **o)
            yield case(
                "classes", "cross_entropy", loss,
                {"x": draw(4, 3), "target": target(ignored), "weight": weight}, **o,
            )
            yield case("inner", "cross_entropy", loss, {"x": draw(2, 3, 1, 3), "target": inner(ignored)}, **o)
            if "ignore_index" not in o:
                p = torch.rand(2, 3, 2, dtype=torch.float64).requires_grad_()
                yield case(
                    "probabilities", "cross_entropy", loss,
                    {"x": draw(2, 3, 2), "target": p, "weight": weight}, **o,
                )
    yield case(
        "one row", "cross_entropy", lambda x, target: F.cross_entropy(x, target),
        {"x": draw(3), "target": ints(1)[0]},
    )
    yield case(
        "all ignored", "cross_entropy", lambda x, target: F.cross_entropy(x, target),
        {"x": draw(2, 3), "target": ints(-100, -100)},
    )


def attention():
    def attend(q, k, v, mask=None, is_causal=False, scale=None):
        scores = q @ k.transpose(-2, -1) * (scale or 1 / math.sqrt(q.size(-1)))
        if is_causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:]).tril() == 0, -INF)
        if mask is not None:
            scores = scores.masked_fill(~mask, -INF) if mask.dtype == torch.bool else scores + mask
        return torch.softmax(scores, -1) @ v

    qkv = lambda *batch: {"q": draw(*batch, 3, 2), "k": draw(*batch, 5, 2), "v": draw(*batch, 5, 4)}
    hides = torch.tensor([[True, False, True, True, False], [False] * 5, [True] * 5])
    for name, args in (("", {}), (", causal", {"is_causal": True}), (", scale", {"scale": 0.3})):
        run = lambda **inputs: attend(**inputs, **args)
        op = "scaled_dot_product_attention"
        yield case("no batch" + name, op, run, qkv(), **args)
        yield case("mask" + name, op, run, {**qkv(2), "mask": hides}, **args)
        yield case("added mask" + name, op, run, {**qkv(2, 1), "mask": draw(3, 5)}, **args)
        yield case(
            "mask for keys" + name, op, run, {**qkv(1, 2), "mask": given(0.5, 1.0, -INF, 0.0, -2.0)},
            **args,
        )


def edges():
    infinite = given(-INF, -1.0, 0.0, 3.0, INF, NAN)
    for op, f in (("gelu", F.gelu), ("silu", F.silu), ("sigmoid", torch.sigmoid), ("tanh", torch.tanh), ("abs", torch.abs)):
        yield case("infinities", op, lambda x: f(x), {"x": infinite})
    rows = given([1.0, -INF, 2.0], [-INF, -INF, -INF], [1.0, INF, 2.0])
    for op in ("softmax", "log_softmax", "logsumexp"):
        yield case("rows with infinities", op, lambda x: getattr(torch, op)(x, -1), {"x": rows}, dim=-1)
    for op in ("std", "var"):
        f = getattr(torch, op)
        yield case("constant rows", op, lambda x: f(x, 1), {"x": given([2.0, 2.0], [1.0, 2.0])}, dim=1)
        yield case(
            "list of dims", op, lambda x: f(x, (0, 2), True, True), {"x": draw(2, 3, 2)}, dim=[0, -1],
            keepdim=True,
        )
    for op in ("max", "min"):
        f = getattr(torch, op)
        yield case("NaN of all", op, lambda x: f(x), {"x": given(1.0, NAN, 3.0, NAN)})
        yield case(
            "NaN along a dim", op, lambda x: f(x, 1), {"x": given([1.0, 2.0], [NAN, NAN], [3.0, 3.0])},
            dim=1,
        )
    yield case(
        "zeros", "pow", lambda x, other: x**other,
        {"x": given(0.0, 0.0, -2.0, 2.0), "other": given(0.0, -1.0, 0.0, 3.0)},
    )
    yield case("a number", "pow", lambda x: x**2.5, {"x": given(0.5, 2.0)}, other=2.5)
    yield case(
        "numbers", "clamp", lambda x: x.clamp(-1, 0.5), {"x": given(-2.0, -1.0, 0.0, 0.5, 3.0, NAN)},
        min=-1, max=0.5,
    )
    bounds = {"x": draw(2, 3), "min": draw(3), "max": draw(2, 1)}
    yield case("broadcast", "clamp", lambda x, min, max: x.clamp(min, max), bounds)


def places():
    index = lambda *subscripts: {"index": list(subscripts)}
    all_, row, column = {"slice": [None, None, None]}, {"tensor": "i"}, {"tensor": "j"}
    i, j, mask = ints(2, 0, -1), ints([1], [0]), torch.tensor([True, False, True])
    op = "__getitem__"
    yield case(
        "parted", op, lambda x, i, j: x[i, :, j], {"x": draw(3, 4, 2), "i": i, "j": j},
        **index(row, all_, column),
    )
    yield case(
        "beside", op, lambda x, i, j: x[None, :, i, j], {"x": draw(2, 3, 2), "i": i, "j": j},
        **index({"newaxis": 1}, all_, row, column),
    )
    yield case(
        "mask and number", op, lambda x, i: x[i, 1:, 0], {"x": draw(3, 4, 2), "i": mask},
        **index(row, {"slice": [1, None, None]}, {"int": 0}),
    )
    yield case(
        "ellipsis", op, lambda x, i: x[0, ..., i], {"x": draw(2, 2, 3), "i": i},
        **index({"int": 0}, {"ellipsis": 1}, row),
    )
    yield case(
        "steps", op, lambda x: x[-1, 3:0, ::2], {"x": draw(2, 3, 4)},
        **index({"int": -1}, {"slice": [3, 0, None]}, {"slice": [None, None, 2]}),
    )
    yield case(
        "padding", "embedding", lambda weight, index: F.embedding(index, weight, padding_idx=-2),
        {"weight": draw(4, 3), "index": ints([2, 0], [2, 1])}, padding_idx=-2,
    )
    yield case(
        "alpha", "index_add", lambda x, index, source: x.index_add(-1, index, source, alpha=2.5),
        {"x": draw(2, 3), "index": ints(2, 2), "source": draw(2, 2)}, dim=-1, alpha=2.5,
    )
    yield case(
        "value", "masked_fill", lambda x, mask, value: x.masked_fill(mask, value),
        {"x": draw(2, 1), "mask": mask, "value": draw()},
    )
    yield case(
        "to one", "linear", lambda x, weight: F.linear(x, weight), {"x": draw(2, 3), "weight": draw(3)},
    )
    yield case(
        "empty pieces", "split", lambda x: x.split([0, 2, 1], -1), {"x": draw(2, 3)}, size=[0, 2, 1],
        dim=-1,
    )
    yield case("few pieces", "chunk", lambda x: x.chunk(7, -2), {"x": draw(3, 2)}, chunks=7, dim=-2)
    yield case(
        "sum", "mse_loss", lambda x, target: F.mse_loss(x, target, reduction="sum"),
        {"x": draw(2, 3), "target": draw(2, 3)}, reduction="sum",
    )


def decoder():
    def rotary(x, offset=0, base=10000.0):
        size = x.size(-1)
        angles = torch.outer(
            torch.arange(offset, offset + x.size(-2), dtype=torch.float64),
            base ** (-torch.arange(0, size, 2, dtype=torch.float64) / size),
        )
        c, s = torch.cat((angles, angles), -1).cos(), torch.cat((angles, angles), -1).sin()
        return x * c + torch.cat((-x[..., size // 2:], x[..., : size // 2]), -1) * s

    def grouped(q, k, v, is_causal=False):
        k, v = (t.repeat_interleave(q.size(-3) // t.size(-3), -3) for t in (k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        if is_causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:]).tril() == 0, -INF)
        return torch.softmax(scores, -1) @ v

    yield case("gate and up", "swiglu", lambda gate, up: F.silu(gate) * up, {"gate": draw(2, 5), "up": draw(2, 5)})
    yield case("heads", "rotary_embedding", rotary, {"x": draw(2, 2, 3, 4)})
    for args in ({"offset": 7}, {"offset": 3, "base": 500.0}):
        yield case("offset", "rotary_embedding", lambda x: rotary(x, **args), {"x": draw(3, 6)}, **args)
    for args in ({}, {"is_causal": True}):
        for heads in (1, 2):
            yield case(
                "grouped", "scaled_dot_product_attention", lambda q, k, v: grouped(q, k, v, **args),
                {"q": draw(2, 4, 3, 2), "k": draw(2, heads, 3, 2), "v": draw(2, heads, 3, 2)},
                enable_gqa=True, **args,
            )
    for args in ({}, {"approximate": "tanh"}):
        yield case(
            "bias", "gelu_linear", lambda x, weight, bias: F.linear(F.gelu(x, **args), weight, bias),
            {"x": draw(2, 3, 5), "weight": draw(4, 5), "bias": draw(4)}, **args,
        )
    yield case(
        "no bias", "swiglu_linear", lambda gate, up, weight: F.linear(F.silu(gate) * up, weight),
        {"gate": draw(3, 5), "up": draw(3, 5), "weight": draw(2, 5)},
    )


if __name__ == "__main__":
    torch.manual_seed(1)
    write("more.jsonl", [*losses(), *attention(), *edges(), *places(), *decoder()])
