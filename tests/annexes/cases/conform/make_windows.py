"""Writes windows.jsonl and windows_errors.jsonl: convolution, pooling and norms of channels on the samples of
PyTorch's own tests (torch.testing). Of the hundreds of samples of an operation, it takes some at random, so that each
value of each argument occurs. Made with PyTorch 1.13."""

import json
import random

import torch
import torch.nn.functional as F

from make_more import begun, case, draw, op_db, write

# The arguments after the first tensor, in order.
NAMES = {
    "unfold": "kernel_size dilation padding stride",
    "fold": "output_size kernel_size dilation padding stride",
    "conv1d": "weight bias stride padding dilation groups",
    "conv2d": "weight bias stride padding dilation groups",
    "max_pool1d": "kernel_size stride padding dilation ceil_mode return_indices",
    "max_pool2d": "kernel_size stride padding dilation ceil_mode return_indices",
    "avg_pool1d": "kernel_size stride padding ceil_mode count_include_pad",
    "avg_pool2d": "kernel_size stride padding ceil_mode count_include_pad divisor_override",
    "batch_norm": "running_mean running_var weight bias training momentum eps",
    "group_norm": "num_groups weight bias eps",
}
FEW = 20  # samples of an operation that has more
SMALL = 400  # elements of a sample's inputs, at most


def bound(op, sample):
    """The tensors and the other arguments of a sample, by name."""
    names = NAMES[op].split()
    args = {**dict(zip(names, sample.args)), **sample.kwargs}
    tensors = {"x": sample.input}
    for n in names:
        if isinstance(args.get(n), torch.Tensor):
            tensors[n] = args.pop(n)
        elif n in ("weight", "bias", "running_mean", "running_var"):
            args.pop(n, None)  # None
    args = {n: list(a) if isinstance(a, (tuple, torch.Size)) else a for n, a in args.items() if a is not None}
    return tensors, args


def key(args):
    return [(n, json.dumps(a)) for n, a in args.items()]


def chosen(all_):
    """Some of the samples, among them one with each value of each argument."""
    if len(all_) <= FEW:
        return all_
    random.Random(1).shuffle(all_)
    seen, first, rest = set(), [], []
    for tensors, args in all_:
        new = {*key(args), ("shape", tensors["x"].dim())} - seen
        seen |= new
        (first if new else rest).append((tensors, args))
    return (first + rest)[: max(FEW, len(first))]


def run(op, args):
    names = NAMES[op].split()
    f = getattr(F, op)

    def call(**tensors):
        if op == "batch_norm":  # the running values of the file stay as they are
            tensors = {n: t.clone() if n.startswith("running") else t for n, t in tensors.items()}
            for n in ("running_mean", "running_var"):
                tensors.setdefault(n, None)
        return f(tensors.pop("x"), **{n: {**tensors, **args}[n] for n in names if n in tensors or n in args})

    return call


def refusal(op, tensors, args):
    """A call that PyTorch refuses."""
    try:
        run(op, args)(**tensors)
    except Exception as e:
        zeros = {n: torch.zeros_like(t) for n, t in tensors.items()}
        zeros = {n: t.double() if t.is_floating_point() else t for n, t in zeros.items()}
        return {**begun("", op, zeros, args), "error": str(e)}
    raise RuntimeError(f"{op} {args} must fail")


def edges():
    """What the samples do not have: NaN, infinities, equal elements, no images, windows without an element."""
    x = torch.tensor([[[1.0, float("nan"), 0.0, 2.0], [2.0, 2.0, float("-inf"), -1.0], [2.0, 0.5, 3.0, float("inf")]]])
    x = x.double().requires_grad_()
    for op, tensors, args in (
        ("max_pool2d", {"x": x}, {"kernel_size": 2, "stride": 1, "return_indices": True}),
        ("max_pool1d", {"x": x}, {"kernel_size": [3], "padding": 1, "return_indices": True}),
        ("max_pool2d", {"x": torch.ones(1, 4, 4).double().requires_grad_()}, {"kernel_size": 3, "stride": 1}),
        ("max_pool2d", {"x": draw(0, 2, 4, 4)}, {"kernel_size": 2}),
        ("avg_pool2d", {"x": draw(0, 2, 4, 4)}, {"kernel_size": 2}),
        ("avg_pool2d", {"x": draw(2, 3, 5)}, {"kernel_size": [2, 4], "stride": [3, 2], "padding": [1, 2], "ceil_mode": True}),
        ("conv2d", {"x": draw(0, 2, 4, 4), "weight": draw(3, 2, 2, 2), "bias": draw(3)}, {"stride": 2}),
        ("conv2d", {"x": draw(2, 3, 5, 6), "weight": draw(4, 3, 1, 1)}, {"stride": [1, 2]}),
        ("conv2d", {"x": draw(2, 4, 3, 5), "weight": draw(8, 1, 2, 4), "bias": draw(8)}, {"padding": "same", "groups": 4}),
        ("conv1d", {"x": draw(2, 2, 9), "weight": draw(3, 2, 4)}, {"padding": "same", "dilation": 3}),
        ("unfold", {"x": draw(2, 2, 3, 4)}, {"kernel_size": [2, 3], "padding": [4, 2], "stride": [3, 1], "dilation": [2, 1]}),
        ("fold", {"x": draw(2, 12, 9)}, {"output_size": [4, 5], "kernel_size": [2, 3]}),
        ("fold", {"x": draw(8, 35)}, {"output_size": [5, 4], "kernel_size": 2, "dilation": [2, 1], "padding": [1, 2], "stride": 1}),
        ("fold", {"x": draw(0, 4, 4)}, {"output_size": [3, 3], "kernel_size": 2}),
        ("batch_norm", {"x": draw(4, 2, 3), "weight": draw(2), "bias": draw(2)}, {"training": True}),
        ("group_norm", {"x": draw(2, 4, 3, 2), "weight": draw(4), "bias": draw(4)}, {"num_groups": 2}),
    ):
        yield case("edge", op, run(op, args), tensors, **args)


def samples():
    for op in NAMES:
        infos = [o for o in op_db() if o.name == "nn.functional." + op and o.variant_test_name == ""]
        all_ = [bound(op, s) for o in infos for s in o.sample_inputs("cpu", torch.float64, requires_grad=True)]
        small = [(t, a) for t, a in all_ if sum(x.numel() for x in t.values()) <= SMALL]
        if op == "batch_norm":
            small = [(t, a) for t, a in small if t["x"].dim() > 1]  # PyTorch lets it have shape (0,)
        if op == "group_norm":
            # The gradients of a group of two values cancel: PyTorch's float32 has three digits of them.
            small = [(t, a) for t, a in small if t["x"].numel() != 2]
        for tensors, args in chosen(small):
            yield case("", op, run(op, args), tensors, **args)


def errors():
    image, weight = draw(2, 4, 5, 5), draw(6, 2, 3, 3)
    for op, tensors, args in (
        ("conv2d", {"x": image, "weight": weight}, {}),
        ("conv2d", {"x": image, "weight": weight}, {"groups": 3}),
        ("conv2d", {"x": image, "weight": weight}, {"groups": 4}),
        ("conv2d", {"x": image, "weight": weight, "bias": draw(5)}, {"groups": 2}),
        ("conv2d", {"x": image, "weight": weight}, {"groups": 2, "stride": 0}),
        ("conv2d", {"x": image, "weight": weight}, {"groups": 2, "stride": [1, 1, 1]}),
        ("conv2d", {"x": image, "weight": weight}, {"groups": 2, "padding": -1}),
        ("conv2d", {"x": image, "weight": weight}, {"groups": 2, "padding": "full"}),
        ("conv2d", {"x": image, "weight": weight}, {"groups": 2, "padding": "same", "stride": 2}),
        ("conv2d", {"x": image, "weight": weight}, {"groups": 2, "dilation": 3}),
        ("conv2d", {"x": draw(4, 5), "weight": weight}, {"groups": 2}),
        ("conv1d", {"x": draw(2, 4, 5), "weight": weight}, {}),
        ("conv1d", {"x": draw(2, 4, 5), "weight": draw(1, 4, 2)}, {"stride": [1, 2]}),
        ("unfold", {"x": image}, {"kernel_size": 6}),
        ("unfold", {"x": image}, {"kernel_size": [2, 0]}),
        ("unfold", {"x": image}, {"kernel_size": 2, "padding": -1}),
        ("fold", {"x": draw(2, 12, 12)}, {"output_size": [4, 5], "kernel_size": [2, 3]}),
        ("fold", {"x": draw(2, 11, 9)}, {"output_size": [4, 5], "kernel_size": [2, 3]}),
        ("max_pool2d", {"x": image}, {"kernel_size": 6}),
        ("max_pool2d", {"x": image}, {"kernel_size": 3, "padding": 2}),
        ("max_pool2d", {"x": image}, {"kernel_size": 3, "dilation": 3}),
        ("avg_pool2d", {"x": image}, {"kernel_size": 3, "stride": 0}),
        ("avg_pool2d", {"x": draw(5, 5)}, {"kernel_size": 3}),
        ("batch_norm", {"x": draw(1, 3)}, {"training": True}),
        ("batch_norm", {"x": draw(1, 3, 1, 1)}, {"training": True}),
        ("batch_norm", {"x": draw(2, 3)}, {}),
        ("batch_norm", {"x": draw(2, 3), "weight": draw(2)}, {"training": True}),
        ("batch_norm", {"x": draw(2, 3), "running_mean": draw(2), "running_var": draw(3)}, {}),
        ("group_norm", {"x": draw(2, 4, 3)}, {"num_groups": 3}),
        ("group_norm", {"x": draw(2, 4, 3), "weight": draw(2)}, {"num_groups": 2}),
        ("group_norm", {"x": draw(1, 4)}, {"num_groups": 4}),
    ):
        yield refusal(op, tensors, args)
    for op in NAMES:
        for o in op_db():
            if o.name == "nn.functional." + op and o.error_inputs_func and o.variant_test_name == "":
                calls = [bound(op, s.sample_input) for s in o.error_inputs("cpu")]
                yield from (refusal(op, t, a) for t, a in calls if not any(x.is_complex() for x in t.values()))


if __name__ == "__main__":
    torch.manual_seed(1)
    write("windows.jsonl", [*edges(), *samples()])
    write("windows_errors.jsonl", errors())
