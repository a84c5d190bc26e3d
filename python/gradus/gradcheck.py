"""gradcheck: compares the gradients of a function with differences of its values, in float64, and names the likely cause of an error.

The function may work on gradus tensors, on NumPy arrays with a gradient that is written by hand, on tensors of PyTorch (functions,
modules, autograd.Functions), or on the objects of micrograd, needle and minitorch (see `like`). In tests,

    def test_my_op(gradcheck):
        gradcheck(my_op, [x, w])

uses the fixture of the plugin gradus.pytest_plugin: `pytest -p gradus.pytest_plugin`, or pytest_plugins in conftest.py.
"""
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
    inputs: list = field(repr=False)  #: for each input and order: input, order, worst, where, numeric, analytic

    def __bool__(self):
        return self.passed

    def __str__(self):
        return self.message or f"passed: {self.checks} checks, the largest error {self.worst:.3g} of what is allowed"


def gradcheck(f, inputs, order=2, *, grad=None, like=None, eps=1e-5, tolerance=1e-7, directions=4, elementwise=32, seed=0):
    """Checks d f / d input at `inputs`, for those that require gradients, or for all floating ones if none does.

    f: takes the inputs one by one, gives one result of any shape. It must not depend on anything that changes between calls.
    inputs: float64 tensors, arrays or tensors of PyTorch (float32 is converted); others, such as indices, are passed as they are.
    order: 2 also checks the gradient of the gradient. Gradients written by hand and those of `like` have order 1 only.
    grad: for f on NumPy arrays, grad(gy, *inputs) -> the gradient of sum(gy * f(*inputs)), for each input: an array, or a tuple.
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
    tensors = [x.detach().double().requires_grad_(none_is_chosen or x.requires_grad) if x.dtype.is_floating_point else x for x in tensors]
    if is_torch:
        f = _of_torch(f.apply if isinstance(f, type) else f, torch)
    elif like is not None:
        f, order = _by_hand(*_LIKE[like](f)), 1
    elif grad is not None:
        f, order = _by_hand(f, grad), 1
    elif any(not isinstance(x, gradus.Tensor) for x in given):
        raise gradus.Error("[gradcheck] a function of arrays must have its gradient as grad=, got none.")
    return Report(**_core._gradcheck(lambda xs: f(*xs), tensors, order, eps, tolerance, directions, elementwise, seed))


def _tensor(x):
    if isinstance(x, gradus.Tensor):
        return x
    needs = bool(getattr(x, "requires_grad", False))
    values = x.detach().cpu().numpy() if hasattr(x, "detach") else x
    return gradus.tensor(values).requires_grad_(needs)


# -- functions of others as operations of gradus

def _record(name, value, inputs, rule):
    return _core._record_function(name, [value], inputs, rule)[0]


def _by_hand(f, grad):
    """An operation of a function of arrays and of its gradient. It cannot be differentiated twice."""
    def op(*xs):
        arrays = [x.detach().contiguous().numpy().copy() for x in xs]

        def rule(gys):
            found = grad(gys[0].contiguous().numpy().copy(), *(a.copy() for a in arrays))
            found = found if isinstance(found, (tuple, list)) else [found]
            if len(found) != len(xs):
                raise gradus.Error(f"[gradcheck] grad must give a gradient for each of {len(xs)} inputs, got {len(found)}.")
            return [None if g is None else gradus.tensor(g, dtype=gradus.float64) for g in found]
        return _record(getattr(f, "__name__", "function"), gradus.tensor(f(*arrays), dtype=gradus.float64), list(xs), rule)
    return op


def _of_torch(f, torch, name="torch"):
    """An operation of a differentiable function of PyTorch. Its rule is another, of torch.autograd.grad."""
    if isinstance(f, torch.nn.Module):
        f.double()

    def call(*tensors):
        with torch.enable_grad():
            return f(*tensors)

    def gradient(i):
        def g(*tensors):
            *xs, gy = (t if t.requires_grad or not t.is_floating_point() else t.detach().requires_grad_() for t in tensors)
            found, = torch.autograd.grad(call(*xs), xs[i], gy, create_graph=True, allow_unused=True)
            return torch.zeros_like(xs[i]) if found is None else found
        return g

    def op(*xs):
        tensors = [torch.from_numpy(x.detach().contiguous().numpy().copy()) for x in xs]
        y = gradus.tensor(call(*tensors).detach().numpy())

        def rule(gys):
            return [_of_torch(gradient(i), torch, "torch gradient")(*xs, gys[0]) if x.dtype.is_floating_point else None
                    for i, x in enumerate(xs)]
        return _record(name, y, list(xs), rule)
    return op


def _of_micrograd(f):
    """f takes nested lists of scalar Values, or one for an array without dimensions, and gives one Value."""
    def values(array, make):
        return [values(a, make) for a in array] if array.ndim else make(float(array))

    def grads(nested):
        return [grads(v) for v in nested] if isinstance(nested, list) else nested.grad

    def run(*arrays):
        from micrograd.engine import Value
        xs = [values(a, Value) for a in arrays]
        return f(*xs), xs

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
        return [give(x.grad) for x in xs]
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
