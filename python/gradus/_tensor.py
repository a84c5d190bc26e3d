"""Methods of Tensor that Python writes best, and functions that make tensors."""
from __future__ import annotations

import array
import html
import operator
from typing import Any

from . import _core
from ._types import (Parameter, Size, Tensor, ValuesAndIndices, bfloat16, bool_, dtype, float32, float64, int64, q4_0,
                     q8_0)

Error = _core.Error


def _flat(data: Any, numbers: list[Any], shape: list[int], depth: int) -> None:
    """Appends the numbers of nested lists, and finds their shape."""
    if not isinstance(data, (list, tuple)):
        if depth != len(shape):
            raise Error("[tensor] lists must be nested to one depth, got others.")
        if not isinstance(data, (float, int)):
            data = data.item() if hasattr(data, "item") else operator.index(data)
        numbers.append(data)
        return
    if depth == len(shape):
        if numbers:
            raise Error("[tensor] lists must be nested to one depth, got others.")
        shape.append(len(data))
    if shape[depth] != len(data):
        raise Error(f"[tensor] lists at one depth must be of one length, got {shape[depth]} and {len(data)}.")
    for item in data:
        if not isinstance(item, (list, tuple, float, int)) and getattr(item, "ndim", 0) > 0:
            item = item.tolist()
        _flat(item, numbers, shape, depth + 1)


def _of_lists(data: Any, dtype: Any) -> Tensor:
    numbers: list[Any] = []
    shape: list[int] = []
    try:
        _flat(data, numbers, shape, 0)
    except TypeError:
        raise Error(f"[tensor] takes numbers, nested lists of them, arrays and tensors, got {type(data).__name__}"
                    f"{' with others' if isinstance(data, (list, tuple)) else ''}.") from None
    kinds = set(map(type, numbers))
    whole = bool(numbers) and kinds <= {int, bool}
    x = _core.from_numpy(array.array("q" if whole else "d", numbers)).clone().reshape(shape)
    return x.cast(dtype or (bool_ if kinds == {bool} else int64 if whole else float32))


def tensor(data: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor with a copy of `data`: a number, nested lists, an array or a tensor.

    Python's floats become float32, ints int64; an array keeps its dtype, or gets the nearest of float32, float64,
    int64 and bool.
    """
    if isinstance(data, Tensor):
        x = data.detach().clone()
    elif isinstance(data, (list, tuple, float, int)):
        x = _of_lists(data, dtype)
    else:
        try:
            x = _core.readable(data).clone()
        except (Error, TypeError):  # of another dtype, with strides of its own, or without the buffer protocol
            if hasattr(data, "astype"):
                wide = {"f": "float32", "i": "int64", "u": "int64"}.get(data.dtype.kind, data.dtype.name)
                x = _core.readable(data.astype(wide if data.dtype.name not in _NAMES else data.dtype, order="C")).clone()
            elif hasattr(data, "__dlpack__"):
                x = _core.from_dlpack(data).clone()
            else:
                x = _of_lists(list(data) if isinstance(data, range) else data, dtype)
    return (x if dtype is None else x.cast(dtype)).requires_grad_(requires_grad)


_NAMES = ("float32", "float64", "int64", "bool")


def as_tensor(data: Any, dtype: Any = None) -> Tensor:
    """`data` itself if it is a tensor, its values without a copy if it is an array that can be shared, else a copy."""
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    for share in (_core.from_numpy, _core.from_dlpack):
        try:
            return as_tensor(share(data), dtype)
        except (Error, BufferError, TypeError):
            pass
    return tensor(data, dtype)


def full(size: Any, fill_value: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """All `fill_value`; without a dtype, that of the value."""
    if dtype is None:
        dtype = bool_ if isinstance(fill_value, bool) else int64 if isinstance(fill_value, int) else float32
    return _core.full_of(size, float(fill_value), dtype).requires_grad_(requires_grad)


def arange(start: Any, end: Any = None, step: Any = 1, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """start, start + step, ... below end; arange(end) starts at 0. int64 if all are ints, else float32."""
    if end is None:
        start, end = 0, start
    if dtype is None:
        dtype = float32 if any(isinstance(x, float) for x in (start, end, step)) else int64
    return _core.arange_of(start, end, step, dtype).requires_grad_(requires_grad)


def linspace(start: float, end: float, steps: int, dtype: Any = None) -> Tensor:
    """`steps` values from start to end, both included, at equal distances."""
    if steps < 2:
        return full((steps,), float(start), dtype or float32)
    place = arange(steps, dtype=float64)
    step = (end - start) / (steps - 1)
    below = (place < steps // 2).to(float64)  # each half from its own end
    return (below * (start + step * place) + (1 - below) * (end - step * (steps - 1 - place))).to(dtype or float32)


def randint(low: int, high: Any = None, size: Any = None, generator: Any = None) -> Tensor:
    """Integers uniform on [low, high), int64; randint(high, size) starts at 0."""
    if size is None:
        low, high, size = 0, low, high
    return _core.randint_of(low, high, size, generator)


def manual_seed(seed: int, kind: str = "torch") -> Any:
    """Starts the default random stream anew. Returns it. Kinds: see Generator."""
    _core.default_generator.become(_core.Generator(seed, kind))
    return _core.default_generator


def _like(function: Any) -> Any:
    def like(input: Tensor, dtype: Any = None, requires_grad: bool = False, **options: Any) -> Tensor:
        return function(input.shape, dtype=dtype or input.dtype, requires_grad=requires_grad, **options)
    like.__name__ = function.__name__ + "_like"
    like.__doc__ = f"{function.__name__}() of the shape and dtype of `input`."
    return like


zeros_like, ones_like, empty_like = _like(_core.zeros), _like(_core.ones), _like(_core.empty)
rand_like, randn_like = _like(_core.rand), _like(_core.randn)


def full_like(input: Tensor, fill_value: Any, dtype: Any = None) -> Tensor:
    """All `fill_value`, of the shape and dtype of `input`."""
    return full(input.shape, fill_value, dtype or input.dtype)


def einsum(equation: str, *operands: Any) -> Tensor:
    """Products summed over the letters that the result does not have: einsum("ij,jk->ik", a, b)."""
    given = operands[0] if len(operands) == 1 and not isinstance(operands[0], Tensor) else operands
    return _core.einsum_of(equation, list(given))


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both have one shape and the same elements."""
    return input.shape == other.shape and bool((input == other).all())


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether |input - other| <= atol + rtol |other|, for each element."""
    close = ((input - other).abs() <= atol + rtol * other.abs()) & other.isfinite() | (input == other)
    return close | input.isnan() & other.isnan() if equal_nan else close


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether isclose() holds for all elements."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def repeat_interleave(input: Tensor, repeats: int, dim: int) -> Tensor:
    """Each slice along dim `repeats` times, one after another."""
    dim %= input.dim()
    shape = list(input.shape)
    wide = input.unsqueeze(dim + 1).expand(*shape[:dim + 1], repeats, *shape[dim + 1:])
    return wide.reshape(*shape[:dim], shape[dim] * repeats, *shape[dim + 1:])


# -- methods

def _size(self: Tensor, dim: Any = None) -> Any:
    """The shape, or the size of one dimension."""
    return self.shape if dim is None else self.shape[dim]


def _to(self: Tensor, *args: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Converted to a dtype, or to that of another tensor; itself if it has it. The only device is the CPU."""
    for arg in (*args, device):
        if isinstance(arg, Tensor):
            dtype = arg.dtype
        elif isinstance(arg, str) and arg.split(":")[0] == "cpu" or getattr(arg, "type", None) == "cpu":
            continue
        elif arg is not None:
            dtype = arg
    return self if dtype is None else self.cast(dtype)


def _repeat(self: Tensor, *sizes: Any) -> Tensor:
    """The tensor as a tile, sizes[i] times along dimension i; new dimensions come in front."""
    counts = list(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else list(sizes)
    shape = [1] * (len(counts) - self.dim()) + list(self.shape)
    if len(counts) < self.dim():
        raise Error(f"[repeat] needs a count for each of {self.dim()} dimensions, got {len(counts)}.")
    tiled = self.reshape([n for size in shape for n in (1, size)])
    tiled = tiled.expand([n for count, size in zip(counts, shape) for n in (count, size)])
    return tiled.reshape([count * size for count, size in zip(counts, shape)])


def _numpy(self: Tensor) -> Any:
    """A numpy.ndarray on the same values, without a copy."""
    import numpy

    if self.requires_grad:
        raise Error("[numpy] a tensor that requires a gradient is not shared. Hint: detach() it first.")
    return numpy.asarray(memoryview(self))


def _fill(self: Tensor, value: Any) -> Tensor:
    """Overwrites all values with one; not recorded."""
    self.detach()[...] = value
    return self


def _copy(self: Tensor, source: Any) -> Tensor:
    """Overwrites all values with those of `source`, broadcast and converted; not recorded."""
    self.detach().copy(as_tensor(source))
    return self


def _random_(function: Any) -> Any:
    def fill(self: Tensor, first: float = 0.0, second: float = 1.0, generator: Any = None) -> Tensor:
        return _copy(self, function(self, first, second, generator))
    return fill


def _uniform(self: Tensor, low: float, high: float, generator: Any) -> Tensor:
    return _core.uniform_of(self.shape, low, high, generator, self.dtype)


def _normal(self: Tensor, mean: float, std: float, generator: Any) -> Tensor:
    return _core.normal(mean, std, self.shape, generator=generator, dtype=self.dtype)


def _interface(self: Tensor) -> dict[str, Any]:
    """NumPy's description of the memory."""
    letters = {"float32": "<f4", "float64": "<f8", "int64": "<i8", "bool": "|b1"}
    if self.requires_grad or self.dtype.name not in letters:
        raise AttributeError("__array_interface__: detach() the tensor, or convert it, first")
    return {"shape": tuple(self.shape), "typestr": letters[self.dtype.name], "version": 3,
            "data": (self.data_ptr(), False), "strides": tuple(s * self.dtype.itemsize for s in self.stride())}


def _repr_html(self: Tensor) -> str:
    """For notebooks: a table of a matrix with up to 20 rows and columns, with a colour for each number."""
    if self.dim() != 2 or max(self.shape) > 20 or not self.dtype.is_floating_point or self.numel() == 0:
        return f"<pre>{html.escape(repr(self))}</pre>"
    rows = self.detach().tolist()
    most = max((abs(x) for row in rows for x in row if abs(x) < float("inf")), default=0.0) or 1.0

    def cell(x: float) -> str:
        share = min(abs(x) / most, 1.0) if x == x else 0.0
        colour = f"rgba({'214,69,65' if x < 0 else '31,119,180'},{0.5 * share:.2f})"
        return f'<td style="background:{colour};text-align:right">{x:.4g}</td>'

    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    return f"<table>{body}</table><small>{self.dtype.name} {tuple(self.shape)}</small>"


def _cast(to: dtype) -> Any:
    def method(self: Tensor) -> Tensor:
        return self.cast(to)
    method.__doc__ = f"Converted to {to.name}; itself if it has that dtype."
    return method


def _bools(*tensors: Any) -> list[Tensor]:
    for x in tensors:
        if isinstance(x, Tensor) and x.dtype is not bool_:
            raise Error(f"[logical] needs bool tensors, got {x.dtype.name}.")
    return [x.long() if isinstance(x, Tensor) else int(x) for x in tensors]


def _and(self: Tensor, other: Any) -> Tensor:
    a, b = _bools(self, other)
    return (a * b) != 0


def _or(self: Tensor, other: Any) -> Tensor:
    a, b = _bools(self, other)
    return (a + b) != 0


def _xor(self: Tensor, other: Any) -> Tensor:
    a, b = _bools(self, other)
    return a != b


def _dot(self: Tensor, other: Tensor) -> Tensor:
    """The inner product of two vectors."""
    if self.dim() != 1 or other.dim() != 1:
        raise Error(f"[dot] needs two vectors, got {tuple(self.shape)} and {tuple(other.shape)}.")
    return self @ other


def _reduce(self: Tensor) -> Any:
    return _unpickled, (self.tolist(), self.dtype.name, tuple(self.shape), self.requires_grad)


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if id(self) not in memo:
        copy = self.detach().clone()
        memo[id(self)] = type(self)(copy) if type(self) is not Tensor else copy
        memo[id(self)].requires_grad = self.requires_grad
    return memo[id(self)]


def _unpickled(values: Any, name: str, shape: Any, requires_grad: bool) -> Tensor:
    return tensor(values, name).reshape(shape).requires_grad_(requires_grad)


def _dlpack(self: Tensor, stream: Any = None) -> Any:
    """A DLPack capsule on the same values."""
    return _core.to_dlpack(self)


_METHODS: dict[str, Any] = {
    "size": _size, "to": _to, "repeat": _repeat, "numpy": _numpy, "fill_": _fill, "copy_": _copy,
    "zero_": lambda self: _fill(self, 0), "uniform_": _random_(_uniform), "normal_": _random_(_normal),
    "float": _cast(float32), "double": _cast(float64), "long": _cast(int64), "bool": _cast(bool_),
    "cpu": lambda self: self, "type_as": lambda self, other: self.to(other),
    "view_as": lambda self, other: self.view(other.shape), "expand_as": lambda self, other: self.expand(other.shape),
    "repeat_interleave": repeat_interleave, "allclose": allclose, "equal": equal, "isclose": isclose,
    "element_size": lambda self: self.dtype.itemsize, "is_floating_point": lambda self: self.dtype.is_floating_point,
    "nelement": lambda self: self.numel(), "__dlpack__": _dlpack, "__dlpack_device__": lambda self: (1, 0),
    "_repr_html_": _repr_html, "__deepcopy__": _deepcopy, "__contains__": lambda self, x: bool((self == x).any()),
    "__format__": lambda self, spec: format(self.item() if self.dim() == 0 else repr(self), spec),
    "__and__": _and, "__rand__": _and, "__or__": _or, "__ror__": _or, "__xor__": _xor, "__rxor__": _xor,
    "__invert__": lambda self: _bools(self)[0] == 0, "dot": _dot, "__reduce__": _reduce,
    "t": lambda self: self if self.dim() < 2 else self.transpose(0, 1),
    "new_zeros": lambda self, *size: _core.zeros(*size, dtype=self.dtype),
    "new_ones": lambda self, *size: _core.ones(*size, dtype=self.dtype),
}
for _name, _operation in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow"}.items():
    _METHODS[f"__{_name}__"] = getattr(_core, _operation)
    _METHODS[f"__i{_name}__"] = getattr(_core, _operation + "_")
_METHODS.update({"__neg__": _core.neg, "__abs__": _core.abs, "__matmul__": _core.matmul})
for _name, _method in _METHODS.items():
    setattr(Tensor, _name, _method)
for _name, _get in {"T": lambda self: self.permute(*range(self.dim() - 1, -1, -1)),
                    "mT": lambda self: self.transpose(-2, -1), "device": lambda self: "cpu",
                    "nbytes": lambda self: self.numel() * self.dtype.itemsize,
                    "__array_interface__": _interface}.items():
    setattr(Tensor, _name, property(_get))
Tensor.__array_ufunc__ = None  # array + tensor asks the tensor
_core.register({"Size": Size, "pair": ValuesAndIndices, "Parameter": Parameter, "tensor": tensor,
                "dtypes": [float32, float64, int64, bool_, bfloat16, q8_0, q4_0]})
