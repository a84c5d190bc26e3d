"""Layer: a layer of the library as a module of Python."""
from __future__ import annotations

import copy
import inspect
from typing import Any, Iterator

from . import _core
from ._core import Error, Tensor
from ._module import Module, no_attribute


def options_of(operation: Any, args: tuple[Any, ...], given: dict[str, Any], skip: int = 0, **defaults: Any) -> dict[str, Any]:
    """The arguments of a call of an operation of gradus._core, by name and with defaults, without the first `skip`."""
    parameters = list(inspect.signature(operation).parameters.values())[skip:]
    signature = inspect.Signature([p.replace(default=defaults.get(p.name, p.default)) for p in parameters])
    bound = signature.bind(*args, **given)
    bound.apply_defaults()
    return {name: value for name, value in bound.arguments.items() if name not in ("generator", "dtype")}


class Layer(Module):
    """A layer of the library. Its parameters are attributes, layer.weight and attention.c_attn.weight, as are the options it was
    made with."""

    _call: Any = _core.layers._call
    _format: Any = ""  # of extra_repr()
    _defaults: dict[str, Any] = {}

    def __init__(self, core: Any, **options: Any) -> None:
        vars(self).update(_core=core, _options=options)
        self._keep()

    def _keep(self) -> None:
        """Keeps the objects of the parameters, which have an identity and attributes of their own."""
        vars(self)["_kept"] = {parameter for _, parameter in self._core.module().named_parameters()}

    def _put(self, name: str, value: Tensor) -> None:
        self._core.set(name, value)
        self._keep()

    def forward(self, *args: Any, **options: Any) -> Any:
        return type(self)._call(self._core, *args, **options)

    def _parts(self, prefix: str = "", above: Any = ()) -> Iterator[tuple[str, Any]]:
        yield prefix.rstrip("."), self._core
        yield from super()._parts(prefix, above)  # of a subclass with members of its own

    def _assembly(self) -> Any:
        return super()._assembly() if any(True for _ in self._members()) else self._core.module()

    def _convert(self, dtype: Any) -> None:
        self._core.to(dtype)
        self._keep()
        super()._convert(dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_core" not in vars(self):
            raise AttributeError(name)
        if name in self._options and name not in ("bias", "weight"):
            return self._options[name]
        return self._member(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if "_core" not in vars(self):  # a subclass before Layer.__init__()
            return super().__setattr__(name, value)
        if name == "training":
            self._core.train(value)
            return super().__setattr__(name, value)
        tensors = _tensors_of(self._core)
        is_new = name == "bias" and name in self._options and name not in tensors
        self._check(name, value, tensors.get("weight" if is_new else name), name in tensors)
        if isinstance(value, Tensor) and (is_new or name in tensors):
            if is_new:
                self._remake(name, value)
            self._put(name, value)
        elif name in self._options or value is None and name in dict(self._core.module().named_parameters()):
            self._remake(name, value)
        else:
            super().__setattr__(name, value)

    def _member(self, name: str) -> Any:
        return _member(self, name, type(self).__name__)

    def _remake(self, name: str, value: Any) -> None:
        """Makes the layer again with another option, and without a bias that became None. The tensors stay those that they are."""
        options = {**self._options, name: value is not None if name == "bias" else value}
        old, new = self._core.module(), self._made_of(options)
        kept, tensors = new.module().state_dict(), dict(old.named_parameters() + old.named_buffers())
        if any(kept[key].shape != tensors[key].shape if key in tensors else key != "bias" for key in kept):
            raise Error(f"[module] {name} of {type(self).__name__} is fixed by its parameters, got {value}. Hint: make another layer.")
        for key, tensor in tensors.items():
            if key in kept:
                new.set(key, tensor)
        new.train(self.training)
        vars(self).update(_core=new, _options=options)
        self._keep()

    def _made_of(self, options: dict[str, Any]) -> Any:
        return type(self)._make(**options, **({"generator": _core.Generator(0)} if "generator" in self._defaults else {}))

    def __getstate__(self) -> Any:  # of a pickle
        state = {name: x for name, x in vars(self).items() if name != "_kept"}
        return {**state, "_core": _tensors_of(self._core)} if hasattr(type(self), "_make") else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        core = self._made_of(state["_options"]) if hasattr(type(self), "_make") else state["_core"]
        if core is not state["_core"]:
            for name, tensor in state["_core"].items():
                core.set(name, tensor)
            core.train(state.get("training", True))
        vars(self).update(state, _core=core)
        self._keep()

    def _own_buffers(self) -> list[tuple[str, Tensor]]:
        return [*self._core.module().named_buffers(), *super()._own_buffers()]

    def _own_parameters(self) -> list[tuple[str, Any]]:
        return [*self._core.module().named_parameters(), *super()._own_parameters()]

    def _set(self, name: str, value: Any) -> None:
        super()._set(name, value) if name in vars(self) else self._put(name, value)

    def __deepcopy__(self, memo: Any) -> Layer:
        layer = memo[id(self)] = type(self).__new__(type(self))
        core = self._core.deep_copy()
        made = dict(core.module().named_parameters())
        for parameter in made.values():
            parameter.grad = None
        for name, parameter in self._core.module().named_parameters():
            shared = memo.setdefault(id(parameter), made[name])  # as Tensor's: one copy of what several modules share
            memo.setdefault(id(memo), []).append(parameter)
            if shared is not made[name]:
                core.set(name, shared)
        shared = ("_core", "_kept", "_options", "tokenizer")
        vars(layer).update({name: x if name in shared else copy.deepcopy(x, memo) for name, x in vars(self).items()}, _core=core)
        layer._keep()
        return layer

    def extra_repr(self) -> str:
        form = type(self)._format
        if form:
            return str(form(self._options) if callable(form) else form.format(**self._options))
        defaults = self._defaults
        return ", ".join(str(value) if defaults[name] is inspect.Parameter.empty else f"{name}={value}"
                         for name, value in self._options.items() if value != defaults[name])


class TensorLayer(Layer):
    """A layer of one tensor, which it makes another of."""

    def __call__(self, *args: Any, **options: Any) -> Tensor:
        return super().__call__(*args, **options)  # type: ignore[no-any-return]


class _Path:
    """A part of a layer, by its name: attention.c_attn."""

    def __init__(self, layer: Layer, path: str) -> None:
        vars(self).update(_layer=layer, _path=path)

    def __getattr__(self, name: str) -> Any:
        return _member(self._layer, f"{self._path}.{name}", self._path)

    def __setattr__(self, name: str, value: Tensor) -> None:
        self._layer._put(f"{self._path}.{name}", value)


def _tensors_of(core: Any) -> dict[str, Tensor]:
    module = core.module()
    return dict(module.named_parameters() + module.named_buffers())


def _member(layer: Layer, name: str, owner: str) -> Any:
    tensors = _tensors_of(layer._core)
    if name in tensors:
        return tensors[name]
    if any(known.startswith(name + ".") for known in tensors):
        return _Path(layer, name)
    if name in ("bias", "weight"):
        return None
    raise no_attribute(owner, name)


def layer(name: str, make: Any, call: Any, form: Any) -> type[Layer]:
    """The class of a layer from the row of gradus._core.layers that makes it."""
    def __init__(self: Layer, *args: Any, dtype: Any = None, device: Any = None, **options: Any) -> None:
        library = next(c for c in type(self).__mro__ if "_make" in vars(c))
        # PyTorch calls reset_parameters(). Here it is called where the result differs: to draw doubles, and if a subclass has its own.
        reset = getattr(type(self), "reset_parameters", None)
        is_own = reset is not getattr(library, "reset_parameters", None)
        draws = "generator" in type(self)._defaults
        is_redrawn = draws and reset and options.get("generator") is None and (is_own or str(dtype) == "torch.float64")
        redrawn = {"generator": _core.Generator(0)} if is_redrawn else {}
        Layer.__init__(self, make(*args, **{**options, **redrawn}), **options_of(make, args, options))
        self.to(dtype=dtype, device=device)  # refuses another device than the CPU
        if is_redrawn or is_own and not draws:
            reset(self)  # type: ignore[misc]
    defaults = {p.name: p.default for p in inspect.signature(make).parameters.values()}
    base = Layer if name in ("RNN", "GRU", "LSTM") else TensorLayer
    return type(name, (base,), {"__init__": __init__, "__doc__": make.__doc__, "__qualname__": name, "__module__": "gradus.nn",
                                "_call": call, "_make": staticmethod(make), "_format": form, "_defaults": defaults,
                                "__signature__": inspect.signature(make)})
