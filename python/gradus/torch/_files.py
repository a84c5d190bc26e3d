"""torch.save and torch.load: zip files with a tree of Python values beside their tensors. They run no code."""
import builtins
import json
import zipfile
from collections import OrderedDict

import gradus
from gradus import Error

_DTYPES = {name: getattr(gradus, name) for name in ("float32", "float64", "int64")} | {"bool": gradus.bool_}


def save(obj, f):
    """Writes tensors, numbers, texts, None, lists, tuples and dictionaries of them, such as state dictionaries, to a file: a zip of
    tree.json and, for each tensor, its bytes. Throws Error for anything else."""
    tensors = []

    def described(x):
        if isinstance(x, gradus.Tensor):
            tensors.append(x.detach().contiguous())
            return {"tensor": len(tensors) - 1, "dtype": x.dtype.name, "shape": list(x.shape), "parameter": type(x) is not gradus.Tensor,
                    "requires_grad": x.requires_grad}
        if isinstance(x, dict):
            return {"dict": [[described(k), described(v)] for k, v in x.items()], "ordered": isinstance(x, OrderedDict)}
        if isinstance(x, (list, tuple)):
            return {"tuple" if isinstance(x, tuple) else "list": [described(v) for v in x]}
        if x is None or isinstance(x, (bool, builtins.int, builtins.float, str)):
            return {"value": x}
        raise Error(f"[save] values must be tensors, numbers, texts, None, lists and dictionaries, got {type(x).__name__}. "
                    "Hint: save model.state_dict(), not the model.")

    tree = json.dumps(described(obj))
    with zipfile.ZipFile(f, "w") as file:
        file.writestr("tree.json", tree)
        for i, t in enumerate(tensors):
            file.writestr(f"tensors/{i}", bytes(memoryview(t).cast("B")) if t.numel() else b"")


def load(f, map_location=None, weights_only=True):
    """What save() wrote. Throws Error for other files."""
    try:
        with zipfile.ZipFile(f) as file:
            tree, read = json.loads(file.read("tree.json")), file.read
            return _value(tree, lambda i: read(f"tensors/{i}"))
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError) as e:
        raise Error(f"[load] {f if isinstance(f, str) else 'the file'} must be one that gradus.torch.save wrote, got {e}. Hint: "
                    "gradus.load_tensors reads checkpoints of PyTorch.") from None


def _value(tree, bytes_of):
    if "tensor" in tree:
        values = memoryview(bytearray(bytes_of(tree["tensor"])))
        letter = {"float32": "f", "float64": "d", "int64": "q", "bool": "?"}[tree["dtype"]]
        x = gradus.tensor(list(values.cast(letter)), dtype=_DTYPES[tree["dtype"]]).reshape(tree["shape"])
        return (gradus.Parameter(x, tree["requires_grad"]) if tree["parameter"] else x.requires_grad_(tree["requires_grad"]))
    if "dict" in tree:
        items = ((_value(k, bytes_of), _value(v, bytes_of)) for k, v in tree["dict"])
        return OrderedDict(items) if tree["ordered"] else dict(items)
    if "list" in tree or "tuple" in tree:
        values = [_value(v, bytes_of) for v in tree.get("list", tree.get("tuple"))]
        return tuple(values) if "tuple" in tree else values
    return tree["value"]
