"""Optimizers.

The first argument is a module, an iterable of parameters, of (name, parameter), or of groups: dictionaries with
"params" and options of their own. Weight decay is for all parameters, as in PyTorch; decay_vectors=False leaves out
biases and the gains of norms, as `gradus train` does. Muon updates matrices that are neither embeddings nor heads; only
of a module it knows which these are.
"""
from __future__ import annotations

import collections
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


class Optimizer:
    """Updates parameters from their gradients. param_groups[i]["lr"] is read at every step()."""

    _kind = ""
    _defaults: dict[str, Any] = {}
    _places: tuple[str, ...] = ()  # of options without a name, after lr
    _lr: Any = 0.001  # None: it must be given

    def __init__(self, params: Any, lr: Any = None, *args: Any, decay_vectors: bool = True, **options: Any) -> None:
        if len(args) > len(self._places):
            raise TypeError(f"{type(self).__name__} takes {len(self._places) + 2} arguments without a name, got {len(args) + 2}")
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got a Tensor")
        options = {**dict(zip(self._places, args)), **options}
        lr = self._lr if lr is None else lr
        self.defaults = {**lr, **options} if isinstance(lr, dict) else {"lr": lr, **self._defaults, **options}  # a dictionary of one's own
        self._own: dict[Any, dict[str, Any]] = collections.defaultdict(dict)  # what classes of one's own keep
        self.param_groups: list[dict[str, Any]] = []
        self._decay_vectors = decay_vectors
        self._parts: list[tuple[dict[str, float], Any, Any]] = []  # with their options and parameters
        groups = params if isinstance(params, Module) else list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if isinstance(groups, Module) or not (groups and isinstance(groups[0], dict)):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Updates other parameters, too, with options of their own."""
        group = {"params": param_group["params"], **self.defaults, **param_group}
        if self._kind:
            if unknown := _unknown(group, self._defaults):
                raise TypeError(f"{type(self).__name__} has no option {', '.join(unknown)}")
            if group["lr"] is None:
                raise ValueError("parameter group didn't specify a value of required optimization parameter lr")
            if group["lr"] < 0.0:
                raise ValueError(f"Invalid learning rate: {group['lr']}")
        assembly = _assembly([group["params"]] if isinstance(group["params"], Tensor) else group["params"])
        group["params"] = [p for _, p in assembly.named_parameters()]
        known = {id(p) for other in self.param_groups for p in other["params"]}
        if any(id(p) in known for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        if self._kind:
            self._parts.append((_numbers(group), self._part(group, assembly), assembly))
        self.param_groups.append(group)

    def __repr__(self) -> str:
        groups = ["".join(f"    {name}: {value}\n" for name, value in sorted(group.items()) if name != "params") for group in self.param_groups]
        return f"{type(self).__name__} ({''.join(f'{chr(10)}Parameter Group {i}{chr(10)}{text}' for i, text in enumerate(groups))})"

    def _part(self, group: dict[str, Any], assembly: Any) -> Any:
        try:
            return _core.Optimizer(self._kind, assembly, _numbers(group), self._decay_vectors)
        except Error as e:  # of an option that makes no sense
            raise _core.InputError(str(e)) from None

    @autograd.enable_grad()
    def _called(self, closure: Any) -> Any:
        return closure() if closure else None

    def step(self, closure: Any = None) -> Any:
        """Updates all parameters that have a gradient. What closure() returns, which is called before, is the result."""
        result = self._called(closure)
        for i, (group, (numbers, part, assembly)) in enumerate(zip(self.param_groups, self._parts)):
            if _numbers(group) != numbers:  # with another option it continues from the same state
                state, part = part.state_dict(), self._part(group, assembly)
                part.load_state_dict(state)
                self._parts[i] = _numbers(group), part, assembly
            part.step(group["lr"])
        return result

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Every gradient becomes None, or zeros in its memory."""
        for group in self.param_groups:
            clear_gradients(group["params"], set_to_none)

    @property
    def state(self) -> dict[Any, dict[str, Any]]:
        """The buffers of each parameter that has been updated."""
        parameters = [p for group in self.param_groups for p in group["params"]]
        for i, its in self.state_dict()["state"].items() if self._kind else ():
            self._own[parameters[i]].update(its)
        return self._own

    def state_dict(self) -> dict[str, Any]:
        """PyTorch's: "state" has the buffers of each parameter by its number, "param_groups" the options and the numbers."""
        parameters = [p for group in self.param_groups for p in group["params"]]
        numbers = {id(p): i for i, p in enumerate(parameters)}
        state = {numbers[id(p)]: dict(its) for p, its in self._own.items()}
        for group, (start, flat, names) in zip(self.param_groups, self._buffers()):
            steps = int(flat.pop("steps"))
            for i in range(start, start + len(names)):
                if i in state:  # what `state` showed before the last steps
                    state[i]["step"] = steps
            for key, value in flat.items():
                kind, name = key.split(".", 1)
                its = state.setdefault(start + names.index(name), {"step": steps})
                its[_BUFFERS.get(kind, kind)] = steps - int(value) if kind == "skipped" else value
            for i in range(start, start + len(names)):
                if i in state and state[i]["step"] == 0:
                    del state[i]
                elif i in state and self._kind == "adamw":  # as in PyTorch, where SGD has no step
                    state[i]["step"] = _core.full((), float(state[i]["step"]))
                elif i in state and self._kind == "sgd":
                    state[i] = {"momentum_buffer": state[i]["momentum_buffer"] if group["momentum"] else None}
        groups = [{**group, "params": [numbers[id(p)] for p in group["params"]]} for group in self.param_groups]
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues from what state_dict() returned. Raises Error for other numbers of groups and parameters."""
        groups, given = state["param_groups"], state["state"]
        if [len(group["params"]) for group in groups] != [len(group["params"]) for group in self.param_groups]:
            raise Error("[optimizer] the state must be of as many groups and parameters, got others.")
        self._own.clear()
        if not self._kind:
            parameters = [p for group in self.param_groups for p in group["params"]]
            self._own.update({parameters[i]: dict(its) for i, its in given.items()})
        for (_, part, _), (start, flat, names) in zip(self._parts, self._buffers()):
            steps = [int(given[start + i].get("step", 1)) if start + i in given else 0 for i in range(len(names))]
            for key, value in flat.items():
                kind, _, name = key.partition(".")
                if name:
                    its = given.get(start + names.index(name), {})
                    known = its.get(_BUFFERS.get(kind, kind))
                    flat[key] = _core.zeros_like(value) if known is None else known
            skipped = {f"skipped.{name}": _core.full((), max(steps) - n, dtype=int64) for name, n in zip(names, steps) if n < max(steps)}
            part.load_state_dict({**flat, **skipped, "steps": _core.full((), max(steps), dtype=int64)})
        for group, its in zip(self.param_groups, groups):
            group.update({name: value for name, value in its.items() if name != "params"})

    def _buffers(self) -> Iterator[tuple[int, dict[str, Tensor], list[str]]]:
        """Of each group of a kind of the library: the number of its first parameter, its state, and its parameters' names."""
        start = 0
        for _, part, assembly in self._parts:
            names = [name for name, _ in assembly.named_parameters()]
            yield start, part.state_dict(), names
            start += len(names)


_OFF = {"amsgrad", "capturable", "dampening", "differentiable", "foreach", "fused", "maximize"}  # of PyTorch's options


def _unknown(options: dict[str, Any], defaults: dict[str, Any]) -> list[str]:
    """The options that there are not; those of PyTorch may be off."""
    return sorted(name for name, value in options.items()
                  if name not in {*defaults, "lr", "params", "initial_lr"} - _OFF and (value not in (False, None) or name not in _OFF))


_BUFFERS = {"m": "exp_avg", "v": "exp_avg_sq", "velocity": "momentum_buffer", "momentum": "exp_avg", "skipped": "step"}  # PyTorch's names


def _numbers(group: dict[str, Any]) -> dict[str, float]:
    betas = dict(zip(("beta1", "beta2"), group.get("betas", ())))
    return betas | {k: float(v) for k, v in group.items() if k not in ("params", "lr", "betas", "initial_lr") and v is not None}


_PLACES = {"SGD": ("momentum", "dampening", "weight_decay", "nesterov"), "Muon": ()}  # where they are not all options, in order


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
RMSprop = _optimizer("RMSprop", "RMSprop.", alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, foreach=None,
                     maximize=False, differentiable=False)


class Adam(AdamW):  # type: ignore[misc, valid-type]
    """Adam (arXiv 1412.6980). Weight decay is added to the gradient."""

    _defaults = {**AdamW._defaults, "weight_decay": 0, "differentiable": False, "fused": False}

    def _part(self, group: dict[str, Any], assembly: Any) -> Any:
        return super()._part({**group, "weight_decay": 0.0}, assembly)

    def step(self, closure: Any = None) -> Any:
        result = self._called(closure)
        changed = [(p, p.grad, group["weight_decay"]) for group in self.param_groups for p in group["params"]
                   if p.grad is not None and group["weight_decay"] and (self._decay_vectors or p.dim() > 1)]
        try:
            with autograd.no_grad():
                for p, grad, decay in changed:
                    p.grad = grad + decay * p
            super().step()
        finally:
            for p, grad, _ in changed:
                p.grad = grad
        return result


def chosen(kind: str, options: dict[str, Any]) -> tuple[str, dict[str, float]]:
    """The kind and all its options as numbers. Raises Error for others."""
    kinds = {made._kind: made._defaults for made in (AdamW, Lion, Muon, SGD, RMSprop)}
    if kind not in kinds or _unknown(options, kinds[kind]):
        raise Error(f"[optimizer] must be of {kinds}, got {kind} with {options}.")
    return kind, _numbers({**kinds[kind], **options})


from . import lr_scheduler  # noqa: E402  (its schedules are for what is above)

__getattr__ = missing("torch.optim", globals())
