"""The functions of layers and losses, torch.nn.functional's names."""
from __future__ import annotations

from typing import Any

from .. import _core, autograd
from .._core import Tensor
from .._missing import missing

globals().update({name: getattr(_core, name) for name in [*_core._functional, *"sigmoid tanh".split()]})


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """e^input / sum(e^input) along dim. Without dim, as in PyTorch, along dimension 0 of one or three dimensions, else 1."""
    return _core.softmax(input, _usual_dim(input) if dim is None else dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """The logarithm of softmax()."""
    return _core.log_softmax(input, _usual_dim(input) if dim is None else dim, dtype)


def _usual_dim(input: Tensor) -> int:
    return 0 if input.dim() in (0, 1, 3) else 1


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0)."""
    return input.relu_() if inplace else _core.relu(input)  # type: ignore[attr-defined, no-any-return]


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """input / max(norm(input), eps), along dim."""
    return input / _core.norm(input, p, dim, True).clamp(min=eps)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(input))."""
    return _core._named(-_core.softplus(-input), "LogSigmoidBackward0")


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """input where it is positive, else negative_slope * input."""
    return _core._named(_core.where(input > 0, input, input * negative_slope), "LeakyReluBackward0")


def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """input where it is positive, else alpha (e^input - 1)."""
    return _core._named(_core.where(input > 0, input, alpha * (input.clamp(max=0.0).exp() - 1)), "EluBackward0")


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between x1 and x2, along dim."""
    first, second = (x / _core.norm(x, 2, dim, True).clamp(min=eps) for x in (x1, x2))
    return _core._named((first * second).sum(dim), "SumBackward1")


class _BinaryCrossEntropy(autograd.Function):
    """The loss of each element. Its gradient is finite at probabilities of 0 and 1, as PyTorch's."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, target: Tensor) -> Tensor:
        ctx.save_for_backward(input, target)
        return -(target * input.log().clamp(min=-100.0) + (1 - target) * (1 - input).log().clamp(min=-100.0))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        input, target = ctx.saved_tensors
        return (gradient * (input - target) / ((1 - input) * input).clamp(min=1e-12),
                gradient * ((1 - input).log().clamp(min=-100.0) - input.log().clamp(min=-100.0)))


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean") -> Tensor:
    """-(target log(input) + (1 - target) log(1 - input)) of probabilities; logarithms are at least -100, as in PyTorch."""
    loss = _BinaryCrossEntropy.apply(input, target)
    loss = loss if weight is None else loss * weight
    loss = loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss
    return _core._named(loss, "BinaryCrossEntropyBackward0")


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float = 0.0) -> Tensor:
    """`value` around the last dimensions: pad is (left, right) of the last, then of the one before, and so on."""
    if mode != "constant":
        raise _core.Error(f"[pad] mode must be 'constant', got '{mode}'.")
    if len(pad) % 2 != 0 or len(pad) > 2 * input.dim():
        raise _core.Error(f"[pad] pad must be pairs for at most {input.dim()} dimensions, got {list(pad)}.")
    for i in range(0, len(pad), 2):
        dim = input.dim() - 1 - i // 2
        cut = [max(-n, 0) for n in pad[i:i + 2]]  # negative widths take away
        input = input.narrow(dim, cut[0], input.size(dim) - sum(cut)) if any(cut) else input
        sizes = [[*input.shape[:dim], max(n, 0), *input.shape[dim + 1:]] for n in pad[i:i + 2]]
        before, after = (_core.full(size, value, input.dtype) for size in sizes)
        input = _core._named(_core.cat([before, input, after], dim), "ConstantPadNdBackward0")
    return input


__getattr__ = missing("torch.nn.functional", globals())
