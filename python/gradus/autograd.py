"""Modes, derivatives of functions, and operations of one's own."""
from __future__ import annotations

import functools
from typing import Any, Callable, Sequence

from . import _core
from ._types import Tensor


class _Mode:
    """A setting of this thread, for a with block or a function that it decorates."""

    _get: Callable[[], Any]
    _set: Callable[[Any], None]

    def __init__(self, value: Any) -> None:
        self._value = value
        self._before: list[Any] = []

    def __enter__(self) -> _Mode:
        self._before.append(type(self)._get())
        type(self)._set(self._value)
        return self

    def __exit__(self, *_: Any) -> None:
        type(self)._set(self._before.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, **options: Any) -> Any:
            with type(self)(self._value) if type(self) not in (no_grad, enable_grad) else type(self)():
                return function(*args, **options)
        return run


class set_grad_enabled(_Mode):
    """Operations are recorded or not: from here on, or in a with block."""

    _get, _set = staticmethod(_core.is_grad_enabled), staticmethod(_core.set_grad_enabled)

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)
        self._outer = _core.is_grad_enabled()
        _core.set_grad_enabled(mode)

    def __enter__(self) -> _Mode:
        self._before.append(self._outer)
        _core.set_grad_enabled(self._value)
        return self


class no_grad(_Mode):
    """Records nothing: for evaluation, generation and updates of parameters."""

    _get, _set = staticmethod(_core.is_grad_enabled), staticmethod(_core.set_grad_enabled)

    def __init__(self) -> None:
        super().__init__(False)


class enable_grad(_Mode):
    """Records again, inside no_grad()."""

    _get, _set = staticmethod(_core.is_grad_enabled), staticmethod(_core.set_grad_enabled)

    def __init__(self) -> None:
        super().__init__(True)


class detect_anomaly(_Mode):
    """Finds the operation that produced the first number that is not finite; the error names the line of Python
    that recorded it."""

    _get, _set = staticmethod(_core.is_anomaly_enabled), staticmethod(_core.set_anomaly_enabled)

    def __init__(self, mode: bool = True) -> None:
        super().__init__(mode)


class autocast(_Mode):
    """Products of float32 matrices round their operands to bfloat16."""

    _get, _set = staticmethod(_core.autocast_dtype), staticmethod(_core.set_autocast_dtype)

    def __init__(self, dtype: Any = "bfloat16") -> None:
        super().__init__(dtype)


def _listed(x: Any) -> list[Any]:
    return [x] if isinstance(x, Tensor) or x is None else list(x)


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool = False, create_graph: bool = False,
         allow_unused: bool = False) -> tuple[Any, ...]:
    """d(sum of grad_outputs * outputs)/d(input) for each input; changes no .grad."""
    cotangents = [] if grad_outputs is None else _listed(grad_outputs)
    return tuple(_core.grad(_listed(outputs), _listed(inputs), cotangents, retain_graph, create_graph, allow_unused))


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool = False, create_graph: bool = False) -> None:
    """Adds gradients to the .grad of every leaf."""
    cotangents = [] if grad_tensors is None else _listed(grad_tensors)
    _core.backward(_listed(tensors), cotangents, retain_graph, create_graph)


def checkpoint(function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """function(*inputs) without keeping what it computes, which backward computes again."""
    return _core.checkpoint(function, list(inputs))


def jacobian(function: Callable[[Tensor], Tensor], x: Tensor, create_graph: bool = False) -> Tensor:
    """d f(x)_i / d x_j: the shape of f(x), followed by that of x. One backward pass for each element of f(x)."""
    with enable_grad():
        x = x if create_graph and x.requires_grad else x.detach().requires_grad_()
        y = function(x)
        rows = [grad(one, x, retain_graph=True, create_graph=create_graph, allow_unused=True)[0]
                if one.requires_grad else None for one in y.reshape(-1)]
        rows = [x.detach() * 0 if row is None else row for row in rows]
        return _core.stack(rows).reshape(*y.shape, *x.shape)


def hessian(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """d^2 f(x) / d x_i d x_j of a function with one value: the shape of x twice."""
    return jacobian(lambda at: jacobian(function, at, create_graph=True).reshape(*at.shape), x.detach())


class _Context:
    """What a Function's forward keeps for its backward."""

    saved_tensors: tuple[Tensor, ...] = ()
    needs_input_grad: tuple[bool, ...] = ()

    def __init__(self) -> None:
        self._saved: list[tuple[Tensor, int]] = []
        self._not_differentiable: set[int] = set()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors; backward refuses them if they are overwritten in between."""
        self._versions = tuple(x._version if x is not None else 0 for x in tensors)
        self.saved_tensors = tensors

    def _check(self, name: str) -> None:
        for x, version in zip(self.saved_tensors, getattr(self, "_versions", ())):
            if x is not None and x._version != version:
                raise _core.Error(f"[backward] a tensor of shape {tuple(x.shape)} that {name} needs has been "
                                  "overwritten since it was used. Hint: call backward() before changing values in place.")


class Function:
    """An operation of one's own: static methods forward(ctx, *args) and backward(ctx, *gradients), called by apply().

    backward gives a gradient, or None, for each argument of forward. Written with operations on tensors, it can be
    differentiated again.
    """

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        raise NotImplementedError("a Function needs a static method forward(ctx, *args)")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError("a Function needs a static method backward(ctx, *gradients)")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Calls forward, and records the operation."""
        ctx = _Context()
        places = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
        ctx.needs_input_grad = tuple(isinstance(x, Tensor) and x.requires_grad for x in args)
        with no_grad():
            results = cls.forward(ctx, *args)
        single = isinstance(results, Tensor)
        outputs = [results] if single else list(results)

        def rule(gradients: Sequence[Any]) -> list[Any]:
            ctx._check(cls.__name__)
            given = cls.backward(ctx, *gradients)
            listed = list(given) if isinstance(given, (tuple, list)) else [given]
            if len(listed) != len(args):
                raise _core.Error(f"[{cls.__name__}] backward must give a gradient or None for each of {len(args)} "
                                  f"arguments, got {len(listed)}.")
            return [listed[i] for i in places]

        recorded = _core.record_function(cls.__name__, outputs, [args[i] for i in places], rule)
        return recorded[0] if single else tuple(recorded)
