"""PyTorch's names for gradus: `import gradus.torch as torch` runs code that was written for PyTorch on a CPU.

Random numbers are PyTorch's: manual_seed(123) gives the same tensors, initial weights and dropout masks. Builds of PyTorch draw
dropout masks in two ways; `import gradus.torch.mkl as torch`, or set_masks("mkl"), gives those of builds with Intel's MKL. In a file
in which `torch` is this module, `from torch import nn` and `import torch.nn as nn` mean its parts. With GRADUS_AS_TORCH=1 in the
environment (or =mkl), `./gradus python` makes every `import torch` mean it.

A name that is not here raises an AttributeError that says which is the nearest.
"""
import builtins
import difflib
import functools
import importlib
import math
import os
import sys
import types

import gradus
from gradus import *  # noqa: F403
from gradus import Error, Generator as _Stream, Tensor, autograd, default_generator, float32, float64, int64
from gradus import bool_ as bool  # noqa: A004

from ._files import load, save
from ._print import set_printoptions

nn, optim, utils = (importlib.import_module(f"{__name__}.{part}") for part in ("nn", "optim", "utils"))
__version__ = "1.13.0+gradus"
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
float, double, long = float32, float64, int64
int = builtins.int
Size, dtype = gradus.Size, gradus.dtype
FloatTensor = DoubleTensor = LongTensor = Tensor


class device(str):
    """The CPU, the only device: device("cpu"). Others are accepted, so that device("cuda" if ... else "cpu") can be written, but a
    tensor goes to the CPU only."""

    type = property(lambda self: self.split(":")[0])
    index = None

    def __repr__(self):
        return f"device(type='{self.type}')"


# -- random numbers

_masks = "default"


def set_masks(kind):
    """How dropout draws from here on: "default", or "mkl" as PyTorch with MKL does on Intel processors. Everything else is the same in
    both. Throws Error for another word."""
    global _masks
    if kind not in ("default", "mkl"):
        raise Error(f"[set_masks] rng must be default or mkl, got '{kind}'.")
    _masks = kind
    state = default_generator.get_state().split(" ", 1)[1]
    default_generator.set_state(f"torch{'-mkl' if kind == 'mkl' else ''} {state}")


def manual_seed(seed):
    """Starts the stream of random numbers anew, as PyTorch's function of this name does."""
    seed = builtins.int(seed) % 2**64
    default_generator.become(_Stream(seed - 2**64 if seed >= 2**63 else seed, "torch-mkl" if _masks == "mkl" else "torch"))
    _seed[0] = seed
    return default_generator


_seed = [0]


def initial_seed():
    """The seed of the last manual_seed()."""
    return _seed[0]


def seed():
    """Starts the stream from a seed of the system. Returns it."""
    number = builtins.int.from_bytes(os.urandom(8), "little")
    manual_seed(number)
    return number


def random_seed(generator=None):
    """A whole number of 63 bits, two words of the stream: what PyTorch's DataLoader draws."""
    return gradus.randint(-2**62, 2**62, (1,), generator=generator).item() + 2**62


def get_rng_state():
    """The state of the stream, for set_rng_state()."""
    return default_generator.get_state()


def set_rng_state(state):
    """Continues the stream from a state."""
    default_generator.set_state(state)


class Generator(_Stream):
    """A stream of its own: Generator().manual_seed(1)."""

    def __init__(self, device="cpu"):
        super().__init__(0, "torch")

    def manual_seed(self, seed):
        """Starts anew. Returns itself."""
        self.become(_Stream(builtins.int(seed) % 2**32, "torch"))
        return self


def discard(n):
    """Drops n words of 32 bits of the stream."""
    default_generator.discard(n)


def raw32(n):
    """The next n words of 32 bits, int64 (n)."""
    return gradus.tensor([default_generator.next() for _ in range(n)], dtype=int64)


# -- names that gradus spells otherwise

def _on_cpu(function):
    @functools.wraps(function, assigned=("__name__", "__doc__"))
    def make(*args, device=None, **options):
        return function(*args, **options)
    return make


for _name in ("arange as_tensor empty empty_like eye full full_like linspace ones ones_like rand rand_like randint randn randn_like randperm "
              "tensor zeros zeros_like").split():
    globals()[_name] = _on_cpu(getattr(gradus, _name))  # which take a device, too


def numel(input):
    """The number of elements."""
    return input.numel()


def is_tensor(x):
    """Whether x is a tensor."""
    return isinstance(x, Tensor)


def is_floating_point(input):
    """Whether its dtype is float32 or float64."""
    return input.dtype.is_floating_point


def std_mean(input, dim=None, unbiased=True, keepdim=False):
    """Standard deviation and mean."""
    return gradus.std(input, dim, unbiased, keepdim), gradus.mean(input, dim, keepdim)


def bincount(input, minlength=0):
    """How often each of 0, 1, ... is among the whole numbers of a vector, int64."""
    size = max(minlength, builtins.int(input.max().item()) + 1 if input.numel() else 0)
    return zeros(size, dtype=int64).scatter_add(0, input, ones_like(input))


def unique(input, sorted=True):
    """The different elements, in order."""
    return tensor(builtins.sorted(set(input.reshape(-1).tolist())), dtype=input.dtype)


linalg = types.SimpleNamespace(vector_norm=lambda x, ord=2, dim=None, keepdim=False: gradus.norm(x, ord, dim, keepdim))
inference_mode = gradus.no_grad
cuda = types.SimpleNamespace(is_available=lambda: False, device_count=lambda: 0, manual_seed=manual_seed, manual_seed_all=manual_seed)
backends = types.SimpleNamespace(mps=types.SimpleNamespace(is_available=lambda: False, is_built=lambda: False),
                                 mkl=types.SimpleNamespace(is_available=lambda: _masks == "mkl"),
                                 cuda=types.SimpleNamespace(is_available=lambda: False))
concat = concatenate = gradus.cat
mul, multiply, divide, true_divide, subtract = gradus.mul, gradus.mul, gradus.div, gradus.div, gradus.sub
greater, less, absolute = gradus.gt, gradus.lt, gradus.abs


# -- what is missing

def missing(owner, name, names):
    """The AttributeError for a name that `owner` has not."""
    near = difflib.get_close_matches(name, [n for n in names if not n.startswith("_")], 1, 0.6)
    hint = f" The nearest is {owner}.{near[0]}." if near else ""
    return AttributeError(f"gradus has no {owner}.{name}.{hint} docs/coming-from-pytorch.md lists what there is.")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing("torch", name, globals())


# -- `from torch import nn` where torch is this module

_import = builtins.__import__


def _import_here(name, globals=None, locals=None, fromlist=(), level=0):
    here = sys.modules[__name__]
    is_part = name.startswith("torch.") or name == "torch" and fromlist
    # An import statement gives None or a tuple; what PyTorch's own C++ imports has a list.
    if is_part and level == 0 and not isinstance(fromlist, list) and globals and globals.get("torch") is here:
        part = importlib.import_module(__name__ + name[5:])
        return part if fromlist else here
    return _import(name, globals, locals, fromlist, level)


builtins.__import__ = _import_here
