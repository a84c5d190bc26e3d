"""Module: a layer or a model written in Python, with its parameters found by name."""
from __future__ import annotations

import operator
from collections import OrderedDict, UserDict, namedtuple
from typing import Any, Callable, Iterator

from . import _core
from ._core import Error, Tensor
from ._types import Parameter, is_cpu


class LoadReport(namedtuple("LoadReport", ["missing_keys", "unexpected_keys"])):
    """The names that a load that is not strict ignored."""

    def __repr__(self) -> str:
        kept = f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"
        return kept if any(self) else "<All keys matched successfully>"


class Handle:
    """A hook of a module."""

    def __init__(self, hooks: dict[Handle, Any], hook: tuple[bool, Callable[..., Any]]) -> None:
        self._hooks = hooks
        hooks[self] = hook

    def remove(self) -> None:
        """Removes the hook."""
        self._hooks.pop(self, None)


class _View(UserDict):  # type: ignore[type-arg]
    """Members of a module by name. What is assigned becomes an attribute of the module, and what is deleted is none."""

    def __init__(self, module: Module, members: dict[str, Any]) -> None:
        self._module, self.data = module, members

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self._module, name, value)
        self.data[name] = value

    def __delitem__(self, name: str) -> None:
        delattr(self._module, name)
        del self.data[name]


class Module:
    """A layer or a model: its call is forward().

    Parameters, modules, and lists, tuples and dictionaries of these are found in its attributes, in the order in which
    they were assigned. Their names are paths: blocks.0.attn.c_attn.weight. There is nothing to register, and super()
    need not be called.
    """

    training = True
    _finds_lists = True  # whether what lists, tuples and dictionaries hold is found
    __eq__, __hash__ = object.__eq__, object.__hash__  # also of lists and dictionaries of modules

    def forward(self, *args: Any, **options: Any) -> Any:
        """What the call computes."""
        raise NotImplementedError(f"{type(self).__name__} needs a method forward()")

    def __getattr__(self, name: str) -> Any:
        raise no_attribute(type(self).__name__, name)

    def __setattr__(self, name: str, value: Any) -> None:
        own, kinds = vars(self), (Parameter, Module)
        self._check(name, value, own.get(name), name in own.get("_persistent", {}))
        names = own.setdefault("_names", {})
        if isinstance(value, kinds):
            own.get("_persistent", {}).pop(name, None)
            if name in own and not isinstance(own[name], kinds) and names.get(name) != "kept":  # as new: it comes last
                del own[name]
        names.setdefault(name, "")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        for names in (vars(self).get("_persistent", {}), vars(self).get("_names", {})):
            names.pop(name, None)

    def _attributes(self) -> list[tuple[str, Any]]:
        """The attributes that were assigned, and not hidden by object.__setattr__() or in __dict__."""
        names = vars(self).get("_names", {})
        return [(name, value) for name, value in vars(self).items() if name in names]

    def _check(self, name: str, value: Any, old: Any, is_buffer: bool) -> None:
        """Raises TypeError where a parameter, a module or a buffer `old` would be lost. None and a Parameter may take its place."""
        if value is None or isinstance(value, Parameter):
            return
        kinds = {"parameter": (isinstance(old, Parameter), "nn.Parameter"),
                 "child module": (isinstance(old, Module) and not isinstance(value, Module), "nn.Module"),
                 "buffer": (is_buffer and not isinstance(value, Module) and not _is_buffer(value), "Tensor")}
        for kind, (is_lost, wanted) in kinds.items():
            if is_lost:
                raise TypeError(f"cannot assign '{typename(value)}' as {kind} '{name}' (torch.{wanted} or None expected)")

    def __call__(self, *args: Any, **options: Any) -> Any:
        hooks = vars(self).get("_hooks")
        if not hooks:
            return self.forward(*args, **options)
        for before, hook in list(hooks.values()):
            changed = hook(self, args) if before else None
            args = args if changed is None else changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*args, **options)
        for before, hook in list(hooks.values()):
            changed = None if before else hook(self, args, result)
            result = result if changed is None else changed
        return result

    def register_forward_hook(self, hook: Callable[..., Any]) -> Handle:
        """Calls hook(module, inputs, result) after forward(); what it returns, unless None, is the result. The handle removes it."""
        return Handle(vars(self).setdefault("_hooks", {}), (False, hook))

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Calls hook(module, inputs) before forward(); what it returns, unless None, are the inputs. The handle removes it."""
        return Handle(vars(self).setdefault("_hooks", {}), (True, hook))

    # -- members

    def _members(self) -> Iterator[tuple[str, Any]]:
        """Names and values: parameters, buffers, then children, those in lists and dictionaries too."""
        buffers = vars(self).get("_persistent", {})
        found = [pair for name, value in self._attributes()
                 for pair in (_items(name, value) if self._finds_lists else ((name, value),))]
        yield from (pair for pair in found if isinstance(pair[1], Parameter))
        yield from (pair for pair in found if pair[0] in buffers and buffers[pair[0]] and pair[1] is not None
                    and not isinstance(pair[1], (Parameter, Module)))
        yield from (pair for pair in found if isinstance(pair[1], Module))

    # Views, as PyTorch's dictionaries of these names.
    _modules = property(lambda self: _View(self, {name: x for name, x in self._members() if isinstance(x, Module)}))
    _parameters = property(lambda self: _View(self, dict(self._own_parameters())))
    _buffers = property(lambda self: _View(self, {**dict.fromkeys(vars(self).get("_persistent", ())), **dict(self._own_buffers())}))

    def _parts(self, prefix: str = "", above: Any = ()) -> Iterator[tuple[str, Any]]:
        """(name, Parameter, buffer or layer of the library) of this module and its descendants, but not again of those above it."""
        for name, value in self._members():
            if not isinstance(value, Module):
                yield prefix + name, value
            elif value not in (*above, self):
                yield from value._parts(f"{prefix}{name}.", (*above, self))

    def _assembly(self) -> Any:
        return _core.Assembly(list(self._parts()), False)

    def named_modules(self, prefix: str = "", memo: Any = None) -> Iterator[tuple[str, Module]]:
        """This module, whose name is empty, and its descendants, each once."""
        memo = set() if memo is None else memo
        if self not in memo:
            memo.add(self)
            yield prefix, self
            for name, value in self.named_children():
                yield from value.named_modules(f"{prefix}.{name}" if prefix else name, memo)

    def get_submodule(self, target: str) -> Any:
        """The descendant of this name."""
        return operator.attrgetter(target)(self) if target else self

    get_parameter = get_buffer = get_submodule

    def modules(self) -> Iterator[Module]:
        """This module and its descendants, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules right below this one, each once."""
        first = {value: name for name, value in reversed(list(self._members())) if isinstance(value, Module)}
        return ((name, value) for value, name in reversed(first.items()))

    def children(self) -> Iterator[Module]:
        """The same without the names."""
        return (child for _, child in self.named_children())

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Each parameter once, under its first name; without recurse, those of this module itself."""
        found = self._assembly().named_parameters() if recurse else self._own_parameters()
        return ((f"{prefix}.{name}" if prefix else name, parameter) for name, parameter in found)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The same without the names."""
        return (parameter for _, parameter in self.named_parameters("", recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Tensors that are not trained: those saved with the parameters, and those that are not persistent."""
        for prefix, module in self.named_modules(prefix) if recurse else [(prefix, self)]:
            yield from ((f"{prefix}.{name}" if prefix else name, buffer) for name, buffer in module._own_buffers())

    def _own_buffers(self) -> list[tuple[str, Tensor]]:
        found = [(name, getattr(self, name, None)) for name in vars(self).get("_persistent", {})]
        return [(name, buffer) for name, buffer in found if buffer is not None and not isinstance(buffer, (Parameter, Module))]

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The same without the names."""
        return (buffer for _, buffer in self.named_buffers("", recurse))

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """self.<name> = tensor; it is part of the state if persistent."""
        self._claim("buffer", name, self._buffers, tensor, _is_buffer(tensor), "torch Tensor")
        vars(self).setdefault("_persistent", {})[name] = persistent
        setattr(self, name, tensor)

    def register_parameter(self, name: str, param: Any) -> None:
        """self.<name> = param, a Parameter or None."""
        self._claim("parameter", name, self._parameters, param, isinstance(param, Parameter), "torch.nn.Parameter")
        setattr(self, name, param)
        vars(self)["_names"][name] = "kept"  # its place, also of None

    def add_module(self, name: str, module: Any) -> None:
        """self.<name> = module, or None."""
        self._claim("module", name, self._modules, as_module(module))
        setattr(self, name, module)

    register_module = add_module

    def _claim(self, kind: str, name: str, own: Any, value: Any, is_one: bool = True, wanted: str = "") -> None:
        if name == "" or "." in name:
            contained = f'contain "."{f", got: {name}" if kind == "module" else ""}'
            raise KeyError(f"{kind} name can't " + (contained if name else 'be empty string ""'))
        if name not in own and getattr(self, name, None) is not None:
            raise KeyError(f"attribute '{name}' already exists")
        if value is not None and not is_one:
            raise TypeError(f"cannot assign '{typename(value)}' object to {kind} '{name}' ({wanted} or None required)")

    def apply(self, function: Callable[[Module], Any]) -> Module:
        """Calls function(module) for all descendants, then for this module."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    # -- state

    def state_dict(self, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> OrderedDict[str, Tensor]:
        """Parameters and buffers of each module, outside the graph unless keep_vars; they share storage with the module's. A parameter
        that several modules share has a name in each. The names begin with `prefix`; they are added to `destination`."""
        state: OrderedDict[str, Tensor] = OrderedDict() if destination is None else destination
        for name, part in self._parts():
            inner = {"": part} if isinstance(part, Tensor) else {**part.module().state_dict(), **dict(part.module().named_parameters())}
            state.update((prefix + f"{name}.{key}".strip("."), x if keep_vars else x.detach()) for key, x in inner.items())
        return state

    def load_state_dict(self, state_dict: dict[str, Tensor], strict: bool = True) -> LoadReport:
        """Copies values in; returns the names that were missing and unexpected. Raises one Error that lists all
        misshaped names and, if strict, all missing and unexpected ones; nothing is changed then. One name of a shared
        parameter is enough."""
        given, first, names = dict(state_dict), {}, {}
        for name, value in self.state_dict().items():
            names[name] = first.setdefault((value.data_ptr(), tuple(value.shape)) if value.numel() else name, name)
            if name != names[name] and name in given:
                given[names[name]] = given.pop(name)
        missing, unexpected = self._assembly().load_state_dict(given, strict)
        return LoadReport([name for name, known in names.items() if known in missing], [name for name in given if name in unexpected])

    def save(self, path: Any, metadata: Any = None) -> None:
        """Writes the state as a safetensors file, shared parameters once."""
        _core._save_file(self._assembly().state_dict(), path, metadata or {"format": "pt"})

    def summary(self) -> str:
        """A table of parameters and buffers with their shapes, and the number of elements."""
        return str(self._assembly().summary())

    # -- modes

    def train(self, mode: bool = True) -> Module:
        """Sets the mode of this module and its descendants: dropout is for training only."""
        if not vars(self).get("_switches"):  # else it holds itself
            self.training, vars(self)["_switches"] = mode, True
            try:
                for child in self.children():
                    child.train(mode)
            finally:
                del vars(self)["_switches"]
        return self

    def eval(self) -> Module:
        """Evaluation: nothing is dropped."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Trains or freezes all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Every gradient becomes None, or zeros in its memory."""
        clear_gradients(self.parameters(), set_to_none)

    def to(self, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False) -> Module:
        """Converts floating parameters and buffers; an optimizer made before refuses those that are new. The only device is the CPU."""
        for arg in (*args, dtype, device):
            if arg is None or is_cpu(arg):
                continue
            places: dict[int, list[tuple[Module, str]]] = {}
            before = [(module, name, x) for module in self.modules() for name, x in module._own_parameters()]
            for module, name, x in before:
                places.setdefault(id(x), []).append((module, name))
            for module in self.modules():
                module._convert(arg)
            for (first, its_name), *others in places.values():  # what several modules share stays shared
                for module, name in others:
                    module._set(name, dict(first._own_parameters())[its_name])
        return self

    def cpu(self) -> Module:
        """This module: the only device is the CPU."""
        return self

    def _own_parameters(self) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in self._attributes() if isinstance(value, Parameter)]

    def _set(self, name: str, value: Any) -> None:
        if name in vars(self):
            vars(self)[name] = value  # any tensor
        else:
            setattr(self, name, value)

    def _convert(self, dtype: Any) -> None:
        for name, value in self._attributes():
            is_parameter = isinstance(value, Parameter)
            if isinstance(value, Tensor) and value.dtype.is_floating_point and (is_parameter or name in vars(self).get("_persistent", {})):
                setattr(self, name, converted(value, dtype))
            elif self._finds_lists and not isinstance(value, Tensor) and any(isinstance(x, Parameter) for _, x in _items(name, value)):
                raise Error(f"[to] parameters in {name} cannot be converted. Hint: make them of the dtype.")

    def double(self) -> Module:
        """to(float64)."""
        return self.to("float64")

    def float(self) -> Module:
        """to(float32)."""
        return self.to("float32")

    def extra_repr(self) -> str:
        """What repr() says of this module itself."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): " + repr(child).replace("\n", "\n  ") for name, child in self._members() if isinstance(child, Module)]
        own = self.extra_repr()
        if not own.startswith("\n") and (lines or "\n" in own):  # which is no whole block
            own = "\n  " + "\n  ".join([*(own.split("\n") if own else ()), *lines]) + "\n"
        return f"{type(self).__name__}({own})"


def clear_gradients(parameters: Any, set_to_none: bool) -> None:
    """zero_grad() of these parameters."""
    for parameter in parameters:
        if set_to_none:
            parameter.grad = None
        elif parameter.grad is not None:
            zeros = parameter.grad.detach().zero_()
            if parameter.requires_grad:
                parameter.grad = zeros  # outside of the graph


def converted(value: Any, dtype: Any) -> Any:
    """A parameter or a buffer in a dtype; itself if it has it."""
    new = value.detach().to(dtype)
    if new.dtype == value.dtype or not isinstance(value, Parameter):
        return value if new.dtype == value.dtype else new
    value._mark_replaced()
    return Parameter(new, value.requires_grad and new.dtype.is_floating_point)  # bfloat16 only stores


def _items(name: str, value: Any, above: Any = ()) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, (list, tuple, dict)) or isinstance(value, Module):
        yield name, value
    elif all(value is not x for x in above):  # a list may hold itself
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _items(f"{name}.{key}", item, (*above, value))


def typename(value: Any) -> str:
    """The name of a value's type in PyTorch's messages."""
    home, kind = getattr(value, "__module__", None), getattr(value, "__qualname__", getattr(value, "__name__", type(value).__name__))
    return str(value.type() if isinstance(value, Tensor) else kind if home in (None, "builtins") else f"{home}.{kind}")


def as_module(value: Any) -> Any:
    """A module or None. Raises TypeError for others."""
    if value is not None and not isinstance(value, Module):
        raise TypeError(f"{typename(value)} is not a Module subclass")
    return value


def _is_buffer(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "parts")  # a tensor of complex numbers


class Point:
    """A value inside a module, which watch() and Intervention find by its name. Copies are points of their own."""

    def __init__(self) -> None:
        self.core = _core.layers.Dropout(0.0)  # returns the same tensor

    def __call__(self, x: Tensor) -> Tensor:
        return _core.layers._call(self.core, x)  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        return Point, ()


def no_attribute(owner: str, name: str) -> AttributeError:
    if name in _ABSENT:
        return AttributeError(f"gradus has no torch.nn.Module.{name}. docs/coming-from-pytorch.md lists what there is.")
    return AttributeError(f"{owner!r} object has no attribute {name!r}")


_ABSENT = """bfloat16 cuda half register_backward_hook register_full_backward_hook register_full_backward_pre_hook
register_load_state_dict_post_hook register_state_dict_pre_hook share_memory to_empty type""".split()
