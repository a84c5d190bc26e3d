"""Writes functions.jsonl: losses, norms, sorting, scatter, einsum and their errors. Made with PyTorch 1.13.

The inputs are samples of PyTorch's own tests (OpInfo), and edges.
"""

import torch
import torch.nn.functional as F

from make_more import DTYPES, INF, NAN, begun, draw, finished, given, ints, op_db, write

# operation -> PyTorch's function, the names of its parameters in order, and how many of OpInfo's samples to take
OPS = {
    "l1_loss": (F.l1_loss, ["x", "target"], 6),
    "huber_loss": (F.huber_loss, ["x", "target"], 6),
    "smooth_l1_loss": (F.smooth_l1_loss, ["x", "target"], 8),
    "nll_loss": (F.nll_loss, ["x", "target"], 30),
    "kl_div": (F.kl_div, ["x", "target"], 16),
    "binary_cross_entropy_with_logits": (F.binary_cross_entropy_with_logits, ["x", "target"], 26),
    "einsum": (None, ["tensors", "equation"], 11),
    "one_hot": (F.one_hot, ["index"], 4),
    "nonzero": (torch.nonzero, ["x"], 12),
    "scatter": (torch.scatter, ["x", "dim", "index", "src"], 8),
    "sort": (torch.sort, ["x", "dim", "descending"], 10),
    "topk": (torch.topk, ["x", "k", "dim", "largest", "sorted"], 7),
    "norm": (torch.linalg.vector_norm, ["x", "p", "dim", "keepdim"], 30),
    "flatten": (torch.flatten, ["x", "start_dim", "end_dim"], 6),
}
OPINFO = {"norm": "linalg.vector_norm"}
THEIRS = {"p": "ord"}  # names of arguments that differ


def call(op, inputs, args):
    """PyTorch's result for inputs and arguments by our names."""
    if op == "einsum":
        return torch.einsum(args["equation"], list(inputs.values()))
    f, names, _ = OPS[op]
    args = {THEIRS.get(k, k): v for k, v in args.items()}
    if op == "one_hot":
        return f(inputs["index"], **args)
    rest = {k: v for k, v in inputs.items() if k != names[0]}
    return f(inputs[names[0]], **rest, **args)


def case(name, op, inputs, args):
    """What PyTorch makes of the inputs; or its error."""
    record = begun(name, op, inputs, args)
    try:
        outputs = call(op, inputs, args)
    except (RuntimeError, ValueError, IndexError) as error:
        return {**record, "error": str(error).split("\n")[0]}
    return finished(record, inputs, outputs)


def doubled(x):
    return x.double() if isinstance(x, torch.Tensor) and x.dtype == torch.float32 else x


def named(op, sample):
    """Inputs and arguments of a sample by our names; None if they cannot be written."""
    names = OPS[op][1]
    ours = {theirs: mine for mine, theirs in THEIRS.items()}
    values = dict(zip(names, (sample.input, *sample.args)))
    values.update({ours.get(k, k): v for k, v in sample.kwargs.items()})
    for ignored in ("as_tuple", "stable", "dtype"):
        if values.pop(ignored, None) not in (None, False) and ignored != "stable":
            return None
    if op == "scatter" and not isinstance(values["src"], torch.Tensor):
        values["value"] = values.pop("src")
    inputs, args = {}, {}
    for name, value in values.items():
        if name == "tensors":
            inputs.update({f"tensors.{i}": doubled(t) for i, t in enumerate(value)})
        elif isinstance(value, torch.Tensor):
            inputs[name] = doubled(value)
        elif value is not None:
            args[name] = list(value) if isinstance(value, tuple) else value
    inputs = {n: t.detach().requires_grad_(t.requires_grad) for n, t in inputs.items()}
    return (inputs, args) if all(t.dtype in DTYPES and t.numel() < 130 for t in inputs.values()) else None


def samples():
    for op, (_, _, most) in OPS.items():
        name = OPINFO.get(op, op)
        info = next(i for i in op_db() if i.name in (name, "nn.functional." + name) and not i.variant_test_name)
        dtype = torch.int64 if op == "one_hot" else torch.float64
        found = [named(op, s) for s in info.sample_inputs("cpu", dtype, requires_grad=dtype == torch.float64)]
        found = [f for f in found if f]
        for i in range(0, len(found), -(-len(found) // most)):
            yield case(f"opinfo {i}", op, *found[i])
        for i, e in enumerate(info.error_inputs("cpu") if info.error_inputs_func else []):
            tensors = [t for t in (e.sample_input.input, *e.sample_input.args) if isinstance(t, torch.Tensor)]
            if any(t.dtype != u.dtype for t in tensors for u in tensors if t.is_floating_point() and u.is_floating_point()):
                continue  # mixed dtypes cannot be written
            found = named(op, e.sample_input)
            if found:
                yield case(f"opinfo error {i}", op, *found)


def loss_edges():
    x, target = given(-3.0, -1.0, 0.0, 1.0, 2.5, 7.0), torch.zeros(6, dtype=torch.float64).requires_grad_()
    for op, args in (("l1_loss", {}), ("huber_loss", {"delta": 2.5}), ("smooth_l1_loss", {"beta": 2.5})):
        for reduction in ("none", "mean", "sum"):
            yield case(f"kinks, {reduction}", op, {"x": x, "target": target}, {**args, "reduction": reduction})
        yield case("broadcast", op, {"x": draw(2, 3), "target": draw(3)}, args)
        yield case("infinite", op, {"x": given(-INF, INF, 1.0), "target": draw(3)}, {"reduction": "none"})
        yield case("nothing", op, {"x": draw(0, 3), "target": draw(0, 3)}, {"reduction": "sum"})
    yield case("beta", "smooth_l1_loss", {"x": draw(2), "target": draw(2)}, {"beta": -1.0})

    for reduction in ("none", "mean", "sum"):
        for weight in ({}, {"weight": torch.rand(3, dtype=torch.float64)}):
            inputs = {"x": draw(4, 3), "target": ints(-100, -100, -100, -100), **weight}
            yield case(f"all ignored, {reduction}", "nll_loss", inputs, {"reduction": reduction})
            inputs = {"x": draw(4, 3), "target": ints(0, 5, 2, 5), **weight}
            yield case(f"ignored outside, {reduction}", "nll_loss", inputs, {"reduction": reduction, "ignore_index": 5})
    yield case("no rows", "nll_loss", {"x": draw(0, 3), "target": torch.zeros(0, dtype=torch.int64)}, {})
    yield case("class", "nll_loss", {"x": draw(2, 3), "target": ints(0, 3)}, {})
    yield case("negative class", "nll_loss", {"x": draw(2, 3), "target": ints(0, -1)}, {})
    yield case("rows", "nll_loss", {"x": draw(2, 3), "target": ints(0, 1, 2)}, {})
    yield case("scalar", "nll_loss", {"x": draw(), "target": ints(0)}, {})
    yield case("weights", "nll_loss", {"x": draw(2, 3), "target": ints(0, 1), "weight": draw(2).detach()}, {})
    yield case("floats", "nll_loss", {"x": draw(2, 3), "target": draw(2)}, {})

    for reduction in ("none", "mean", "sum", "batchmean"):
        zeros = {"x": draw(2, 2), "target": given([0.0, 0.25], [1.0, 0.0])}
        yield case(f"zeros, {reduction}", "kl_div", zeros, {"reduction": reduction})
        yield case(f"broadcast, {reduction}", "kl_div", {"x": draw(2, 3), "target": torch.rand(3).double()}, {"reduction": reduction})
    yield case("negative", "kl_div", {"x": draw(2), "target": given(-1.0, 0.5)}, {"reduction": "none"})
    far = {"x": draw(2), "target": given(-INF, 0.5)}
    yield case("impossible", "kl_div", far, {"reduction": "none", "log_target": True})
    yield case("scalar", "kl_div", {"x": draw(), "target": draw()}, {"reduction": "batchmean"})
    yield case("shapes", "kl_div", {"x": draw(2), "target": draw(3)}, {})

    op = "binary_cross_entropy_with_logits"
    logits, targets = given(-1e3, -40.0, -1e-20, 0.0, 1e-20, 40.0, 1e3), given(0.0, 1.0, 0.5, 0.5, 1.0, 1.0, 0.0)
    for reduction in ("none", "mean", "sum"):
        yield case(f"far, {reduction}", op, {"x": logits, "target": targets}, {"reduction": reduction})
        inputs = {"x": logits, "target": targets, "pos_weight": torch.tensor([3.0]).double()}
        yield case(f"far, weighed, {reduction}", op, inputs, {"reduction": reduction})
    yield case("shapes", op, {"x": draw(2, 3), "target": draw(3)}, {})
    for op in ("l1_loss", "huber_loss", "smooth_l1_loss", "kl_div", op):
        yield case("reduction", op, {"x": draw(2), "target": draw(2)}, {"reduction": "total"})
    for op in ("l1_loss", "huber_loss", "smooth_l1_loss", "nll_loss", "binary_cross_entropy_with_logits"):
        target = ints(0, 1) if op == "nll_loss" else draw(2, 2)
        yield case("batchmean", op, {"x": draw(2, 2), "target": target}, {"reduction": "batchmean"})


def norm_edges():
    rows = given([0.0, 0.0, 0.0], [3.0, 0.0, -4.0], [2.0, -2.0, 1.0], [-1.0, 1.0, 1.0])
    for p in (0, 0.5, 1, 1.5, 2, 3, -1, -2.5, INF, -INF):
        yield case(f"zeros and ties, {p}", "norm", {"x": rows}, {"p": p, "dim": 1})
        yield case(f"two dims, {p}", "norm", {"x": draw(2, 3, 2)}, {"p": p, "dim": [0, -1], "keepdim": True})
    yield case("none", "norm", {"x": draw(0, 3)}, {})
    yield case("largest of none", "norm", {"x": draw(0, 3)}, {"p": INF, "dim": 0})
    yield case("dim", "norm", {"x": draw(2, 3)}, {"dim": 2})
    yield case("dim twice", "norm", {"x": draw(2, 3)}, {"dim": [1, -1]})


def order_edges():
    x = given([2.0, NAN, -1.0, 2.0], [INF, 0.0, -INF, 0.0])
    for descending in (False, True):
        yield case("NaN and infinities", "sort", {"x": x}, {"descending": descending})
    yield case("integers", "sort", {"x": ints(3, 1, 2)}, {"descending": True})
    yield case("nothing", "sort", {"x": draw(2, 0)}, {})
    yield case("dim", "sort", {"x": draw(2, 3)}, {"dim": 2})
    for largest in (False, True):
        for k in (0, 1, 3):
            yield case(f"{k}", "topk", {"x": draw(2, 3)}, {"k": k, "largest": largest})
        yield case("columns", "topk", {"x": draw(4, 2)}, {"k": 2, "dim": -2, "largest": largest})
        yield case("NaN", "topk", {"x": given(1.0, NAN, 3.0, 2.0)}, {"k": 2, "largest": largest})
    yield case("k", "topk", {"x": draw(2, 3)}, {"k": 4})
    yield case("negative k", "topk", {"x": draw(2, 3)}, {"k": -1})
    yield case("dim", "topk", {"x": draw(2, 3)}, {"k": 1, "dim": 2})


def place_edges():
    yield case("smaller", "scatter", {"x": draw(3, 4), "index": ints([3, 0], [1, 2]), "src": draw(3, 2).detach()}, {"dim": 1})
    yield case("value", "scatter", {"x": draw(3, 4), "index": ints([2, 0, 1, 1])}, {"dim": 0, "value": -1.5})
    empty = torch.zeros((0, 2), dtype=torch.int64)
    yield case("no index", "scatter", {"x": draw(3, 2), "index": empty, "src": draw(1, 2).detach()}, {"dim": 0})
    yield case("integers", "scatter", {"x": ints(1, 2, 3), "index": ints(2, 0), "src": ints(7, 8)}, {"dim": 0})
    truth = torch.tensor([True, False])
    yield case("bool", "scatter", {"x": truth, "index": ints(1), "src": truth}, {"dim": 0})
    yield case("negative", "scatter", {"x": draw(3), "index": ints(-1), "src": draw(1)}, {"dim": 0})
    yield case("source", "scatter", {"x": draw(3, 3), "index": ints([0, 1], [1, 0]), "src": draw(2, 1)}, {"dim": 0})
    yield case("too many", "scatter", {"x": draw(3, 1), "index": ints([0, 1]), "src": draw(1, 2)}, {"dim": 0})
    for x in (truth, ints([0, -2], [3, 0]), torch.tensor(0.0).double(), torch.tensor(True), given(NAN, 0.0, -0.0).detach()):
        yield case(f"{DTYPES[x.dtype]} {list(x.shape)}", "nonzero", {"x": x}, {})
    for index, classes in ((ints(0, 3), 3), (ints(0, -1), -1), (torch.zeros(0, dtype=torch.int64), -1), (ints(0), 0),
                           (ints(0), -2), (torch.zeros((2, 0), dtype=torch.int64), 3), (ints([1], [0]), -1)):
        yield case(f"{classes} for {index.tolist()}", "one_hot", {"index": index}, {"num_classes": classes})
    for args in ({"start_dim": 2, "end_dim": 1}, {"start_dim": 3}, {"start_dim": -3, "end_dim": -2}, {"start_dim": 1, "end_dim": 1}):
        yield case(f"{args}", "flatten", {"x": draw(2, 1, 3)}, args)
    yield case("zero-size", "flatten", {"x": draw(2, 0, 3)}, {"start_dim": 1})


def einsums():
    good = {
        "i,i": [(3,), (3,)], "i,i->i": [(3,), (3,)], "i,j": [(3,), (2,)], "ij,j": [(2, 3), (3,)], "ij,jk": [(2, 3), (3, 4)],
        "ba": [(2, 3)], "bA": [(2, 3)], "ij->ji": [(2, 3)], "ii": [(3, 3)], "ii->i": [(3, 3)], "iij": [(2, 2, 3)],
        "...ii->...i": [(2, 3, 3)], "ii...->i...": [(2, 2, 3)], "i...i": [(2, 3, 2)], "iii->i": [(2, 2, 2)],
        "ijij->ij": [(2, 3, 2, 3)], "...->": [(2, 3)], "...": [(2, 3)], "->": [()], ",": [(), ()], ",i": [(), (3,)],
        "ij->": [(2, 3)], "i j , j k -> i k": [(2, 3), (3, 2)], "i...j, j...k": [(2, 3, 2), (2, 3, 2)],
        "...ij,...jk->...ik": [(3, 1, 2, 2), (2, 2, 3)], "...,...": [(2, 1), (3,)], "a...,a...->...": [(2, 3), (2, 1)],
        "ij,jk->ik": [(2, 1), (3, 2)], "ij,ij->": [(2, 3), (1, 3)], "bij,bjk->bik": [(1, 2, 3), (2, 3, 2)],
        "bn,anm,bm->ba": [(2, 3), (2, 3, 2), (2, 2)], "ij,jk,kl,lm->im": [(2, 2), (2, 3), (3, 1), (1, 2)],
        "i,j,k->kji": [(2,), (3,), (2,)], "ai,bi,ci->abc": [(2, 3), (2, 3), (1, 3)], "ij,i->j": [(0, 3), (0,)],
        "ii,ij": [(2, 2), (2, 3)], "a,ab,abc->abc": [(2,), (2, 3), (2, 3, 2)], "ab,cd->": [(2, 2), (1, 3)],
        "i...->...": [(2,)], "b...,b...->b": [(2, 3, 2), (2, 3, 2)], "zZa->Zza": [(1, 2, 3)],
    }
    bad = {
        "x->y": [(2,)], "xy": [(2,)], "x,y": [(2,)], "x": [(2,), (2,)], "x->xx": [(2,)], "x.y": [(2, 3)],
        "..": [(2, 3)], "...x...": [(2, 3)], "1": [(2,)], "x->...x..": [(2,)], "x,y->1": [(2,), (2,)], "xx": [(2, 3)],
        "xy,yz": [(2, 3), (2, 3)], "->x": [()], "xyz...": [(2, 3)], "x-y": [(2, 3)], "x>y": [(2, 3)],
        "x->x->": [(2,)], "": [(2,)], "x,": [(2,)], "x,,": [(2,), (2,)],
    }
    for equation, shapes in [*good.items(), *bad.items(), ("x", [(2, 3)]), ("...,...", [(2,), (3,)])]:
        inputs = {f"tensors.{i}": draw(*s) for i, s in enumerate(shapes)}
        yield case(f"{equation} {len(shapes)}", "einsum", inputs, {"equation": equation})


if __name__ == "__main__":
    torch.manual_seed(2)
    parts = (samples, loss_edges, norm_edges, order_edges, place_edges, einsums)
    write("functions.jsonl", [record for part in parts for record in part()])
