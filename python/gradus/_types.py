"""dtypes, Size, and what the module gradus._core needs of them."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

from . import _core


class dtype:
    """The type of a tensor's elements. `gradus.float32` and so on are all there are."""

    def __init__(self, name: str, itemsize: int, is_floating_point: bool) -> None:
        self.name, self.itemsize, self.is_floating_point = name, itemsize, is_floating_point

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name if self.name != "bool" else "bool_"


class Size(tuple):
    """The shape of a tensor: a tuple of ints, outermost dimension first."""

    def numel(self) -> int:
        """The product of all sizes."""
        n = 1
        for size in self:
            n *= size
        return n

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, key: Any) -> Any:
        item = super().__getitem__(key)
        return Size(item) if isinstance(key, slice) else item


float32 = dtype("float32", 4, True)
float64 = dtype("float64", 8, True)
int64 = dtype("int64", 8, False)
bool_ = dtype("bool", 1, False)
bfloat16 = dtype("bfloat16", 2, False)
q8_0 = dtype("q8_0", 1, False)
q4_0 = dtype("q4_0", 1, False)

ValuesAndIndices = namedtuple("ValuesAndIndices", ["values", "indices"])
Tensor = _core.Tensor


class Parameter(Tensor):
    """A leaf that a module trains: Parameter(data) has the values of data, and shares them."""

    def __new__(cls, data: Tensor, requires_grad: bool = True) -> Parameter:
        self = super().__new__(cls, data)
        self.requires_grad = requires_grad
        return self

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce__(self) -> Any:
        return Parameter, (self.detach(), self.requires_grad)
