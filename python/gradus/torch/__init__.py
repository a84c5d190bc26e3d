"""PyTorch's names for gradus: `import gradus.torch as torch` runs code that was written for PyTorch on a CPU.

Random numbers are PyTorch's: manual_seed(123) gives the same tensors, initial weights and dropout masks. Builds of PyTorch draw
dropout masks in two ways; `import gradus.torch.mkl as torch`, or set_masks("mkl"), gives those of builds with Intel's MKL. In a file
in which `torch` is this module, `from torch import nn` and `import torch.nn as nn` mean its parts. With GRADUS_AS_TORCH=1 in the
environment (or =mkl), `./gradus python` makes every `import torch` mean it.

A name that is not here raises an AttributeError that says which is the nearest.
"""
from __future__ import annotations

import abc
import builtins
import functools
import importlib
import math
import os
import re
import sys
import types
from typing import Any

import gradus
from gradus import *  # noqa: F403
from gradus._tensor import _of_dtype
from gradus import Error, Tensor, _core, autograd, data, default_generator, dtype, float32, float64, int64, lr_scheduler, nn, optim, tensor
from gradus import bool_ as bool  # noqa: A004
from gradus._files import load, save
from gradus._missing import missing
from gradus.data import random_seed

utils = types.ModuleType(f"{__name__}.utils", "torch.utils: data sets and batches.")
utils.data = data  # type: ignore[attr-defined]
_parameter = types.ModuleType(f"{__name__}.nn.parameter", "torch.nn.parameter: Parameter.")
_parameter.Parameter = nn.Parameter  # type: ignore[attr-defined]
nn.parameter = types.SimpleNamespace(Parameter=nn.Parameter)  # type: ignore[attr-defined]
_rnn = types.ModuleType(f"{__name__}.nn.utils.rnn", "torch.nn.utils.rnn: pad_sequence.")
_rnn.pad_sequence = nn.utils.pad_sequence  # type: ignore[attr-defined]
_stateless = types.ModuleType(f"{__name__}.nn.utils.stateless", "torch.nn.utils.stateless: functional_call.")
_stateless.functional_call = nn.utils.functional_call  # type: ignore[attr-defined]


class _Linalg:
    """Norms, and NumPy's functions of matrices (svd, qr, inv, solve, eigh, det, matrix_rank), without gradients."""

    def norm(self, A: Tensor, ord: Any = None, dim: Any = None, keepdim: builtins.bool = False) -> Any:
        """Of a matrix with `ord`, the norm of matrices; else that of vectors."""
        if ord in (None, "fro") or dim is not None or A.dim() != 2:
            return gradus.norm(A, 2.0 if ord in (None, "fro") else ord, dim, keepdim)
        if ord in ("nuc", 2, -2):
            return self.__getattr__("norm")(A, ord, keepdims=keepdim)
        sums = A.abs().sum(0 if ord in (1, -1) else 1)
        return sums.max() if ord > 0 else sums.min()

    vector_norm = staticmethod(lambda x, ord=2, dim=None, keepdim=False: gradus.norm(x, ord, dim, keepdim))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        function = getattr(importlib.import_module("numpy.linalg"), name)

        def applied(*args: Any, **options: Any) -> Any:
            found = function(*((x if _core.is_grad_enabled() else x.detach()).numpy() if isinstance(x, Tensor) else x for x in args), **options)
            return tuple(map(tensor, found)) if isinstance(found, tuple) else tensor(found)
        return applied


linalg = _Linalg()


class Module(gradus.nn.Module, metaclass=abc.ABCMeta):
    """torch.nn.Module: modules in ordinary lists and dictionaries are not its own, as in PyTorch."""

    _finds_lists = False

    def __init__(self) -> None:
        vars(self).setdefault("_persistent", {})

    def __setattr__(self, name: str, value: Any) -> None:
        if "_persistent" not in vars(self) and isinstance(value, (nn.Parameter, gradus.nn.Module)):
            kind = "parameters" if isinstance(value, nn.Parameter) else "module"
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        super().__setattr__(name, value)

    @classmethod
    def __subclasshook__(cls, other: Any) -> Any:  # the library's layers are modules
        return cls is Module and issubclass(other, gradus.nn.Module) or NotImplemented


nn = types.ModuleType(f"{__name__}.nn", nn.__doc__)
vars(nn).update({name: value for name, value in vars(gradus.nn).items() if not name.startswith("__") or name == "__getattr__"}, Module=Module)
svd = lambda input: (lambda u, s, vh: (u, s, vh.mT))(*linalg.svd(input, full_matrices=False))
inverse, det = lambda input: linalg.inv(input), lambda input: linalg.det(input)


def assert_close(actual: Any, expected: Any, *, rtol: Any = None, atol: Any = None) -> None:
    """Raises AssertionError unless allclose() holds; the tolerances are PyTorch's for the dtype."""
    actual, expected = gradus.as_tensor(actual), gradus.as_tensor(expected)
    usual = {float32: (1.3e-6, 1e-5), float64: (1e-7, 1e-7)}.get(actual.dtype, (0.0, 0.0))
    tolerances = [given if given is not None else own for given, own in zip((rtol, atol), usual)]
    if actual.shape != expected.shape or actual.dtype is not expected.dtype or not gradus.allclose(actual, expected, *tolerances):
        raise AssertionError(f"Tensor-likes are not close: {actual} and {expected}")


testing = types.ModuleType(f"{__name__}.testing", "torch.testing: assert_close.")
testing.assert_close = assert_close  # type: ignore[attr-defined]
utils.checkpoint = types.ModuleType(f"{__name__}.utils.checkpoint", "torch.utils.checkpoint: checkpoint.")  # type: ignore[attr-defined]
utils.checkpoint.checkpoint = lambda function, *inputs, use_reentrant=True: autograd.checkpoint(function, *inputs)  # type: ignore[attr-defined]
for _name, _part in {"testing": testing, "utils.checkpoint": utils.checkpoint, "autograd": autograd, "nn": nn, "nn.functional": nn.functional, "nn.utils": nn.utils, "nn.init": nn.init,
                     "nn.parameter": _parameter, "nn.utils.rnn": _rnn, "nn.utils.stateless": _stateless, "optim": optim,
                     "optim.lr_scheduler": lr_scheduler, "utils": utils, "utils.data": data}.items():
    sys.modules[f"{__name__}.{_name}"] = _part
__version__ = "1.13.0+gradus"
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
float, double, long = float32, float64, int64
int8 = int16 = int32 = uint8 = short = int = int64  # the nearest that there is, as for arrays
from_numpy = gradus.as_tensor  # which copies arrays of these dtypes
Size = gradus.Size


class device(str):
    """The CPU, the only device: device("cpu"). Others are accepted, so that device("cuda" if ... else "cpu") can be written, but a
    tensor goes to the CPU only."""

    type = property(lambda self: self.split(":")[0])
    index = None

    def __repr__(self) -> str:
        return f"device(type='{self.type}')"


Tensor.device = property(lambda self: device("cpu"))


class _Node:
    """What computed a tensor: its name is PyTorch's."""

    def name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{self.name()} object at 0x{id(self):x}>"


def _grad_fn(x: Tensor) -> Any:
    printed = re.search(r"grad_fn=<(\w+)>\)$", repr(x))
    return type(printed[1], (_Node,), {})() if printed else None


Tensor.grad_fn = property(_grad_fn)


# -- random numbers

_masks = "default"
_seed = 0


def set_masks(kind: str) -> None:
    """How dropout draws from here on: "default", or "mkl" as PyTorch with MKL does on Intel processors. Everything else is the same in
    both. Raises Error for another word."""
    global _masks
    if kind not in ("default", "mkl"):
        raise Error(f"[set_masks] rng must be default or mkl, got '{kind}'.")
    _masks = kind
    state = default_generator.get_state().split(" ", 1)[1]
    default_generator.set_state(f"torch{'-mkl' if kind == 'mkl' else ''} {state}")


def manual_seed(seed: builtins.int) -> Any:
    """Starts the stream of random numbers anew, as PyTorch's function of this name does."""
    global _seed
    _seed = builtins.int(seed) % 2**64
    return gradus.manual_seed(_seed - 2**64 if _seed >= 2**63 else _seed, "torch-mkl" if _masks == "mkl" else "torch")


def initial_seed() -> builtins.int:
    """The seed of the last manual_seed()."""
    return _seed


def seed() -> builtins.int:
    """Starts the stream from a seed of the system. Returns it."""
    manual_seed(builtins.int.from_bytes(os.urandom(8), "little"))
    return _seed


random = types.SimpleNamespace(manual_seed=manual_seed)
compile, set_float32_matmul_precision = lambda model, **_: model, lambda precision: None  # which change no result
get_rng_state, set_rng_state, discard = default_generator.get_state, default_generator.set_state, default_generator.discard


class Generator(gradus.Generator):
    """A stream of its own: Generator().manual_seed(1)."""

    def __init__(self, device: Any = "cpu") -> None:
        self._seed = 67280421310721  # PyTorch's
        super().__init__(self._seed % 2**32, "torch")

    def initial_seed(self) -> builtins.int:
        """The seed of its last manual_seed()."""
        return self._seed

    def manual_seed(self, seed: builtins.int) -> Generator:
        """Starts anew. Returns itself."""
        self._seed = builtins.int(seed)
        self._become(gradus.Generator(self._seed % 2**32, "torch"))
        return self


def raw32(n: builtins.int) -> Tensor:
    """The next n words of 32 bits, int64 (n)."""
    return tensor([default_generator.next() for _ in range(n)], dtype=int64)


# -- functions and names that gradus spells otherwise

FloatTensor, DoubleTensor, LongTensor, BoolTensor = (functools.partial(_of_dtype, dtype) for dtype in (float32, float64, int64, bool))
IntTensor = ByteTensor = LongTensor


def finfo(dtype: Any = float32) -> Any:
    """The limits of float32, float64 or bfloat16: eps, max, min and tiny. Raises TypeError for others."""
    if dtype not in (float32, float64, gradus.bfloat16):
        raise TypeError(f"finfo takes a floating-point dtype, got {dtype}. Hint: iinfo takes int64.")
    bits, powers = {"float32": (24, 128), "float64": (53, 1024), "bfloat16": (8, 128)}[dtype.name]
    most, least = math.ldexp(2 - 2.0**(1 - bits), powers - 1), 2.0**(2 - powers)
    return types.SimpleNamespace(bits=8 * dtype.itemsize, eps=2.0**(1 - bits), max=most, min=-most, tiny=least, smallest_normal=least)


def iinfo(dtype: Any) -> Any:
    """The limits of int64. Raises TypeError for others."""
    if dtype is not int64:
        raise TypeError(f"iinfo takes int64, got {dtype}. Hint: finfo takes floating-point dtypes.")
    return types.SimpleNamespace(bits=64, max=2**63 - 1, min=-2**63)


class Complex:
    """Complex numbers, whose parts are the last dimension of a tensor: to be multiplied, indexed and reshaped, as rotary embeddings do."""

    def __init__(self, parts: Tensor) -> None:
        self.parts, self.real, self.imag = parts, parts[..., 0], parts[..., 1]
        self.shape, self.ndim, self.size = self.real.shape, self.real.ndim, self.real.size

    def __mul__(self, other: Any) -> Complex:
        if not isinstance(other, Complex):
            return Complex(self.parts * (other.unsqueeze(-1) if isinstance(other, Tensor) else other))
        return complex(self.real * other.real - self.imag * other.imag, self.real * other.imag + self.imag * other.real)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **options: complex(*(getattr(x, name)(*args, **options) for x in (self.real, self.imag)))

    def __getitem__(self, key: Any) -> Complex:
        return complex(self.real[key], self.imag[key])


view_as_complex, view_as_real = Complex, lambda input: input.parts
complex = lambda real, imag: Complex(gradus.stack([real, imag], -1))
polar = lambda abs, angle: complex(abs * angle.cos(), abs * angle.sin())


class GradScaler:
    """torch.cuda.amp.GradScaler where it is disabled, as on a CPU: it changes nothing."""

    def __init__(self, init_scale: builtins.float = 65536.0, *_: Any, enabled: builtins.bool = False, **__: Any) -> None:
        if enabled:
            raise Error("[GradScaler] must be disabled on a CPU, got enabled=True.")

    scale, unscale_, update = lambda self, outputs: outputs, lambda self, optimizer: None, lambda self, new_scale=None: None
    step = lambda self, optimizer, *args, **options: optimizer.step(*args, **options)
    is_enabled, get_scale = lambda self: False, lambda self: 1.0


class _Half:
    """The name of a dtype that no tensor has here: for tables of dtypes."""

    __repr__ = lambda self: "torch.float16"


float16 = half = _Half()
cosine_similarity = nn.functional.cosine_similarity
is_tensor, get_default_dtype = lambda x: isinstance(x, Tensor), lambda: float32
use_deterministic_algorithms = lambda mode, warn_only=False: None
inference_mode = lambda mode=True: autograd.no_grad(not mode and _core.is_grad_enabled())
cuda = types.SimpleNamespace(amp=types.SimpleNamespace(GradScaler=GradScaler), is_available=lambda: False, device_count=lambda: 0, manual_seed=lambda seed: None, manual_seed_all=lambda seed: None)
backends = types.SimpleNamespace(mps=types.SimpleNamespace(is_available=lambda: False, is_built=lambda: False),
                                 mkl=types.SimpleNamespace(is_available=lambda: _masks == "mkl"),
                                 cuda=types.SimpleNamespace(is_available=lambda: False), cudnn=types.SimpleNamespace())
__getattr__ = missing("torch", globals())


# -- `from torch import nn` where torch is this module

_import = builtins.__import__


def _import_here(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: builtins.int = 0) -> Any:
    here = sys.modules[__name__]
    is_part = name.startswith("torch.") or name == "torch" and fromlist
    # An import statement gives None or a tuple; what PyTorch's own C++ imports has a list.
    if is_part and level == 0 and not isinstance(fromlist, list) and globals and globals.get("torch") is here:
        part = importlib.import_module(__name__ + name[5:])
        return part if fromlist else here
    return _import(name, globals, locals, fromlist, level)


builtins.__import__ = _import_here
