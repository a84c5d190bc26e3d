"""dtypes, Size, Parameter, and what the module gradus._core needs of them."""
from __future__ import annotations

import math
from collections import namedtuple
from typing import Any

from . import _core
from ._core import Tensor


class dtype:
    """The type of a tensor's elements. `gradus.float32` and so on are all there are."""

    def __init__(self, name: str, itemsize: int, is_floating_point: bool) -> None:
        self.name, self.itemsize, self.is_floating_point = name, itemsize, is_floating_point

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name if self.name != "bool" else "bool_"


def is_cpu(place: Any) -> bool:
    """Whether it means the CPU; otherwise it may be a dtype. Raises Error for another device."""
    if str(place).split(":")[0] in ("cuda", "mps"):
        raise _core.Error(f"[to] the device must be cpu, got {place}.")
    return str(place).startswith("cpu")


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple of ints, outermost dimension first."""

    def numel(self) -> int:
        """The product of all sizes."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __add__(self, other: Any) -> Size:
        return Size((*self, *other))

    def __mul__(self, times: Any) -> Size:
        return Size(tuple(self) * times)

    def __getitem__(self, key: Any) -> Any:
        item = super().__getitem__(key)
        return Size(item) if isinstance(key, slice) else item


float32, float64, int64 = dtype("float32", 4, True), dtype("float64", 8, True), dtype("int64", 8, False)
bool_, bfloat16 = dtype("bool", 1, False), dtype("bfloat16", 2, False)
TILES = {name: dtype(name, 1, False) for name in _core._tile_types}  # that only store weights: q8_0, ...
globals().update(TILES)


class ValuesAndIndices(namedtuple("ValuesAndIndices", ["values", "indices"])):
    """What max(x, dim), sort() and topk() return."""

    def __repr__(self) -> str:
        name = getattr(self, "_operation", "ValuesAndIndices")
        return f"torch.return_types.{name}(\nvalues={self.values!r},\nindices={self.indices!r})"


class Parameter(Tensor):
    """A leaf that a module trains: Parameter(data) has the values of data, and shares them."""

    __module__ = "torch.nn.parameter"  # as it is printed

    def __new__(cls, data: Tensor, requires_grad: bool = True) -> Parameter:
        return super().__new__(cls, data).requires_grad_(requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()
