"""Layers. Their parameters start with PyTorch's initial values, drawn from the default stream or from `generator`."""
from __future__ import annotations

from typing import Any

from . import _core, functional
from ._module import Layer, Module
from ._types import Parameter, Tensor

init = _core.init
__all__ = ["Layer", "Module", "Parameter", "functional", "init"]


def _layer(name: str) -> type[Layer]:
    make = getattr(_core.layers, name)

    class Made(Layer):
        def __init__(self, *args: Any, **options: Any) -> None:
            if name == "LayerNorm" and args and not isinstance(args[0], int):
                args = (*args[0], *args[1:])
            super().__init__(make(*args, **options))
            vars(self)["_arguments"] = ", ".join([*map(str, args), *(f"{k}={v}" for k, v in options.items())])
    Made.__name__ = Made.__qualname__ = name
    Made.__doc__ = make.__doc__
    return Made


for _name in dir(_core.layers):
    if not _name.startswith("_"):
        globals()[_name] = _layer(_name)
        __all__.append(_name)


def _activation(name: str, function: Any, **defaults: Any) -> type[Module]:
    class Made(Module):
        def __init__(self, *args: Any, **options: Any) -> None:
            self._options = {**defaults, **dict(zip(defaults, args)), **options}

        def forward(self, input: Tensor) -> Tensor:
            return function(input, **self._options)

        def extra_repr(self) -> str:
            return ", ".join(f"{k}={v}" for k, v in self._options.items())
    Made.__name__ = Made.__qualname__ = name
    Made.__doc__ = f"{function.__name__}() as a layer."
    return Made


for _name, _function, _defaults in [
        ("ReLU", _core.relu, {}), ("GELU", _core.gelu, {"approximate": "none"}), ("SiLU", _core.silu, {}),
        ("Tanh", _core.tanh, {}), ("Sigmoid", _core.sigmoid, {}), ("Mish", _core.mish, {}), ("Softplus", _core.softplus, {}),
        ("Softmax", _core.softmax, {"dim": -1}), ("LogSoftmax", _core.log_softmax, {"dim": -1}),
        ("Flatten", _core.flatten, {"start_dim": 1, "end_dim": -1})]:
    globals()[_name] = _activation(_name, _function, **_defaults)
    __all__.append(_name)


class Identity(Module):
    """A layer that returns its input."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def forward(self, input: Any) -> Any:
        return input


class _Container(Module):
    _modules: Any

    def _members(self) -> Any:
        items = self._modules.items() if isinstance(self._modules, dict) else enumerate(self._modules)
        return ((str(name), module) for name, module in items if isinstance(module, Module))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Any:
        return iter(self._modules)


class ModuleList(_Container):
    """Modules in a row, named 0, 1, ... An ordinary list as an attribute does the same."""

    def __init__(self, modules: Any = ()) -> None:
        self._modules = list(modules)

    def __getitem__(self, i: Any) -> Any:
        return type(self)(self._modules[i]) if isinstance(i, slice) else self._modules[i]

    def __setitem__(self, i: int, module: Module) -> None:
        self._modules[i] = module

    def append(self, module: Module) -> ModuleList:
        """Adds one at the end."""
        self._modules.append(module)
        return self


class Sequential(ModuleList):
    """Calls its modules one after another."""

    def __init__(self, *modules: Any) -> None:
        super().__init__(modules[0] if len(modules) == 1 and not isinstance(modules[0], Module) else modules)

    def forward(self, input: Any) -> Any:
        for module in self._modules:
            input = module(input)
        return input


class ModuleDict(_Container):
    """Modules by name."""

    def __init__(self, modules: Any = ()) -> None:
        self._modules = dict(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self._modules[key] = module


class CrossEntropyLoss(Module):
    """cross_entropy() as a layer, with its options."""

    def __init__(self, **options: Any) -> None:
        self._options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return _core.cross_entropy(input, target, **self._options)


class MSELoss(CrossEntropyLoss):
    """mse_loss() as a layer."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return _core.mse_loss(input, target, **self._options)


__all__ += ["CrossEntropyLoss", "Identity", "MSELoss", "ModuleDict", "ModuleList", "Sequential"]


def clip_grad_norm_(parameters: Any, max_norm: float) -> float:
    """Scales the gradients to a norm of at most max_norm. Returns the norm before."""
    return _core.clip_grad_norm([parameters] if isinstance(parameters, Tensor) else list(parameters), max_norm)
