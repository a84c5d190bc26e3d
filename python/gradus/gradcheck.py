"""gradcheck: compares the gradients of a function with differences of its values, in float64, and names the likely cause of an error.

The function may work on gradus tensors, on NumPy arrays with a gradient that is written by hand, on tensors of PyTorch (functions,
modules, autograd.Functions), or on the objects of micrograd, needle and minitorch (see `like`). In tests,

    def test_my_op(gradcheck):
        gradcheck(my_op, [x, w])

uses the fixture of the plugin gradus.pytest_plugin: `pytest -p gradus.pytest_plugin`, or pytest_plugins in conftest.py.
"""
import copy
import re
import sys
from dataclasses import dataclass, field

import gradus
from gradus import _core


@dataclass(frozen=True)
class Report:
    """What a check found. It is true if the check passed."""

    passed: bool
    checks: int  #: comparisons made
    worst: float  #: the largest error as a multiple of the allowed error
    message: str  #: the worst failure: order, input, position, both numbers, seed; empty if passed
    cause: str  #: the likely error in the rule: a factor, a sign, a transpose, ...; empty if there is no likely one
    wrong_op: dict = field(repr=False)  #: the oldest operation with a wrong rule: number, op, order, numeric, analytic, error
    inputs: list = field(repr=False)  #: for each input, then parameter, and order: input, order, worst, where, numeric, analytic

    def __bool__(self):
        return self.passed

    def __str__(self):
        return self.message or f"passed: {self.checks} checks, the largest error {self.worst:.3g} of what is allowed"


class _Wrong(gradus.Error):
    """A rule is wrong whatever its numbers are."""


def gradcheck(f, inputs, order=2, *, grad=None, like=None, eps=1e-5, tolerance=1e-7, directions=4, elementwise=32, seed=0):
    """Checks d f / d input at `inputs`, for those that require gradients, or for all floating ones if none does.

    f: takes the inputs one by one, gives one result of any shape, or a tuple of tensors. It must not depend on anything that changes
    between calls. Of a module of gradus or PyTorch, or a method of one, a float64 copy is checked, and its parameters like inputs.
    inputs: float64 tensors, arrays or tensors of PyTorch (float32 is converted); others, such as indices, keep their dtype. f gets copies.
    order: 2 also checks the gradient of the gradient. Gradients written by hand and those of `like` have order 1 only.
    grad: for f on NumPy arrays, grad(gy, *inputs) -> the gradient of sum(gy * f(*inputs)), for each input: an array, or a tuple. None
    is a gradient of zeros.
    like: "micrograd", "needle" or "minitorch": f takes and gives such objects.
    eps, tolerance, directions, elementwise, seed: as in the C++ library; docs/operations-and-gradient-checks.md explains them.

    Returns a Report. Errors of f pass through; gradus.Error for inputs that cannot be checked."""
    given = [inputs] if hasattr(inputs, "shape") else list(inputs)
    if like not in (None, *_LIKE):
        raise gradus.Error(f"[gradcheck] like must be one of {', '.join(_LIKE)}, got '{like}'.")
    torch = sys.modules.get("torch")
    is_torch = torch is not None and hasattr(torch, "_C") and any(isinstance(x, torch.Tensor) for x in given)
    tensors = [_tensor(x) for x in given]
    none_is_chosen = not any(x.requires_grad for x in tensors)
    tensors = [_copied(x).requires_grad_((none_is_chosen or x.requires_grad) and x.dtype.is_floating_point) for x in tensors]
    f = f.apply if isinstance(f, type) and hasattr(f, "apply") else f
    module, parameters = getattr(f, "__self__", f), {}
    if isinstance(module, torch.nn.Module if is_torch else gradus.nn.Module):
        f, parameters = _of_module(module, type(f).__call__ if f is module else f.__func__, len(given))
        tensors += [_copied(_tensor(p)).requires_grad_() for p in parameters.values()]
    if is_torch:
        f = _of_torch(f, torch)
    elif like is not None:
        f, order = _by_hand(*_LIKE[like](f)), 1
    elif grad is not None:
        f, order = _by_hand(f, grad), 1
    elif any(not isinstance(x, gradus.Tensor) for x in given):
        raise gradus.Error("[gradcheck] a function of arrays must have its gradient as grad=, got none.")
    else:
        f = _joined(f, gradus)
    own = [x.stride() for x in tensors]

    def call(xs):
        try:
            return f(*xs)
        except Exception:
            if [x.stride() for x in xs] == own and not any(x.storage_offset() for x in xs):
                raise
            return f(*(x.clone() for x in xs))  # f need not take each layout

    def named(text):
        names = {f"input {len(given) + k}": f"parameter {name}" for k, name in enumerate(parameters)}
        return re.sub(r"\binput \d+", lambda m: names.get(m[0], m[0]), text)
    try:
        found = _core._gradcheck(call, tensors, order, eps, tolerance, directions, elementwise, seed)
    except _Wrong as e:
        wrong = {"number": 0, "op": "", "order": 1, "numeric": 0.0, "analytic": 0.0, "error": str(e)}
        found = {"passed": False, "checks": 1, "worst": float("inf"), "message": str(e), "cause": str(e), "wrong_op": wrong, "inputs": []}
    found["message"] = named(found["message"])
    found["inputs"] = [{**each, "where": named(each["where"])} for each in found["inputs"]]
    return Report(**found)


def _tensor(x):
    if isinstance(x, gradus.Tensor):
        return x
    needs = bool(getattr(x, "requires_grad", False))
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        x = (x.double() if x.is_floating_point() else x).numpy()
    has_layout = getattr(x, "ndim", 0) > 1 and x.dtype.kind == "f"
    return (gradus.from_numpy(x.astype("float64")) if has_layout else gradus.tensor(x)).requires_grad_(needs)


def _copied(x):
    """A copy in float64, if x is floating, whose dimensions have the order in memory of those of x."""
    order = sorted(range(x.dim()), key=lambda d: -x.stride()[d])
    y = x.detach().permute(*order) if order else x.detach()
    y = (y.double() if x.dtype.is_floating_point else y).clone()
    return y.permute(*(order.index(d) for d in range(x.dim()))) if order else y


def _joined(f, library):
    """f with one result: the floating ones in a row, if it gives several."""
    def leaves(y):
        return [part for each in y for part in leaves(each)] if isinstance(y, (tuple, list)) else [y]

    def one(*xs):
        parts = leaves(f(*xs))
        if not parts or not all(isinstance(y, library.Tensor) for y in parts):
            kinds = ", ".join(sorted({type(y).__name__ for y in parts})) or "none"
            raise gradus.Error(f"[gradcheck] f must give a tensor of {library.__name__}, or a tuple of tensors, got {kinds}.")
        floating = [y for y in parts if y.is_floating_point()] or parts[:1]
        return floating[0] if len(floating) == 1 else library.cat([y.flatten() for y in floating])
    return one


def _of_module(module, method, count):
    """f(*inputs, *parameters) of a copy of a module, which f does not change, and its trained parameters by name. `count`: of inputs."""
    computed = [x for m in module.modules() for x in vars(m).values() if hasattr(x, "is_leaf") and not x.is_leaf]
    module = copy.deepcopy(module, {id(x): x.detach() for x in computed}).double()
    parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}

    def f(*xs):
        return method(copy.deepcopy(module, {id(p): x.contiguous() for p, x in zip(parameters.values(), xs[count:])}), *xs[:count])
    return f, parameters


# -- functions of others as operations of gradus

def _laid_out(x):
    """A copy of the values of a tensor as an array with its strides and offset, NaN between them; and the array of all this memory."""
    import numpy as np
    values, offset = x.detach().numpy(), x.storage_offset()
    size = offset + (sum((n - 1) * stride for n, stride in zip(x.shape, x.stride())) + 1 if values.size else 0)
    memory = np.full(size, np.nan if x.dtype.is_floating_point else 0, values.dtype)
    array = np.ndarray(values.shape, values.dtype, memory, offset * values.itemsize, values.strides)
    array[...] = values
    array.flags.writeable = all(n < 2 or stride for n, stride in zip(x.shape, x.stride()))  # as NumPy has it
    return array, memory


def _record(name, call, rule, xs):
    """Records call(xs), which gives tensors, as an operation with rule(gys, xs). A rule that fails in one layout only is wrong."""
    results = call(xs)

    def pull(gys):
        gys = [gradus.zeros_like(y) if g is None else g for g, y in zip(gys, results)]
        try:
            return rule(gys, xs)
        except Exception as e:
            others = [f"{x.stride()} at offset {x.storage_offset()}" for x in [*gys, *xs] if x.storage_offset() or not x.is_contiguous()]
            if not others:
                raise
            found = rule([g.clone() for g in gys], [x.clone() for x in xs])
            # Not wrong: a complex view at an odd offset, which PyTorch refuses; writes in its copies, which NumPy refuses if expanded.
            if all(x.is_contiguous() for x in [*gys, *xs]) or "read-only" in str(e):
                return found
            raise _Wrong(f"the rule of {name} fails if the upstream gradient or an input has strides {', '.join(others)}, and not if "
                         f"all are packed: {type(e).__name__}: {e}") from e
    return _core._record_function(name, results, xs, pull)


def _by_hand(f, grad):
    """An operation of a function of arrays and of its gradient. It cannot be differentiated twice."""
    def call(xs):
        y = f(*(_laid_out(x)[0] for x in xs))
        if y is None or isinstance(y, (tuple, list)):
            raise gradus.Error(f"[gradcheck] f must give one array or number, got {type(y).__name__}.")
        return [gradus.tensor(y, dtype=gradus.float64)]

    def rule(gys, xs):
        with gradus.enable_grad():  # grad may use gradus.grad
            found = grad(*(_laid_out(x)[0] for x in [*gys, *xs]))
        found = found if isinstance(found, (tuple, list)) else [found]
        if len(found) != len(xs):
            raise gradus.Error(f"[gradcheck] grad must give a gradient for each of {len(xs)} inputs, got {len(found)}.")
        found = [gradus.zeros_like(x) if g is None else gradus.tensor(g, dtype=gradus.float64) for g, x in zip(found, xs)]
        for i, (g, x) in enumerate(zip(found, xs)):
            if g.shape != x.shape and x.dtype.is_floating_point:
                raise _Wrong(f"grad must give for input {i} a gradient of its shape {tuple(x.shape)}, got {tuple(g.shape)}.")
        return [g if x.dtype.is_floating_point else None for g, x in zip(found, xs)]
    return lambda *xs: _record(getattr(f, "__name__", "function"), call, rule, list(xs))[0]


def _of_torch(f, torch):
    """An operation of a differentiable function of PyTorch. Its rule is another, of torch.autograd.grad."""
    def operation(name, f, xs):
        def call(xs):
            with torch.enable_grad():
                ys = f(*(torch.from_numpy(_laid_out(x)[1]).as_strided(x.shape, x.stride(), x.storage_offset()) for x in xs))
            return [gradus.tensor(torch.zeros(y.shape, dtype=y.dtype).copy_(y.detach()).numpy()) for y in ys]

        def gradients(*tensors):
            leaves = [t if t.requires_grad or not t.is_floating_point() else t.detach().requires_grad_() for t in tensors]
            inputs = [t for t in leaves[:len(xs)] if t.is_floating_point()]
            results = [(y, gy) for y, gy in zip(f(*leaves[:len(xs)]), leaves[len(xs):]) if y.requires_grad]
            if not results:
                return [torch.zeros_like(t) for t in inputs]
            found = torch.autograd.grad([y for y, _ in results], inputs, [gy for _, gy in results], create_graph=True, allow_unused=True)
            return [torch.zeros_like(t) if g is None else g for g, t in zip(found, inputs)]

        def rule(gys, xs):
            found = iter(operation("torch gradient", gradients, [*xs, *gys]))
            return [next(found) if x.dtype.is_floating_point else None for x in xs]
        return _record(name, call, rule, xs)
    one = _joined(f, torch)
    return lambda *xs: operation("torch", lambda *tensors: [one(*tensors)], list(xs))[0]


def _of_micrograd(f):
    """f takes nested lists of scalar Values, or one for an array without dimensions, and gives one Value."""
    def values(array, make):
        return [values(a, make) for a in array] if array.ndim else make(float(array))

    def grads(nested):
        return [grads(v) for v in nested] if isinstance(nested, list) else nested.grad

    def run(*arrays):
        from micrograd.engine import Value
        xs = [values(a, Value) for a in arrays]
        y = f(*xs)
        return y if isinstance(y, Value) else Value(float(y)), xs

    def grad(gy, *arrays):
        y, xs = run(*arrays)
        (y * float(gy)).backward()
        return [grads(x) for x in xs]
    return lambda *arrays: run(*arrays)[0].data, grad


def _of_tensors(f, make, give):
    """f takes and gives tensors with backward(gradient) and .grad: make(array) -> tensor, give(tensor) -> array."""
    def grad(gy, *arrays):
        xs = [make(a) for a in arrays]
        f(*xs).backward(make(gy))
        return [None if x.grad is None else give(x.grad) for x in xs]
    return lambda *arrays: give(f(*map(make, arrays))), grad


def _of_needle(f):
    import needle
    return _of_tensors(f, lambda a: needle.Tensor(a, dtype="float64"), lambda t: t.numpy())


def _of_minitorch(f):
    import minitorch

    def make(array):
        t = minitorch.tensor(array.tolist())
        t.requires_grad_(True)
        return t
    return _of_tensors(f, make, lambda t: t.to_numpy())


_LIKE = {"micrograd": _of_micrograd, "needle": _of_needle, "minitorch": _of_minitorch}
