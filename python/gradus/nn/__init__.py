"""Layers. Their parameters start with PyTorch's initial values, drawn from the default stream or from `generator`."""
from __future__ import annotations

import math
from typing import Any, Callable, Iterator

from .. import _core
from .._core import Tensor
from .._layer import layer, options_of
from .._missing import missing
from .._module import Module, as_module, converted
from .._types import Parameter
from . import functional, utils
from .utils import clip_grad_norm_

init = _core.init
init._calculate_fan_in_and_fan_out = lambda x: (x[0].numel(), x[:, 0].numel())


def _sizes(value: Any, dims: int = 1) -> tuple[int, ...]:
    return (value,) * dims if isinstance(value, int) else tuple(value)


def _pairs(options: dict[str, Any], dims: int) -> str:
    """The arguments of a convolution: sizes as tuples, and what differs from the defaults."""
    sizes = {name: _sizes(options[name], dims) for name in ("kernel_size", "stride", "padding", "dilation")}
    usual = {"padding": (0,) * dims, "dilation": (1,) * dims, "groups": 1, "bias": True}
    shown = {name: value for name, value in {**options, **sizes}.items() if name in usual and value != usual[name]}
    words = [f"{name}={value}" for name, value in {"kernel_size": sizes["kernel_size"], "stride": sizes["stride"], **shown}.items()]
    return ", ".join([f"{options['in_channels']}, {options['out_channels']}", *words])


def _norm(options: dict[str, Any]) -> str:
    return f"{_sizes(options['normalized_shape'])}, eps={options['eps']}, elementwise_affine={options.get('elementwise_affine', True)}"


def _pool(options: dict[str, Any]) -> str:
    return f"kernel_size={options['kernel_size']}, stride={options['stride'] or options['kernel_size']}, padding={options['padding']}"


# What print(model) says of a layer, where it is not its required arguments and its options that differ from the defaults.
_FORMS: dict[str, Any] = {
    "Conv1d": lambda options: _pairs(options, 1), "Conv2d": lambda options: _pairs(options, 2),
    "MaxPool2d": lambda options: _pool(options) + ", dilation=1, ceil_mode=False", "AvgPool2d": _pool,
    "Linear": "in_features={in_features}, out_features={out_features}, bias={bias}",
    "Dropout": "p={p}, inplace={inplace}",
    "LayerNorm": _norm, "RMSNorm": _norm,
    "BatchNorm1d": "{num_features}, eps={eps}, momentum={momentum}, affine={affine}, track_running_stats=True",
    "BatchNorm2d": "{num_features}, eps={eps}, momentum={momentum}, affine={affine}, track_running_stats=True",
    "GroupNorm": "{num_groups}, {num_channels}, eps={eps}, affine={affine}",
}
for _name in dir(_core.layers):
    if not _name.startswith("_"):
        _call = getattr(_core.layers, f"_call_{_name}", _core.layers._call)
        globals()[_name] = layer(_name, getattr(_core.layers, _name), _call, _FORMS.get(_name, ""))


_row, _normed, _dropped = globals()["Embedding"].forward, globals()["LayerNorm"].forward, globals()["Dropout"].forward


def _embed(self: Any, input: Tensor) -> Any:
    padding = self._options["padding_idx"]
    return _row(self, input) if padding is None else functional.embedding(input, self.weight, padding % self.num_embeddings)


def _drop(self: Any, input: Tensor) -> Any:
    return input.copy_(_dropped(self, input)) if self.inplace and self.training else _dropped(self, input)


def _normalize(self: Any, input: Tensor) -> Any:
    if self.elementwise_affine:
        return _normed(self, input)
    return functional.layer_norm(input, self.normalized_shape, eps=self.eps)


def _from_pretrained(cls: Any, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None) -> Any:
    """A layer with these rows."""
    made = cls(*embeddings.shape, padding_idx=padding_idx, generator=_core.Generator(0))
    made.weight = Parameter(embeddings, not freeze)
    return made


def _reset_rows(self: Any) -> None:
    """Draws the rows again."""
    init.normal_(self.weight)
    if self.padding_idx is not None:
        self.weight.data[self.padding_idx] = 0.0


def _reset_linear(self: Any) -> None:
    """Draws the parameters again."""
    init.kaiming_uniform_(self.weight, math.sqrt(5))
    if self.bias is not None:
        init.uniform_(self.bias, -1 / math.sqrt(self.in_features), 1 / math.sqrt(self.in_features))


def _reset_convolution(self: Any) -> None:
    """Draws the parameters again."""
    bound = 1 / math.sqrt(self.weight[0].numel())
    init.kaiming_uniform_(self.weight, math.sqrt(5))
    if self.bias is not None:
        init.uniform_(self.bias, -bound, bound)


def _reset_recurrent(self: Any) -> None:
    """Draws the parameters again."""
    for parameter in self.parameters():
        init.uniform_(parameter, -1 / math.sqrt(self.hidden_size), 1 / math.sqrt(self.hidden_size))


def _reset_norm(self: Any) -> None:
    """Ones and zeros."""
    for name, value in (("weight", 1.0), ("bias", 0.0)):
        if getattr(self, name) is not None:
            init.constant_(getattr(self, name), value)


for _names, _reset in {"Conv1d Conv2d": _reset_convolution, "RNN GRU LSTM": _reset_recurrent, "LayerNorm GroupNorm BatchNorm1d BatchNorm2d": _reset_norm}.items():
    for _name in _names.split():
        if _name in globals():
            globals()[_name].reset_parameters = _reset
globals()["Embedding"].forward, globals()["LayerNorm"].forward, globals()["Dropout"].forward = _embed, _normalize, _drop
globals()["LayerNorm"].normalized_shape = property(lambda self: _sizes(self._options["normalized_shape"]))
globals()["Embedding"].from_pretrained = classmethod(_from_pretrained)
globals()["Embedding"].reset_parameters, globals()["Linear"].reset_parameters = _reset_rows, _reset_linear


def _of_operation(name: str, operation: Any, inputs: int = 1, **defaults: Any) -> type[Module]:
    """A layer without parameters that calls an operation on its first arguments; the others are its options."""
    def __init__(self: Any, *args: Any, **options: Any) -> None:
        if inputs == 1 and args and isinstance(args[-1], bool):  # ReLU(True)
            args, options = args[:-1], {**options, "inplace": args[-1]}
        self._inplace = options.pop("inplace", False)
        self._options = options_of(operation, args, options, inputs, **defaults)

    def forward(self: Any, *tensors: Tensor) -> Any:
        if not self._inplace:
            return operation(*tensors, **self._options)
        own = getattr(Tensor, f"{operation.__name__}_", None)
        return own(*tensors, **self._options) if own else tensors[0].copy_(operation(*tensors, **self._options))

    def extra_repr(self: Any) -> str:
        shown = {**self._options, **({"inplace": True} if self._inplace else {})}
        return "" if inputs > 1 else ", ".join(f"{k}={v!r}" for k, v in shown.items())
    return type(name, (Module,), {"__init__": __init__, "forward": forward, "extra_repr": extra_repr, "__qualname__": name,
                                  "__doc__": f"{operation.__name__}() as a layer."})


for _name, _operation, _inputs, _defaults in [
        ("ReLU", _core.relu, 1, {}), ("GELU", _core.gelu, 1, {}), ("SiLU", _core.silu, 1, {}), ("Tanh", _core.tanh, 1, {}),
        ("Sigmoid", _core.sigmoid, 1, {}), ("Mish", _core.mish, 1, {}), ("Softplus", _core.softplus, 1, {}),
        ("LeakyReLU", functional.leaky_relu, 1, {}), ("ELU", functional.elu, 1, {}), ("LogSigmoid", functional.logsigmoid, 1, {}),
        ("Softmax", functional.softmax, 1, {}), ("LogSoftmax", functional.log_softmax, 1, {}),
        ("Flatten", _core.flatten, 1, {"start_dim": 1}), ("CrossEntropyLoss", _core.cross_entropy, 2, {}),
        ("NLLLoss", _core.nll_loss, 2, {}), ("MSELoss", _core.mse_loss, 2, {}), ("L1Loss", _core.l1_loss, 2, {}),
        ("SmoothL1Loss", _core.smooth_l1_loss, 2, {}), ("HuberLoss", _core.huber_loss, 2, {}), ("KLDivLoss", _core.kl_div, 2, {}),
        ("BCELoss", functional.binary_cross_entropy, 2, {}), ("CosineSimilarity", functional.cosine_similarity, 2, {}),
        ("BCEWithLogitsLoss", _core.binary_cross_entropy_with_logits, 2, {})]:
    globals()[_name] = _of_operation(_name, _operation, _inputs, **_defaults)


class Identity(Module):
    """A layer that returns its input."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def forward(self, input: Any) -> Any:
        return input


class ModuleDict(Module, dict[str, Any]):
    """A dictionary of modules, which are attributes, too."""

    _item = staticmethod(as_module)

    def __init__(self, modules: Any = ()) -> None:
        super().__init__()
        self.update(modules or ())

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, self._item(value))

    def update(self, *modules: Any, **named: Any) -> None:
        """self[name] = module for each."""
        for name, module in dict(*modules, **named).items():
            self[name] = module

    def _members(self) -> Iterator[tuple[str, Any]]:
        yield from super()._members()
        yield from ((name, module) for name, module in self.items() if isinstance(module, Module))

    def __getattr__(self, name: str) -> Any:
        if name in self.keys():
            return dict.__getitem__(self, name)
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Module) or name in self.keys():  # also of setattr() and add_module()
            self[name] = value
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.keys():
            del self[name]
        else:
            super().__delattr__(name)


class ModuleList(Module, list[Any]):
    """A list of modules, named 0, 1, ... An ordinary list as an attribute does the same."""

    _item = staticmethod(as_module)

    def __init__(self, modules: Any = ()) -> None:
        super().__init__(map(self._item, modules or ()))

    def __setitem__(self, i: Any, value: Any) -> None:
        super().__setitem__(i, list(map(self._item, value)) if isinstance(i, slice) else self._item(value))

    def __add__(self, modules: Any) -> Any:
        return type(self)([*self, *modules])

    def __iadd__(self, modules: Any) -> Any:
        return self.extend(modules)

    def insert(self, i: Any, module: Any) -> None:
        """Adds one before the i-th."""
        super().insert(i, self._item(module))

    def extend(self, modules: Any) -> Any:
        """Adds several at the end. Returns itself."""
        super().extend(map(self._item, modules))
        return self

    def _members(self) -> Iterator[tuple[str, Any]]:
        yield from super()._members()
        yield from ((str(i), module) for i, module in enumerate(self))

    def __getitem__(self, i: Any) -> Any:
        return type(self)(super().__getitem__(i)) if isinstance(i, slice) else super().__getitem__(i)

    def __getattr__(self, name: str) -> Any:
        return list.__getitem__(self, int(name)) if name.isdigit() and int(name) < len(self) else super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.isdigit():  # also of setattr() and add_module()
            self[int(name):int(name) + 1] = [value]
        else:
            super().__setattr__(name, value)

    def append(self, module: Module) -> ModuleList:  # type: ignore[override]
        """Adds one at the end. Returns itself."""
        super().append(self._item(module))
        return self


def _as_parameter(x: Any) -> Any:
    return Parameter(x) if isinstance(x, Tensor) and not isinstance(x, Parameter) else x


class ParameterDict(ModuleDict):
    """A dictionary of parameters; tensors become parameters."""

    _item = staticmethod(_as_parameter)

    def _own_parameters(self) -> list[tuple[str, Any]]:
        return list(self.items())

    def _set(self, name: str, value: Any) -> None:
        dict.__setitem__(self, name, value)

    def _members(self) -> Iterator[tuple[str, Any]]:
        yield from self._own_parameters()

    def _convert(self, dtype: Any) -> None:
        self.update({name: converted(value, dtype) for name, value in self.items()})

    def extra_repr(self) -> str:
        shown = ((name, x.type() if isinstance(self, dict) else x.dtype, "x".join(map(str, x.shape))) for name, x in self._own_parameters())
        return "\n".join(f"  ({name}): Parameter containing: [{kind} of size {size}]" for name, kind, size in shown)


class ParameterList(ModuleList):
    """A list of parameters, named 0, 1, ...; tensors become parameters."""

    _item = staticmethod(_as_parameter)

    def _own_parameters(self) -> list[tuple[str, Any]]:
        return [(str(i), value) for i, value in enumerate(self)]

    def _set(self, name: str, value: Any) -> None:
        list.__setitem__(self, int(name), value)

    def _convert(self, dtype: Any) -> None:
        self[:] = [converted(value, dtype) for value in self]

    extra_repr = ParameterDict.extra_repr  # type: ignore[assignment]


class Sequential(ModuleDict):
    """Calls its modules one after another. They are arguments, or a dictionary with their names."""

    def __init__(self, *modules: Any) -> None:
        is_named = len(modules) == 1 and isinstance(modules[0], dict) and not isinstance(modules[0], Module)
        super().__init__(modules[0] if is_named else {str(i): module for i, module in enumerate(modules)})

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values())

    def __getitem__(self, i: Any) -> Any:
        names = list(self.keys())[i]
        return Sequential({name: self.get(name) for name in names}) if isinstance(i, slice) else self.get(names)

    def __setitem__(self, i: Any, module: Module) -> None:
        super().__setitem__(i if isinstance(i, str) else list(self.keys())[i], module)

    def __delitem__(self, i: Any) -> None:
        names = list(self.keys())
        gone = [i] if isinstance(i, str) else names[i] if isinstance(i, slice) else [names[i]]
        left = [(name, module) for name, module in self.items() if name not in gone]
        self.clear()
        self.update(left if isinstance(i, str) else {str(n): module for n, (_, module) in enumerate(left)})

    def append(self, module: Module) -> Sequential:
        """Adds one at the end. Returns itself."""
        self[str(len(self))] = module
        return self

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input


__getattr__ = missing("torch.nn", globals())
from .transformer import (  # noqa: E402  (its layers are made of those above)
    MultiheadAttention, Transformer, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer)
