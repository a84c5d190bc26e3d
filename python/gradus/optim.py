"""Optimizers.

The first argument is a module, an iterable of parameters, of (name, parameter), or of groups: dictionaries with
"params" and options of their own. Weight decay is for all parameters, as in PyTorch; decay_vectors=False leaves out
biases and the gains of norms, as `gradus train` does. Muon updates matrices that are neither embeddings nor heads; only
of a module it knows which these are.
"""
from __future__ import annotations

import collections
import contextlib
import copy
import operator
import types
import warnings
from typing import Any, Iterator

from . import _core, autograd
from ._core import Error, Tensor
from ._missing import missing
from ._module import Module, clear_gradients
from ._types import int64


def _assembly(params: Any) -> Any:
    if isinstance(params, Module):
        return params._assembly()
    return _core.Assembly([p if isinstance(p, tuple) else (str(i), p) for i, p in enumerate(params)], True)


def _of(assembly: Any) -> list[Tensor]:
    return [p for _, p in assembly.named_parameters()]


@contextlib.contextmanager
def _trained(parameters: Any) -> Iterator[None]:
    """Within it, those of these parameters that are frozen are not: PyTorch updates whatever has a gradient."""
    frozen = [p for p in parameters if not p.requires_grad]
    try:
        for p in frozen:
            p.requires_grad_(True)
        yield
    finally:
        for p in frozen:
            p.requires_grad_(False)


class Optimizer:
    """Updates parameters from their gradients. Each step() reads param_groups and state, both of which may be changed."""

    _kind = ""
    _defaults: dict[str, Any] = {}
    _places: tuple[str, ...] = ()  # of options without a name, after lr
    _lr: Any = 0.001  # None: it must be given
    _parts: list[Any]  # what updates each group, with all that it was made with

    def __init__(self, params: Any, lr: Any = None, *args: Any, decay_vectors: bool = True, **options: Any) -> None:
        if len(args) > len(self._places):
            raise TypeError(f"{type(self).__name__} takes {len(self._places) + 2} arguments without a name, got {len(args) + 2}")
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got a Tensor")
        options = {**dict(zip(self._places, args)), **options}
        if unknown := self._kind and _unknown(options, self._defaults):
            raise TypeError(f"{type(self).__name__} has no option {', '.join(unknown)}")
        lr = self._lr if lr is None else lr
        self.defaults = {**lr, **options} if isinstance(lr, dict) else {"lr": lr, **self._defaults, **options}  # a dictionary of one's own
        self._decay_vectors = decay_vectors
        self._sources: list[Any] = []  # of the groups: a module knows names, embeddings and vectors
        self.state, self.param_groups = collections.defaultdict(dict), []
        self._is_shown = False
        groups = params if isinstance(params, Module) else list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if isinstance(groups, Module) or not (groups and isinstance(groups[0], dict)):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in vars(self).items() if name not in ("_state", "_parts", "_is_shown")}
        return {"state": self.state, **kept, "_sources": self._sources if self._kind == "muon" or not self._decay_vectors else []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Updates other parameters, too, with options of their own. The dictionary becomes one of param_groups."""
        group, given = param_group, param_group["params"]
        group.update({name: value for name, value in self.defaults.items() if name not in group})
        if self._kind:
            if group["lr"] is None:
                raise ValueError("parameter group didn't specify a value of required optimization parameter lr")
            if not group["lr"] >= 0.0:
                raise ValueError(f"Invalid learning rate: {group['lr']}")
        source = given if isinstance(given, Module) else [given] if isinstance(given, Tensor) else list(given)
        group["params"] = _of(_assembly(source))
        if not isinstance(source, Module) and len(group["params"]) < len(source):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; gradus updates each of them once", stacklevel=3)
        known = {id(p) for other in self.param_groups for p in other["params"]}
        if any(id(p) in known for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        if self._kind and group["params"]:
            self._sources.append(source)
            self._part(len(self.param_groups), group)
        self.param_groups.append(group)

    def __repr__(self) -> str:
        groups = ["".join(f"    {name}: {value}\n" for name, value in sorted(group.items()) if name != "params") for group in self.param_groups]
        return f"{type(self).__name__} ({''.join(f'{chr(10)}Parameter Group {i}{chr(10)}{text}' for i, text in enumerate(groups))})"

    def _made(self, group: dict[str, Any], assembly: Any) -> Any:
        try:
            return _core.Optimizer(self._kind, assembly, _numbers(group, self._defaults), self._decay_vectors)
        except Error as e:  # of an option that makes no sense
            raise _core.InputError(str(e)) from None

    def _part(self, i: int, group: dict[str, Any]) -> Any:
        """What updates a group; another one, which continues from `state`, if the group or its state was changed."""
        part = self._parts[i] if i < len(self._parts) else None
        numbers = _numbers(group, self._defaults)
        if part and part.numbers == numbers and _same(part.parameters, group["params"]):
            steps, buffers = self._look(part.parameters) if self._is_shown else part.shown
            if steps == part.shown[0] and _same(buffers, part.shown[1]):
                return part
        if unknown := _unknown(group, group):  # of one's own there may be others
            raise TypeError(f"{type(self).__name__} has no option {', '.join(unknown)}")
        self._show()
        for p in group["params"]:
            if not p.is_contiguous():
                p.data = p.data.contiguous()  # its values get memory of their own
        known = (a for a in map(_assembly, self._sources) if _same(_of(a), group["params"]))
        assembly = next(known, None) or _assembly(group["params"])
        states = [self._state.get(p) or {} for p in group["params"]]
        with _trained(p for p, its in zip(group["params"], states) if its):  # which have buffers, too
            names, core = [name for name, _ in assembly.named_parameters()], self._made(group, assembly)
            flat = core.state_dict()
            steps = [int(its.get("step", bool(its))) for its in states]  # SGD's has none
            for name, its, n in zip(names, states, steps):
                for kind, key in _BUFFERS.items():
                    if its.get(key) is not None and f"{kind}.{name}" in flat:
                        flat[f"{kind}.{name}"] = its[key].detach().to(flat[f"{kind}.{name}"].dtype)
                if n < max(steps):
                    flat[f"skipped.{name}"] = _core.full((), max(steps) - n, dtype=int64)
            core.load_state_dict({**flat, "steps": _core.full((), max(steps, default=0), dtype=int64)})
        part = types.SimpleNamespace(core=core, numbers=numbers, parameters=list(group["params"]), names=names, is_ahead=True)
        self._parts[i:i + 1] = [part]
        self._show()
        return part

    def _show(self) -> None:
        """Puts the buffers and the numbers of steps of the library's kinds into `state`."""
        for part in (part for part in self._parts if part.is_ahead):
            part.is_ahead, flat = False, part.core.state_dict()
            total = int(flat.pop("steps"))
            for name, p in zip(part.names, part.parameters):
                buffers = {key: flat[f"{kind}.{name}"] for kind, key in _BUFFERS.items() if f"{kind}.{name}" in flat}
                steps = total - int(flat.get(f"skipped.{name}", 0)) if buffers else 0
                if steps and self._kind == "sgd" and part.numbers["momentum"] == 0:
                    self._state.setdefault(p, {}).setdefault("momentum_buffer", None)
                elif steps:  # as in PyTorch, where SGD has no step, and AdamW's is a tensor
                    step: Any = _core.full((), float(steps)) if self._kind == "adamw" else steps
                    self._state.setdefault(p, {}).update({**({} if self._kind == "sgd" else {"step": step}), **buffers})
            part.shown = self._look(part.parameters)

    def _look(self, parameters: list[Tensor]) -> tuple[list[int], list[Any]]:
        """What `state` has of these parameters."""
        states = [self._state.get(p) or {} for p in parameters]
        return [int(its.get("step", 0)) for its in states], [its.get(key) for its in states for key in _BUFFERS.values()]

    @autograd.enable_grad()
    def _called(self, closure: Any) -> Any:
        return closure() if closure else None

    def step(self, closure: Any = None) -> Any:
        """Updates all parameters that have a gradient. What closure() returns, which is called before, is the result."""
        result = self._called(closure)
        for i, group in enumerate(self.param_groups if self._kind else ()):
            updated = [p for p in group["params"] if p.grad is not None]
            if not updated and not any(p.requires_grad for p in group["params"]):
                continue
            part = self._part(i, group)
            with _trained(updated):
                self._update(part.core, group, updated)
            part.is_ahead = True
        if self._is_shown:
            self._show()
        return result

    def _update(self, core: Any, group: dict[str, Any], updated: list[Tensor]) -> None:
        core.step(group["lr"])

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Every gradient becomes None, or zeros in its memory."""
        for group in self.param_groups:
            clear_gradients(group["params"], set_to_none)

    @property
    def state(self) -> Any:
        """The buffers of each parameter that has been updated. It may be changed and replaced."""
        self._show()
        self._is_shown = True
        return self._state

    @state.setter
    def state(self, state: Any) -> None:
        self._state, self._is_shown, self._parts = state, True, []

    def state_dict(self) -> dict[str, Any]:
        """PyTorch's: "state" has the buffers of each parameter by its number, "param_groups" the options and the numbers."""
        numbers = {p: i for i, p in enumerate(p for group in self.param_groups for p in group["params"])}
        state = {numbers.get(p, p): its for p, its in self.state.items() if p in numbers or not isinstance(p, Tensor)}
        groups = [{name: value for name, value in group.items() if name != "params"} for group in self.param_groups]
        for packed, group in zip(groups, self.param_groups):
            packed["params"] = [numbers[p] for p in group["params"]]
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues from a copy of what state_dict() returned. Raises Error for other numbers of groups and parameters."""
        groups = copy.deepcopy(state["param_groups"])
        if [len(group["params"]) for group in groups] != [len(group["params"]) for group in self.param_groups]:
            raise _core.InputError("[optimizer] the state must be of as many groups and parameters, got others.")
        parameters = {}
        for group, own in zip(groups, self.param_groups):
            parameters.update(zip(group["params"], own["params"]))
            group.update({name: value for name, value in own.items() if name not in group or name == "params"})
        given = {parameters.get(i, i): its for i, its in copy.deepcopy(state["state"]).items()}
        self.__setstate__({"state": collections.defaultdict(dict, given), "param_groups": groups})
        self._is_shown = False


_OFF = {"amsgrad", "capturable", "dampening", "differentiable", "foreach", "fused", "maximize"}  # of PyTorch's options


def _unknown(options: dict[str, Any], defaults: Any) -> list[str]:
    """The options that there are not; those of PyTorch may be off."""
    return sorted(name for name, value in options.items()
                  if name not in {*defaults, "lr", "params", "initial_lr"} - _OFF and (value not in (False, None) or name not in _OFF))


_BUFFERS = {"m": "exp_avg", "v": "exp_avg_sq", "velocity": "momentum_buffer", "momentum": "exp_avg", "square_avg": "square_avg",
            "momentum_buffer": "momentum_buffer", "grad_avg": "grad_avg"}  # PyTorch's names


def _same(these: list[Any], those: list[Any]) -> bool:
    return len(these) == len(those) and all(map(operator.is_, these, those))


def _numbers(group: dict[str, Any], names: Any) -> dict[str, float]:
    """The options of these names."""
    betas = dict(zip(("beta1", "beta2"), map(float, group.get("betas", ()))))
    if len(group.get("betas", "12")) != 2:
        raise _core.InputError(f"[optimizer] betas must be two numbers, got {group['betas']}.")
    return betas | {name: float(value) for name, value in group.items() if name in names and name != "betas" and value is not None}


_PLACES = {"SGD": ("momentum", "dampening", "weight_decay", "nesterov"), "Muon": (),
           "RMSprop": ("alpha", "eps", "weight_decay", "momentum", "centered")}  # where they are not all options, in order


def _optimizer(name: str, doc: str, **defaults: Any) -> type[Optimizer]:
    """The class of a kind of the library, which has the name in small letters."""
    return type(name, (Optimizer,), {"_kind": name.lower(), "_defaults": defaults, "__doc__": doc, "__qualname__": name,
                                "_places": _PLACES.get(name, tuple(defaults)), "_lr": {"SGD": None, "RMSprop": 0.01}.get(name, 0.001)})


# What PyTorch has besides, and is off, is printed as PyTorch prints it.
AdamW = _optimizer("AdamW", "AdamW (arXiv 1711.05101).", betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, amsgrad=False, foreach=None,
                   maximize=False, capturable=False)
Lion = _optimizer("Lion", "Lion (arXiv 2302.06675).", betas=(0.9, 0.99), weight_decay=0)
Muon = _optimizer("Muon", "Muon, with AdamW for what is no matrix.", momentum=0.95, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
SGD = _optimizer("SGD", "Stochastic gradient descent.", momentum=0, dampening=0, weight_decay=0, nesterov=False, maximize=False,
                 foreach=None, differentiable=False)
RMSprop = _optimizer("RMSprop", "RMSprop.", momentum=0, alpha=0.99, eps=1e-8, centered=False, weight_decay=0, foreach=None,
                     maximize=False, differentiable=False)


class Adam(AdamW):  # type: ignore[misc, valid-type]
    """Adam (arXiv 1412.6980). Weight decay is added to the gradient."""

    _defaults = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "amsgrad": False, "maximize": False, "foreach": None,
                 "capturable": False, "differentiable": False, "fused": False}

    def _made(self, group: dict[str, Any], assembly: Any) -> Any:
        return super()._made({**group, "weight_decay": 0.0}, assembly)

    def _update(self, core: Any, group: dict[str, Any], updated: list[Tensor]) -> None:
        decay = group["weight_decay"]
        changed = [(p, p.grad) for p in updated if decay and (self._decay_vectors or p.dim() > 1)]
        try:
            with autograd.no_grad():
                for p, grad in changed:
                    p.grad = grad + decay * p
            super()._update(core, group, updated)
        finally:
            for p, grad in changed:
                p.grad = grad


def chosen(kind: Any) -> tuple[str, dict[str, float]]:
    """The kind and all its options as numbers, of a name or of (name, options). Raises Error for others."""
    kinds = {made._kind: made._defaults for made in (AdamW, Lion, Muon, SGD, RMSprop)}
    name, options = kind if isinstance(kind, (tuple, list)) and len(kind) == 2 else (kind, {})
    if "lr" in options:
        raise Error(f"[optimizer] the rate must be fit()'s argument lr, got lr={options['lr']} in the options of {name}.")
    if not isinstance(name, str) or name not in kinds or _unknown(options, kinds[name]):
        raise Error(f"[optimizer] must be a name, or (name, options), of {kinds}, got {name} with {options}.")
    return name, _numbers({**kinds[name], **options}, kinds[name])


from . import lr_scheduler  # noqa: E402  (its schedules are for what is above)

__getattr__ = missing("torch.optim", globals())
