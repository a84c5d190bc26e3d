"""Optimizers.

The first argument is a module, an iterable of parameters, of (name, parameter), or of groups: dictionaries with
"params" and options of their own. Weight decay is for all parameters, as in PyTorch; decay_vectors=False leaves out
biases and the gains of norms, as `gradus train` does. Muon updates matrices that are neither embeddings nor heads; only
of a module it knows which these are.
"""
from __future__ import annotations

from typing import Any

from . import _core
from ._module import Module
from ._types import Tensor


def _assembly(params: Any) -> Any:
    if isinstance(params, Module):
        return params._assembly()
    named = [p if isinstance(p, tuple) else (str(i), p) for i, p in enumerate(params)]
    return _core.Assembly(named, True)


class Optimizer:
    """Updates parameters from their gradients. param_groups[i]["lr"] is read at every step()."""

    _kind, _defaults = "", {}  # type: str, dict[str, float]

    def __init__(self, params: Any, lr: float = 0.001, decay_vectors: bool = True, **options: Any) -> None:
        groups = [params] if isinstance(params, Module) else list(params)
        if isinstance(params, Module) or not (groups and isinstance(groups[0], dict)):
            groups = [{"params": params if isinstance(params, Module) else groups}]
        self.param_groups: list[dict[str, Any]] = []
        self._parts = []
        for group in groups:
            group = {"lr": lr, **self._defaults, **options, **group}
            unknown = set(group) - set(self._defaults) - {"lr", "params"}
            if unknown:
                raise TypeError(f"{type(self).__name__} has no option {', '.join(sorted(unknown))}")
            assembly = _assembly(group["params"])
            self._parts.append(_core.Optimizer(self._kind, assembly, _numbers(group), decay_vectors))
            group["params"] = [p for _, p in assembly.named_parameters()]
            self.param_groups.append(group)
        self._made = [_numbers(group) for group in self.param_groups]
        self._decay_vectors = decay_vectors

    def step(self) -> None:
        """Updates all parameters that have a gradient."""
        for group, made, part in zip(self.param_groups, self._made, self._parts):
            if _numbers(group) != made:
                raise _core.Error("[optimizer] only lr may change after it was made. Hint: make another one.")
            part.step(group["lr"])

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Every gradient becomes None."""
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    def state_dict(self) -> dict[str, Tensor]:
        """Buffers and numbers of steps; with several groups, "0.<name>" and so on."""
        states = [part.state_dict() for part in self._parts]
        return states[0] if len(states) == 1 else {f"{i}.{k}": v for i, s in enumerate(states) for k, v in s.items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continues from what state_dict() returned."""
        for i, part in enumerate(self._parts):
            start = f"{i}." if len(self._parts) > 1 else ""
            part.load_state_dict({k[len(start):]: v for k, v in state.items() if k.startswith(start)})


def _numbers(group: dict[str, Any]) -> dict[str, float]:
    betas = group.get("betas")
    numbers = {k: float(v) for k, v in group.items() if k not in ("params", "lr", "betas")}
    return {**numbers, "beta1": betas[0], "beta2": betas[1]} if betas else numbers


def chosen(kind: str, options: dict[str, Any]) -> tuple[str, dict[str, float]]:
    """The kind and all its options as numbers. Raises Error for others."""
    kinds = {made._kind: made._defaults for made in (AdamW, Lion, Muon, SGD, RMSprop)}
    if kind not in kinds or set(options) - set(kinds[kind]):
        raise _core.Error(f"[optimizer] must be of {kinds}, got {kind} with {options}.")
    return kind, _numbers({**kinds[kind], **options})


def _optimizer(name: str, kind: str, doc: str, **defaults: Any) -> type[Optimizer]:
    return type(name, (Optimizer,), {"_kind": kind, "_defaults": defaults, "__doc__": doc})


AdamW = _optimizer("AdamW", "adamw", "AdamW (arXiv 1711.05101).", betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
Lion = _optimizer("Lion", "lion", "Lion (arXiv 2302.06675).", betas=(0.9, 0.99), weight_decay=0.0)
Muon = _optimizer("Muon", "muon", "Muon, with AdamW for what is no matrix.", momentum=0.95, betas=(0.9, 0.999), eps=1e-8,
                  weight_decay=0.01)
SGD = _optimizer("SGD", "sgd", "Stochastic gradient descent.", momentum=0.0, weight_decay=0.0, nesterov=False)
RMSprop = _optimizer("RMSprop", "rmsprop", "RMSprop.", alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0,
                     centered=False)
