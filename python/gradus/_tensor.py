"""Methods of Tensor that Python writes best, and functions that make tensors."""
from __future__ import annotations

import array
import copyreg
import functools
import html
import math
import operator
from typing import Any, Callable, Optional

from . import _core
from ._core import Error, Generator, Tensor
from ._missing import missing
from ._types import TILES, Parameter, Size, ValuesAndIndices, bfloat16, bool_, dtype, float32, float64, int64, is_cpu

copyreg.pickle(type(_core.relu), lambda operation: operation.__name__)  # type: ignore[arg-type]  # copies are the same, as of functions
_LETTERS = {"float32": "f", "float64": "d", "int64": "q", "bool": "?"}  # of struct


def _flatten(data: Any, numbers: list[Any]) -> list[int]:
    """Appends the numbers of nested lists. Returns their shape; raises Error unless all lists at one depth have one length."""
    if not isinstance(data, (list, tuple, float, int)) and hasattr(data, "tolist"):
        data = list(data) if getattr(data, "shape", ()) and not isinstance(data, Tensor) else data.tolist()
    if not isinstance(data, (list, tuple)):
        numbers.append(data if isinstance(data, (float, int)) else operator.index(data))
        return []
    shapes = [_flatten(item, numbers) for item in data]
    for other in shapes[1:]:
        if len(other) != len(shapes[0]):
            raise _core.InputError("[tensor] lists must be nested to one depth, got others.")
        if other != shapes[0]:
            raise _core.InputError(f"[tensor] lists at one depth must be of one length, got {shapes[0][0]} and {other[0]}.")
    return [len(data), *(shapes[0] if shapes else [])]


def _of_lists(data: Any) -> tuple[Tensor, Any]:
    """Its tensor, and the dtype that it has if none is asked for: of NumPy's doubles float64."""
    numbers: list[Any] = []
    try:
        shape = _flatten(data, numbers)
    except TypeError:
        raise Error(f"[tensor] takes numbers, nested lists of them, arrays and tensors, got {type(data).__name__}"
                    f"{' with others' if isinstance(data, (list, tuple)) else ''}.") from None
    kinds = set(map(type, numbers))
    whole = bool(numbers) and kinds <= {int, bool}
    x = _core.from_numpy(array.array("q" if whole else "d", numbers)).clone().reshape(shape)
    if whole:
        return (x.cast(bool_) if kinds == {bool} else x), None
    return x, float64 if any(kind.__name__ == "float64" for kind in kinds) else float32


def tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor with a copy of `data`: a number, nested lists, an array or a tensor.

    Python's floats become float32, ints int64; an array keeps its dtype, or gets the nearest of float32, float64,
    int64 and bool. The only device is the CPU.
    """
    if isinstance(data, Tensor):
        x = data.detach().clone()
    elif type(data) in (float, int, bool, range) or isinstance(data, (list, tuple)):  # and no number of NumPy
        x, usual = _of_lists(list(data) if isinstance(data, range) else data)
        dtype = dtype or usual
    else:
        if hasattr(data, "detach") and hasattr(data, "numpy"):  # of PyTorch
            data = (data.detach().float() if "bfloat16" in str(data.dtype) else data.detach()).numpy()
        try:
            x = _core._readable(data).clone()
        except (Error, TypeError, BufferError):  # of another dtype, with strides of its own, or no buffer
            if hasattr(data, "astype"):
                wide = {"f": "float64" if data.dtype.itemsize > 4 else "float32", "i": "int64", "u": "int64"}.get(data.dtype.kind, data.dtype.name)
                if data.dtype.kind == "u" and data.size and data.max() >= 2**63:
                    raise OverflowError(f"int64 holds numbers up to {2**63 - 1}, got {data.max()}")
                name = data.dtype.name
                x = _core._readable(data.astype(name if name in _LETTERS else wide, order="C")).clone()
            else:
                x = _core.from_dlpack(data).clone() if hasattr(data, "__dlpack__") else _of_lists(data)[0]
    return (x if dtype is None else x.to(dtype, device)).requires_grad_(requires_grad)


def _of_dtype(dtype: Any, *data: Any) -> Tensor:
    """A tensor of a dtype from lists, or of these sizes without values."""
    is_size = len(data) != 1 or isinstance(data[0], int)
    return _core.empty(data or (0,), dtype=dtype) if is_size else tensor(data[0], dtype)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` itself if it is a tensor, its values without a copy if it is an array that can be shared, else a copy."""
    if isinstance(data, Tensor):
        return data.to(dtype, device)
    for share in (_core.from_numpy, _core.from_dlpack):
        try:
            return share(data).to(dtype, device)
        except (Error, BufferError, TypeError):
            pass
    return tensor(data, dtype)


def linspace(start: float, end: float, steps: int, dtype: Any = None) -> Tensor:
    """`steps` values from start to end, both included, at equal distances."""
    if dtype in (None, float32, "float32"):
        return _core._linspace(start, end, steps)
    place = _core.arange(steps, dtype=float64)
    step = (end - start) / max(steps - 1, 1)
    half = place < max(steps // 2, 1)  # each half from its own end
    return _core.where(half, start + step * place, end - step * (steps - 1 - place)).to(dtype)


def manual_seed(seed: int, kind: str = "torch") -> Generator:
    """Starts the default random stream anew. Returns it. Kinds: see Generator."""
    _core.default_generator._become(Generator(seed, kind))
    return _core.default_generator


def einsum(equation: str, *operands: Any) -> Tensor:
    """Products summed over the letters that the result does not have: einsum("ij,jk->ik", a, b)."""
    given = list(operands[0] if isinstance(operands[0], (list, tuple)) else operands)
    floats = [x for x in given if x.dtype.is_floating_point]
    return _core._einsum(equation, [x.type_as(floats[0]) if floats and not x.dtype.is_floating_point else x for x in given])


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both have one shape and the same elements."""
    return input.shape == other.shape and bool((input == other).all())


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether |input - other| <= atol + rtol |other|, for each element."""
    if input.dtype is bool_ and other.dtype is bool_:
        return input == other
    close = ((input - other).abs() <= atol + rtol * other.abs()) & other.isfinite() | (input == other)
    return close | input.isnan() & other.isnan() if equal_nan else close


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether isclose() holds for all elements."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def _wrapped(dim: int, n: int) -> int:
    """The dimension of n, which may be counted from the end."""
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """The dimensions `source` in the places `destination`, the others in their order."""
    n = input.dim()
    sources, places = ([_wrapped(d, n) for d in ((x,) if isinstance(x, int) else x)] for x in (source, destination))
    others = (d for d in range(n) if d not in sources)
    return input.permute([sources[places.index(i)] if i in places else next(others) for i in range(n)])


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A diagonal of two dimensions, as the last dimension; a view of a packed matrix."""
    if input.dim() < 2:
        raise Error(f"[diagonal] needs two dimensions or more, got {input.dim()}.")
    x = movedim(input, (dim1, dim2), (0, 1))
    down, right, step = max(-offset, 0), max(offset, 0), x.size(1) + 1
    first = down * x.size(1) + right
    places = slice(first, first + step * max(min(x.size(0) - down, x.size(1) - right), 0), step)
    return _core._named(movedim(x.flatten(0, 1)[places], 0, -1), "DiagonalBackward0")


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A vector as a diagonal of a matrix, or the diagonal of a matrix as a vector."""
    if input.dim() == 2:
        return _core._named(input.diagonal(diagonal), "DiagBackward0")
    if input.dim() != 1:
        raise Error(f"[diag] needs a vector or a matrix, got {input.dim()} dimensions.")
    size = input.numel() + abs(diagonal)
    x = input.new_zeros(size).index_copy(0, _core.arange(input.numel()) + max(-diagonal, 0), input)
    return _core._named(_core.where(_core.eye(size) == 1, x, x.new_zeros(())).roll(diagonal, 1), "DiagBackward0")


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
    if input.dim() != 2:
        raise Error(f"[trace] needs a matrix, got {input.dim()} dimensions.")
    return _core._named(diagonal(input).sum(), "TraceBackward0")


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """The coordinates of a grid, a tensor for each of these vectors of them; with indexing "xy" the first two dimensions are swapped."""
    vectors = tensors[0] if isinstance(tensors[0], (list, tuple)) else tensors
    n = len(vectors)
    grids = [x.reshape([-1 if d == i else 1 for d in range(n)]).expand([v.numel() for v in vectors]) for i, x in enumerate(vectors)]
    return tuple(x.transpose(0, 1) if indexing == "xy" and n > 1 else x for x in grids)


def repeat_interleave(input: Tensor, repeats: Any, dim: Optional[int] = None) -> Tensor:
    """Each slice along dim `repeats` times, one after another; each element if there is no dim. A tensor has a number for each."""
    if dim is None:
        return repeat_interleave(input.flatten(), repeats, 0)
    if isinstance(repeats, Tensor) and repeats.numel() > 1:
        if repeats.numel() != input.size(dim):
            raise Error(f"[repeat_interleave] repeats must have {input.size(dim)} elements, as many as dimension {dim}, got {repeats.numel()}.")
        return input.index_select(dim, tensor([i for i, n in enumerate(repeats.tolist()) for _ in range(n)], dtype=int64))
    return input.index_select(dim, _core.arange(input.size(dim) * int(repeats)) // int(repeats))


def median(input: Tensor) -> Tensor:
    """The middle element, the lower of two; NaN if there is one."""
    x = input.flatten().sort()[0]
    last = input.numel() - 1  # where NaN is
    y = x[last if last >= 0 and x[last].isnan() else last // 2]
    if y.requires_grad and not y.isnan():
        y = input.masked_fill(input != y, -math.inf).max()  # equal elements share the gradient
    return _core._named(y, "MedianBackward0")


def inner(input: Tensor, other: Tensor) -> Tensor:
    """The products of the last dimensions, summed: the shape of input without its last, then that of other without its last."""
    if other.dim() < 2:
        return _core._named(input @ other, "ReshapeAliasBackward0")
    y = input @ other.flatten(0, -2).mT
    return _core._named(y.reshape(input.shape[:-1] + other.shape[:-1]), "ReshapeAliasBackward0")


def bincount(input: Tensor, minlength: int = 0) -> Tensor:
    """How often each of 0, 1, ... is among the whole numbers of a vector, int64."""
    size = max(minlength, int(input.max().item()) + 1 if input.numel() else 0)
    return _core.zeros(size, dtype=int64).scatter_add(0, input, _core.ones_like(input))


def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """The different elements, in order; then, if they are asked for, the place of each element among them, and how often each occurs."""
    found = list(set(input.reshape(-1).tolist()))
    found.sort()
    values = tensor(found, dtype=input.dtype)
    if not (return_inverse or return_counts):
        return values
    places = {value: i for i, value in enumerate(values.tolist())}
    inverse = tensor([places[value] for value in input.reshape(-1).tolist()], dtype=int64)
    return (values, *([inverse.view_as(input)] if return_inverse else []), *([bincount(inverse)] if return_counts else []))


_printed: dict[str, Any] = {}


def set_printoptions(precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None,
                     linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None) -> None:
    """How tensors are printed from here on. precision: digits after the point. sci_mode: whether in powers of ten; None lets the
    numbers decide. threshold: more elements are summarized, with edgeitems at each end. profile: "default", "short" or "full"."""
    if precision is not None and not 0 <= precision <= 60:
        raise Error(f"[set_printoptions] precision must be from 0 to 60, got {precision}.")
    if profile is not None:
        chosen = {"default": (4, 1000, 3), "short": (2, 1000, 2), "full": (4, math.inf, 3)}[profile]
        _printed.update(zip(("precision", "threshold", "edgeitems"), chosen), linewidth=80)
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _printed.update({name: value for name, value in given.items() if value is not None}, sci_mode=sci_mode)
    setattr(Tensor, "__repr__", lambda self: self._string(**_printed))


# -- methods

def _put(self: Tensor, dim: int, index: Tensor, values: Any) -> Tensor:
    """Sets the slices at these indices of a dimension."""
    self[(slice(None),) * _wrapped(dim, self.dim()) + (index,)] = values
    return self


def _unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of `size` elements along a dimension, one each `step`; what is in them is the last dimension."""
    parts = [self.narrow(dimension, i, size) for i in range(0, self.size(dimension) - size + 1, step)]
    dim = _wrapped(dimension, self.dim())
    return _core._named(movedim(_core.stack(parts, dim), dim + 1, -1), "UnfoldBackward0")


def _unflatten(self: Tensor, dim: int, sizes: Any) -> Tensor:
    """Several dimensions in place of one; one size may be -1."""
    dim = _wrapped(dim, self.dim())
    if -1 not in sizes and math.prod(sizes) != self.size(dim):
        raise Error(f"[unflatten] sizes must multiply to {self.size(dim)}, got {tuple(sizes)}.")
    inner = [self.size(dim) // -math.prod(sizes) if n == -1 else n for n in sizes]
    return self.view([*self.shape[:dim], *inner, *self.shape[dim + 1:]])


def _to(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False) -> Tensor:
    """Converted to a dtype, or to that of another tensor; itself if it has it. The only device is the CPU."""
    for arg in (*args, device):
        if isinstance(arg, Tensor):
            dtype = arg.dtype
        elif not (arg is None or isinstance(arg, bool) or is_cpu(arg)):
            dtype = arg
    return self if dtype is None else self.cast(dtype)


def _numpy(self: Tensor) -> Any:
    """A numpy.ndarray on the same values, without a copy."""
    import numpy

    if self.requires_grad:
        raise Error("[numpy] a tensor that requires a gradient is not shared. Hint: detach() it first.")
    return numpy.asarray(memoryview(self))  # type: ignore[arg-type]


def _repr_html(self: Tensor) -> str:
    """For notebooks: a table of a matrix with up to 20 rows and columns, with a colour for each number."""
    if self.dim() != 2 or max(self.shape) > 20 or not self.dtype.is_floating_point or self.numel() == 0:
        return f"<pre>{html.escape(repr(self))}</pre>"
    rows = self.tolist()
    most = max((abs(x) for row in rows for x in row if abs(x) < math.inf), default=0.0) or 1.0

    def cell(x: float) -> str:
        share = min(abs(x) / most, 1.0) if x == x else 0.0
        colour = f"rgba({'214,69,65' if x < 0 else '31,119,180'},{0.5 * share:.2f})"
        return f'<td style="background:{colour};text-align:right">{x:.4g}</td>'

    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    return f"<table>{body}</table><small>{self.dtype.name} {tuple(self.shape)}</small>"


def _bool(self: Tensor) -> bool:
    if self.numel() != 1:
        raise Error(f"[bool] the truth of a tensor is that of its only element, got shape {tuple(self.shape)}. "
                    "Hint: any() or all() makes one of several.")
    return self.item() != 0


def _index(self: Tensor) -> int:
    if self.dtype.is_floating_point:
        raise TypeError("only a tensor of one integer can be an index")
    return int(self.item())


def _len(self: Tensor) -> int:
    if self.dim() == 0:
        raise TypeError("len() of a tensor without dimensions")
    return int(self.shape[0])


def _dot(self: Tensor, other: Tensor) -> Tensor:
    """The inner product of two vectors."""
    if self.dim() != 1 or other.dim() != 1:
        raise Error(f"[dot] needs two vectors, got {tuple(self.shape)} and {tuple(other.shape)}.")
    return self @ other


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if self.requires_grad and not self.is_leaf:
        raise Error("[deepcopy] a tensor must be a leaf of the graph, got the result of an operation. Hint: detach() it first.")
    copy = self.detach().clone()
    copy = memo.setdefault(id(self), (copy if type(self) is Tensor else type(self)(copy)).requires_grad_(self.requires_grad))
    if type(self) is Tensor and self.grad is not None:  # a parameter's stays behind
        copy.grad = _deepcopy(self.grad, memo)
    return copy


def _reduce(self: Tensor) -> Any:
    values = memoryview(self.detach().contiguous()).tobytes()
    return _unpickled, (values, self.dtype.name, tuple(self.shape), self.requires_grad, isinstance(self, Parameter))


def _unpickled(values: bytes, name: str, shape: Any, requires_grad: bool, is_parameter: bool) -> Tensor:
    data = memoryview(values).cast(_LETTERS[name])  # type: ignore[call-overload]
    x = _core._readable(data).clone().reshape(tuple(shape))
    return Parameter(x, requires_grad) if is_parameter else x.requires_grad_(requires_grad)


def _type(self: Tensor, dtype: Any = None) -> Any:
    """The name of its type, torch.FloatTensor; with a dtype, or the name or the function of a type, converted to it."""
    names = {x: f"torch.{word}Tensor" for x, word in
             ((float32, "Float"), (float64, "Double"), (int64, "Long"), (bool_, "Bool"), (bfloat16, "BFloat16"))}
    if dtype is None:
        return names.get(self.dtype)
    return self.to({name: x for x, name in names.items()}.get(dtype) if isinstance(dtype, str) else getattr(dtype, "args", [dtype])[0])


_OPERATORS = {"subtract": "sub", "multiply": "mul", "divide": "truediv", "true_divide": "truediv", "power": "pow", "remainder": "mod",
              "floor_divide": "floordiv", "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}


def _array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """numpy.exp(x) is a tensor, as in PyTorch; an operator of an array and a tensor is the tensor's."""
    if method == "__call__" and not options and ufunc.nin == 1:
        return as_tensor(ufunc(self.numpy()))
    own = getattr(operator, _OPERATORS.get(ufunc.__name__, ufunc.__name__), None)
    if method != "__call__" or options or own is None:
        return NotImplemented
    return own(*(x if isinstance(x, Tensor) or not hasattr(x, "ndim") else as_tensor(x) if x.ndim else x.item() for x in inputs))


def _drawn(name: str) -> Callable[..., Tensor]:
    """The method that fills a tensor with what the method `name` draws."""
    draw = getattr(Tensor, name)

    @functools.wraps(draw)
    def fill(self: Tensor, *args: Any, **options: Any) -> Tensor:
        if _core.is_grad_enabled() and self.requires_grad and self.is_leaf:
            self.copy_(self)  # refuses, before anything is drawn
        return self.copy_(draw(self, *args, **options))
    return fill


_scatter, _strides = Tensor.scatter_, Tensor.stride


def _stride(self: Tensor, dim: Optional[int] = None) -> Any:
    """The elements from one to the next along each dimension, or along one."""
    strides = _strides(self)
    return strides if dim is None else strides[_wrapped(dim, self.dim())]


def _scatter_value(self: Tensor, dim: int, index: Tensor, src: Any = None, value: Any = None) -> Tensor:
    """Sets the elements at these indices of a dimension to those of src, or to a number."""
    return _scatter(self, dim, index, value if src is None else src)


_METHODS: dict[str, Callable[..., Any]] = {
    "scatter_": _scatter_value, "__array_ufunc__": _array_ufunc,
    "to": _to, "numpy": _numpy, "tolist": lambda self: memoryview(self.detach()).tolist(), "cpu": lambda self: self,
    "new_tensor": lambda self, data, dtype=None: tensor(data, dtype or self.dtype), "repeat_interleave": repeat_interleave, "allclose": allclose, "equal": equal, "isclose": isclose, "dot": _dot,
    "_repr_html_": _repr_html, "__deepcopy__": _deepcopy, "__contains__": lambda self, x: bool((self == x).any()),
    "__format__": lambda self, spec: format(self.item(), spec) if self.dim() == 0 else object.__format__(self, spec),
    "__pos__": lambda self: self, "__bool__": _bool, "__index__": _index, "__len__": _len, "__iter__": lambda self: iter(self.unbind(0) if _len(self) else ()),
    "__float__": lambda self: float(self.item()), "__int__": lambda self: int(self.item()),
    "__hash__": object.__hash__, "__dlpack_device__": lambda self: (1, 0),
    "movedim": movedim, "diagonal": diagonal, "diag": diag, "trace": trace, "unfold": _unfold,
    "index_fill_": _put, "index_copy_": _put, "index_fill": lambda self, *args: _put(self.clone(), *args),
    "index_copy": lambda self, *args: _put(self.clone(), *args),
    "fill_diagonal_": lambda self, value: self.masked_fill_(_core.eye(*self.shape) == 1, value),
    "__reduce__": _reduce, "type": _type, "unflatten": _unflatten, "bincount": bincount, "unique": unique, "inner": inner, "median": median, "stride": _stride,
    "uniform_": _drawn("_uniform"), "normal_": _drawn("_normal"), "exponential_": _drawn("_exponential"),
}
_METHODS["__getattr__"] = lambda self, name: missing("torch.Tensor", dict(vars(Tensor)))(name)
for _name, _method in _METHODS.items():
    setattr(Tensor, _name, _method)
setattr(Tensor, "device", property(lambda self: "cpu"))
setattr(Tensor, "is_cuda", False)
setattr(Tensor, "nbytes", property(lambda self: self.numel() * self.dtype.itemsize))
_core.register(Size, tensor, functools.partial(_of_dtype, float32), ValuesAndIndices, Parameter,
               [float32, float64, int64, bool_, bfloat16, *TILES.values()])
