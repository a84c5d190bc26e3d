"""torch.optim.lr_scheduler: schedules that set param_groups[i]["lr"] at each step()."""
from __future__ import annotations

import collections
import math
import types
from typing import Any, Callable

from ._missing import missing
from .optim import Optimizer


class LRScheduler:
    """Sets the rates of an optimizer's groups to get_lr(), at once and at each step()."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1, verbose: bool = False) -> None:
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups if last_epoch != -1 else ()):
            if "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming an optimizer")
        self.base_lrs = [group.setdefault("initial_lr", group["lr"]) for group in optimizer.param_groups]
        self.last_epoch, self.verbose, self._step_count, self._get_lr_called_within_step = last_epoch, verbose, 0, False
        self.step()

    def get_lr(self) -> list[float]:
        """The rates at step last_epoch."""
        groups = self.optimizer.param_groups
        return [self._next(base, group["lr"]) for base, group in zip([*self.base_lrs, *(g["lr"] for g in groups[len(self.base_lrs):])], groups)]

    def _next(self, base: float, lr: float) -> float:
        raise NotImplementedError(f"{type(self).__name__} needs a method get_lr()")

    def get_last_lr(self) -> list[float]:
        """The rates that it set."""
        return self._last_lr

    def step(self) -> None:
        """Sets the next rates."""
        self.last_epoch, self._step_count = self.last_epoch + 1, self._step_count + 1
        for group, lr in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = lr
        self._last_lr: list[float] = [group["lr"] for group in self.optimizer.param_groups]
        for i, lr in enumerate(self._last_lr if self.verbose else ()):
            print(f"Adjusting learning rate of group {i} to {lr:.4e}.")

    def state_dict(self) -> dict[str, Any]:
        """The settings, the number of steps and the rates; not the optimizer."""
        return {name: value for name, value in vars(self).items() if name not in ("optimizer", "lr_lambdas", "_schedulers")}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues from what state_dict() returned; the optimizer's state has the rates for its next step."""
        vars(self).update({name: value for name, value in state.items() if name not in ("optimizer", "lr_lambdas", "_schedulers")})


_LRScheduler = LRScheduler


class LambdaLR(LRScheduler):
    """The first rate times lr_lambda(step); a list has one function for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1, verbose: bool = False) -> None:
        groups = len(optimizer.param_groups)
        self.lr_lambdas: list[Callable[[int], float]] = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self) -> list[float]:
        return [base * function(self.last_epoch) for base, function in zip(self.base_lrs, self.lr_lambdas, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        functions = [None if isinstance(function, types.FunctionType) else vars(function).copy() for function in self.lr_lambdas]
        return {**super().state_dict(), "lr_lambdas": functions}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        for function, its in zip(self.lr_lambdas, state["lr_lambdas"]):
            if its:
                vars(function).update(its)


class StepLR(LRScheduler):
    """Times gamma every step_size steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch, verbose)

    def _next(self, base: float, lr: float) -> float:
        return lr * self.gamma if self.last_epoch > 0 and self.last_epoch % self.step_size == 0 else lr


class MultiStepLR(LRScheduler):
    """Times gamma at each of these steps."""

    def __init__(self, optimizer: Optimizer, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        self.milestones, self.gamma = collections.Counter(milestones), gamma
        super().__init__(optimizer, last_epoch, verbose)

    def _next(self, base: float, lr: float) -> float:
        return lr * self.gamma ** self.milestones[self.last_epoch]


class ExponentialLR(LRScheduler):
    """Times gamma every step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch, verbose)

    def _next(self, base: float, lr: float) -> float:
        return lr * self.gamma if self.last_epoch > 0 else lr


class CosineAnnealingLR(LRScheduler):
    """From the first rate down to eta_min in T_max steps, along half a cosine."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0, last_epoch: int = -1, verbose: bool = False) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch, verbose)

    def _next(self, base: float, lr: float) -> float:
        step = self.last_epoch
        if step == 0:
            return lr
        if self._step_count == 1:  # it continues from last_epoch
            return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * step / self.T_max)) / 2
        if (step - 1 - self.T_max) % (2 * self.T_max) == 0:
            return lr + (base - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
        before, now = (1 + math.cos(math.pi * s / self.T_max) for s in (step - 1, step))
        return now / before * (lr - self.eta_min) + self.eta_min


class LinearLR(LRScheduler):
    """The first rate times a factor, from start_factor to end_factor in total_iters equal steps: to warm up."""

    def __init__(self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5, last_epoch: int = -1, verbose: bool = False) -> None:
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch, verbose)

    def _next(self, base: float, lr: float) -> float:
        step, (start, end, total) = self.last_epoch, (self.start_factor, self.end_factor, self.total_iters)
        if step == 0:
            return lr * start
        return lr * (1 + (end - start) / (total * start + (step - 1) * (end - start))) if step <= total else lr


class SequentialLR(LRScheduler):
    """One schedule after another: schedulers[i + 1] starts at step milestones[i]."""

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1, verbose: bool = False) -> None:
        self._schedulers, self._milestones, self.last_epoch, self.optimizer = schedulers, milestones, last_epoch + 1, optimizer
        for group, rate in zip(optimizer.param_groups, schedulers[0].base_lrs):
            group["lr"] = rate
        for one in schedulers:
            one.last_epoch -= 1
        schedulers[0]._step_count = 0
        schedulers[0].step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self) -> None:
        self.last_epoch += 1
        now = self._schedulers[sum(step <= self.last_epoch for step in self._milestones)]
        if self.last_epoch in self._milestones:  # it starts from its own first rates
            now.last_epoch = -1
            for group, rate in zip(self.optimizer.param_groups, now.base_lrs):
                group["lr"] = rate
        now.step()
        self._last_lr = now.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "_schedulers": [one.state_dict() for one in self._schedulers]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        for one, its in zip(self._schedulers, state["_schedulers"], strict=True):
            one.load_state_dict(its)


__getattr__ = missing("torch.optim.lr_scheduler", globals())
