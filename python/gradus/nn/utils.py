"""What is done with the parameters of a module."""
from __future__ import annotations

import contextlib
import math
import types
from typing import Any

from .. import _core
from .._core import Error, Tensor


def _gradients(parameters: Any) -> list[Tensor]:
    return [p.grad for p in ([parameters] if isinstance(parameters, Tensor) else parameters) if p.grad is not None]


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Tensor:
    """Scales the gradients to a norm of at most max_norm. Returns the norm before. One that is not finite makes them NaN or 0, or is an
    error."""
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    grads = [grad.detach() for grad in _gradients(parameters)]
    if not grads:
        return _core.zeros(())
    if norm_type == 2 and max_norm > 0:
        with contextlib.suppress(Error):  # of a norm that is not finite; nothing is changed then
            return _core.full((), _core._clip_grad_norm(parameters, max_norm), grads[0].dtype)
    total = _core.norm(_core.stack([_core.norm(grad, norm_type) for grad in grads]), norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise Error(f"[clip] the norm of the gradients must be finite, got {total.item()}.")
    for grad in grads:
        grad.mul_((max_norm / (total + 1e-6)).clamp(max=1.0))
    return total


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Gradients become at most clip_value, and at least -clip_value."""
    for grad in _gradients(parameters):
        grad.clamp_(-clip_value, clip_value)


def pad_sequence(sequences: Any, batch_first: bool = False, padding_value: float = 0.0) -> Tensor:
    """A batch of sequences (length, ...), with padding_value after those that are shorter: (longest, B, ...), or (B, longest, ...)."""
    longest = max(len(x) for x in sequences)
    rows = [_core.cat([x, _core.full((longest - len(x), *x.shape[1:]), padding_value, x.dtype)]) for x in sequences]
    return _core.stack(rows, 0 if batch_first else 1)


def parameters_to_vector(parameters: Any) -> Tensor:
    """All elements, one parameter after another."""
    return _core.cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Any) -> None:
    """The parameters become views of the vector, which has all elements."""
    begin = 0
    for p in parameters:
        p.data = vec[begin:begin + p.numel()].view_as(p).data
        begin += p.numel()


def functional_call(module: Any, parameters_and_buffers: dict[str, Tensor], args: Any, kwargs: Any = None) -> Any:
    """The result of the call of a module with these tensors, by name, in the place of its own."""
    paths = [(name.rpartition("."), x) for name, x in parameters_and_buffers.items()]
    places = [(module.get_submodule(path), name, x) for (path, _, name), x in paths]
    kept = [getattr(owner, name) for owner, name, _ in places]
    try:
        for owner, name, x in places:
            owner._set(name, x)
        return module(*args if isinstance(args, tuple) else (args,), **(kwargs or {}))
    finally:
        for (owner, name, _), x in zip(places, kept):
            owner._set(name, x)


rnn = types.SimpleNamespace(pad_sequence=pad_sequence)
stateless = types.SimpleNamespace(functional_call=functional_call)
