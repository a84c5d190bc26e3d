"""Modes, derivatives of functions, and operations of one's own."""
from __future__ import annotations

import contextlib
import copy
from typing import Any, Callable, Sequence

from . import _core
from ._core import Error, Tensor


class _Mode(contextlib.ContextDecorator):
    """A setting of this thread, for a with block or a function that it decorates."""

    _get: Callable[[], Any]
    _set: Callable[[Any], None]

    def __init__(self, value: Any) -> None:
        self._value = value
        self._before: list[Any] = []

    def _recreate_cm(self) -> _Mode:  # for each call of a decorated function
        return type(self)(self._value)  # type: ignore[call-arg]

    def __enter__(self) -> _Mode:
        self._before.append(type(self)._get())
        type(self)._set(self._value)
        return self

    def __exit__(self, *_: Any) -> None:
        type(self)._set(self._before.pop())


def _mode(name: str, doc: str, get: Callable[[], Any], put: Callable[[Any], None], value: Any) -> type[_Mode]:
    """A mode with its default; None: it must be given."""
    def __init__(self: _Mode, mode: Any = value) -> None:
        _Mode.__init__(self, mode)
    return type(name, (_Mode,), {"__init__": __init__, "__doc__": doc, "_get": staticmethod(get), "_set": staticmethod(put),
                                 "__qualname__": name})


_GRAD = _core.is_grad_enabled, _core._set_grad_enabled
no_grad = _mode("no_grad", "Records nothing: for evaluation, generation and updates of parameters.", *_GRAD, False)
enable_grad = _mode("enable_grad", "Records again, inside no_grad().", *_GRAD, True)
detect_anomaly = _mode("detect_anomaly", "Finds the operation that produced the first number that is not finite; the error names the "
                       "line of Python that recorded it.", _core._is_anomaly_enabled, _core._set_anomaly_enabled, True)
autocast = _mode("autocast", "Products of float32 matrices round their operands to bfloat16.", _core._autocast_dtype,
                 _core._set_autocast_dtype, "bfloat16")


class set_grad_enabled(_Mode):
    """Operations are recorded or not: from here on, or in a with block."""

    _get, _set = staticmethod(_core.is_grad_enabled), staticmethod(_core._set_grad_enabled)

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)
        self._before = [_core.is_grad_enabled()]
        _core._set_grad_enabled(mode)

    def __enter__(self) -> _Mode:
        return self


def _listed(x: Any) -> list[Any]:
    return [x] if isinstance(x, Tensor) or x is None else list(x)


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool = False, create_graph: bool = False,
         allow_unused: bool = False) -> tuple[Any, ...]:
    """d(sum of grad_outputs * outputs)/d(input) for each input; changes no .grad."""
    cotangents = [] if grad_outputs is None else _listed(grad_outputs)
    return tuple(_core._grad(_listed(outputs), _listed(inputs), cotangents, retain_graph, create_graph, allow_unused))


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool = False, create_graph: bool = False) -> None:
    """Adds gradients to the .grad of every leaf."""
    cotangents = [] if grad_tensors is None else _listed(grad_tensors)
    _core._backward(_listed(tensors), cotangents, retain_graph, create_graph)


def Variable(data: Tensor, requires_grad: bool = False) -> Tensor:
    """The tensor, which older code wraps."""
    return data.detach().requires_grad_() if requires_grad else data


def checkpoint(function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """function(*inputs) without keeping what it computes, which backward computes again."""
    return _core._checkpoint(lambda xs: function(*xs), list(inputs))


def jacobian(function: Callable[[Tensor], Tensor], x: Tensor, create_graph: bool = False) -> Tensor:
    """d f(x)_i / d x_j: the shape of f(x), followed by that of x. By backward passes, or in forward mode where f(x) is far larger."""
    return _core._jacobian(function, x, create_graph)


def hessian(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """d^2 f(x) / d x_i d x_j of a function with one value: the shape of x twice."""
    return _core._hessian(function, x)


def gradcheck(func: Callable[..., Tensor], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
              raise_exception: bool = True, order: int = 1) -> bool:
    """gradus.gradcheck() as PyTorch calls it; it chooses its steps and tolerances itself, which are smaller than these. Raises Error
    if it fails, unless raise_exception is False."""
    from .gradcheck import gradcheck as check
    report = check(func, inputs, order)
    if raise_exception and not report:
        raise Error(report.message)
    return bool(report)


def gradgradcheck(func: Callable[..., Tensor], inputs: Any, **options: Any) -> bool:
    """gradcheck() of the gradient of the gradient, too."""
    return gradcheck(func, inputs, order=2, **options)


class functional:
    """torch.autograd.functional: jacobian and hessian."""

    jacobian, hessian = staticmethod(jacobian), staticmethod(hessian)


def per_example_gradients(model: Any, loss: Callable[..., Tensor], batch: Sequence[Tensor]) -> dict[str, Tensor]:
    """The gradient of each example's loss for each parameter, (B, *its shape), in one backward pass. loss(model, *batch) gives the
    losses of the B examples, (B); each tensor of the batch has them in its first dimension. Raises Error for parameters that are
    used otherwise than in Linear, Embedding, norms, attention, sums and products."""
    names, parameters = zip(*model.named_parameters())
    return dict(zip(names, _core._per_example_gradients(lambda parts: loss(model, *parts), list(parameters), list(batch))))


class _Context:
    """What a Function's forward keeps for its backward."""

    saved_tensors: tuple[Tensor, ...] = ()
    _constants: tuple[Tensor, ...] = ()
    needs_input_grad: tuple[bool, ...] = ()
    _versions: tuple[int, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors; backward refuses them if they are overwritten in between."""
        self._versions = tuple(x._version if x is not None else 0 for x in tensors)
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """These results of forward get no gradient."""
        self._constants = tensors

    def _check(self, name: str) -> None:
        for x, version in zip(self.saved_tensors, self._versions):
            if x is not None and x._version != version:
                raise Error(f"[backward] a tensor of shape {tuple(x.shape)} that {name} needs has been "
                                  "overwritten since it was used. Hint: call backward() before changing values in place.")


class _Call:
    """A call of a Function, and the rule of its backward."""

    def __init__(self, function: Any, ctx: _Context, args: Sequence[Any], outputs: list[Any]) -> None:
        self._function, self._name, self._ctx, self._args, self._outputs = function, function.__name__, ctx, args, outputs
        self._places = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
        self._followed = [i for i, x in enumerate(outputs) if not any(x is constant for constant in ctx._constants)]

    def record(self) -> list[Any]:
        """The results, recorded."""
        results = list(self._outputs)
        followed = [results[i] for i in self._followed]
        made = _core._record_function(self._name, followed, [self._args[i] for i in self._places], self) if followed else []
        for i, x in zip(self._followed, made):
            results[i] = _core._named(x, f"{self._name}Backward")
        return results

    def __call__(self, gradients: Sequence[Any]) -> list[Any]:
        ctx, every = self._ctx, dict(zip(self._followed, gradients))
        ctx._check(self._name)
        saved = {id(x) for x in ctx.saved_tensors}
        if _core.is_grad_enabled() and any(id(x) in saved for x in self._outputs):  # the gradient is recorded: they depend on the arguments
            again, ctx = list(zip(self._outputs, self.record())), copy.copy(ctx)
            ctx.saved_tensors = tuple(next((new for old, new in again if old is x), x) for x in ctx.saved_tensors)
        given = self._function.backward(ctx, *(every.get(i) for i in range(len(self._outputs))))
        listed = list(given) if isinstance(given, (tuple, list)) else [given]
        if len(listed) < len(self._args) or any(x is not None for x in listed[len(self._args):]):  # None is for a default
            raise Error(f"[{self._name}] backward must give a gradient or None for each of {len(self._args)} "
                        f"arguments, got {len(listed)}.")
        return [listed[i] for i in self._places]


class Function:
    """An operation of one's own: static methods forward(ctx, *args) and backward(ctx, *gradients), called by apply().

    backward gives a gradient, or None, for each argument of forward. Written with operations on tensors, it can be
    differentiated again.
    """

    @staticmethod
    def forward(*args: Any, **options: Any) -> Any:
        raise NotImplementedError("a Function needs a static method forward(ctx, *args)")

    @staticmethod
    def backward(*args: Any, **options: Any) -> Any:
        raise NotImplementedError("a Function needs a static method backward(ctx, *gradients)")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Calls forward, and records the operation."""
        ctx = _Context()
        ctx.needs_input_grad = tuple(isinstance(x, Tensor) and x.requires_grad for x in args)
        with no_grad():
            results = cls.forward(ctx, *args)
        recorded = _Call(cls, ctx, args, [results] if isinstance(results, Tensor) else list(results)).record()
        return recorded[0] if isinstance(results, Tensor) else tuple(recorded)
