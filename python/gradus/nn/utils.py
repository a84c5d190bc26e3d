"""What is done with the parameters of a module."""
from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor


def clip_grad_norm_(parameters: Any, max_norm: float) -> Tensor:
    """Scales the gradients to a norm of at most max_norm. Returns the norm before."""
    return _core.full((), _core._clip_grad_norm([parameters] if isinstance(parameters, Tensor) else list(parameters), max_norm))
