"""torch.save and torch.load: pickles of tensors and Python values, which run no code when they are read."""
from __future__ import annotations

import contextlib
import io
import os
import pickle
from collections import Counter, OrderedDict
from typing import Any

from . import _core, _tensor
from ._core import Error, Tensor

_KNOWN = {("gradus._tensor", "_unpickled"): _tensor._unpickled, ("collections", "OrderedDict"): OrderedDict, ("collections", "Counter"): Counter, ("_codecs", "encode"): lambda text, _: text.encode("latin1")}


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, (Tensor, OrderedDict, Counter)) or obj in _KNOWN.values():
            return NotImplemented
        raise Error(f"[save] values must be tensors, numbers, texts, None, lists and dictionaries, got {type(obj).__name__}. "
                    "Hint: save model.state_dict(), not the model.")


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return _KNOWN[module, name]


def save(obj: Any, f: Any) -> None:
    """Writes tensors, numbers, texts, None, lists, tuples and dictionaries of them, such as state dictionaries, to a file, whole or
    not at all. Raises Error for anything else."""
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=4).dump(obj)
    if hasattr(f, "write"):
        f.write(buffer.getbuffer())
        return
    temporary = os.fspath(f) + ".tmp"
    with open(temporary, "wb") as file:
        file.write(buffer.getbuffer())
    os.replace(temporary, f)


def load(f: Any, map_location: Any = None, weights_only: bool = True) -> Any:
    """What save() wrote, or the tensors of a checkpoint of PyTorch or a safetensors file, by name. Raises Error for other files."""
    try:
        with contextlib.nullcontext(f) if hasattr(f, "read") else open(f, "rb") as file:
            return _Unpickler(file).load()
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, AttributeError, IndexError) as e:
        if not hasattr(f, "read"):
            return _core._load_file(f, True)
        raise Error(f"[load] the file must be one that gradus.torch.save wrote, got {e}.") from None
