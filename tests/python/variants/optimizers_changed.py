# Optimizers of which users change what they show: their state, groups, options and parameters; copies; gradients that are not finite.
import copy
import pickle
import warnings
from collections import defaultdict

import torch
import torch.nn as nn

warnings.simplefilter("ignore")
schedules = torch.optim.lr_scheduler
KINDS = {"sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), "nesterov": lambda p: torch.optim.SGD(p, 0.1, 0.9, nesterov=True),
         "adam": lambda p: torch.optim.Adam(p, lr=0.1, weight_decay=0.1), "adamw": lambda p: torch.optim.AdamW(p, lr=0.1),
         "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.1, momentum=0.5, centered=True)}


def made(*shapes):
    return [nn.Parameter(torch.linspace(0.51237, 1.54689, n).double()) for n in shapes or (2, 3)]


def steps(optimizer, n=1, scale=1.0):
    for _ in range(n):
        for group in optimizer.param_groups:
            for p in group["params"]:
                p.grad = scale * (p.detach() + 0.5)
                scale += 0.5
        optimizer.step()


def rounded(value):
    if torch.is_tensor(value):
        return [round(x, 5) for x in value.flatten().tolist()]
    return [rounded(x) for x in value] if isinstance(value, list) else value


def show(title, *values):
    print(title, *map(rounded, values))


def attempt(function):
    try:
        return function()
    except (ValueError, TypeError, RuntimeError, KeyError, IndexError, AttributeError) as e:
        return type(e).__name__ if isinstance(e, (TypeError, KeyError)) else "an error"


# The state is cleared, replaced, written to.
def first(optimizer):
    return optimizer.state[optimizer.param_groups[0]["params"][0]]


def zero_buffers(optimizer):
    for its in optimizer.state.values():
        for key, value in its.items():
            if key != "step":
                its[key] = torch.zeros_like(value)


def in_place(optimizer):
    for its in optimizer.state.values():
        for key, value in its.items():
            if key != "step":
                value.mul_(0.5)


def later(optimizer):
    its = first(optimizer)
    if "step" in its:
        its["step"] = torch.tensor(20.0) if torch.is_tensor(its["step"]) else 20


CHANGES = {"clear": lambda o: o.state.clear(), "empty": lambda o: o.state.__setitem__(o.param_groups[0]["params"][0], {}),
           "cleared": lambda o: first(o).clear(), "deleted": lambda o: o.state.pop(o.param_groups[0]["params"][1]), "zeros": zero_buffers,
           "in place": in_place, "step": later, "replaced": lambda o: setattr(o, "state", defaultdict(dict)),
           "copied": lambda o: setattr(o, "state", defaultdict(dict, {p: dict(its) for p, its in o.state.items()}))}
for kind, make in KINDS.items():
    for title, change in CHANGES.items():
        p = made()
        optimizer = make(p)
        steps(optimizer, 2)
        change(optimizer)
        steps(optimizer, 2)
        show(f"{kind} {title}", p, sorted(first(optimizer)), [v for v in first(optimizer).values() if torch.is_tensor(v)])
p = made()
optimizer = KINDS["adamw"](p)
held = optimizer.state
steps(optimizer, 3)
its = held[p[0]]
steps(optimizer)
print(held is optimizer.state, its is optimizer.state[p[0]], its["step"], its["exp_avg"])
its["step"].fill_(0)
steps(optimizer)
show("its step", p, [its["exp_avg"]], its["step"])

# So are the parameters of a group, and the groups.
for kind, make in KINDS.items():
    p = made(2, 3, 4)
    optimizer = make(p[:2])
    steps(optimizer, 2)
    optimizer.param_groups[0]["params"].append(p[2])
    steps(optimizer)
    show(f"{kind} appended", p, len(optimizer.state))
    del optimizer.param_groups[0]["params"][0]
    steps(optimizer)
    show("deleted", p, len(optimizer.state))
    optimizer.param_groups[0]["params"] = [p[0], p[2]]
    steps(optimizer)
    show("replaced", p)
    optimizer.param_groups[0]["params"][1] = q = nn.Parameter(torch.ones(2, dtype=torch.float64))
    steps(optimizer)
    show("exchanged", p, [q], q in optimizer.state)
    optimizer.add_param_group({"params": p[1], "lr": 0.01, "name": "more"})
    optimizer.param_groups[0]["note"] = "mine"
    steps(optimizer)
    del optimizer.param_groups[0]
    steps(optimizer)
    show("groups", p, optimizer.param_groups[0]["name"])
group = {"params": nn.Linear(2, 1).parameters(), "lr": 0.5}
optimizer = torch.optim.SGD([group], lr=0.1)
print(group is optimizer.param_groups[0], list(group), type(group["params"]), len(group["params"]))

# Options change before the first step, and of frozen parameters.
for kind, make in KINDS.items():
    p, q = made(), made(3)
    q[0].requires_grad_(False)
    optimizer = make([{"params": p}, {"params": q}])
    optimizer.step()
    for group in optimizer.param_groups:
        group["weight_decay"], group["momentum"] = 0.3, 0.5
    optimizer.step()
    p[0].grad = torch.ones(2, dtype=torch.float64)
    optimizer.step()
    show(f"{kind} options", p, q, len(optimizer.state), p[0] in optimizer.state)
    q[0].requires_grad_(True)
    steps(optimizer)
    for frozen in (p[0], q[0]):  # with a gradient: it is updated
        frozen.requires_grad_(False)
    optimizer.param_groups[0]["weight_decay"] = 0.1
    optimizer.step()
    show("frozen", p, q, p[0].requires_grad, q[0].requires_grad, [p[0].grad])
    optimizer.zero_grad(set_to_none=False)
    print(p[0].grad, q[0].grad, p[0].requires_grad)
    optimizer.zero_grad(set_to_none=True)
    print(p[0].grad, optimizer.step())
p = made(2)
optimizer = torch.optim.SGD(p, lr=0.1)
steps(optimizer)
for momentum in (0.9, 0.0, 0.9):
    optimizer.param_groups[0]["momentum"] = momentum
    steps(optimizer, 2)
    show("momentum", p, optimizer.state_dict()["state"])

# Copies, pickles and states.
for kind, make in KINDS.items():
    model = nn.Linear(2, 1)
    with torch.no_grad():
        model.weight.fill_(0.5), model.bias.fill_(0.1)
    optimizer = make(model.parameters())
    steps(optimizer, 2)
    both = copy.deepcopy((model, optimizer))
    alone, read = copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))
    print(both[1].param_groups[0]["params"][0] is both[0].weight, alone.param_groups[0]["params"][0] is model.weight, type(read).__name__)
    for one in (optimizer, both[1], alone, read):
        steps(one, 2)
        show(kind, one.param_groups[0]["params"], one.param_groups[0]["lr"], list(one.state[one.param_groups[0]["params"][0]]))
    saved = optimizer.state_dict()
    print({key: value for key, value in saved["param_groups"][0].items()})
    other = make(model.parameters())
    other.load_state_dict(saved)
    first(other)["step"] = 1
    steps(optimizer)
    print(list(other.param_groups[0]), saved["param_groups"][0]["params"], optimizer.state_dict()["state"])
    print(other, first(other)["step"])

# States and dictionaries of others: another dtype, a whole number of steps, one dictionary for two, a group without parameters.
p, q = made(3)[0], nn.Parameter(torch.ones(3))
optimizer, other = torch.optim.AdamW([p], lr=0.1), torch.optim.AdamW([q], lr=0.3)
steps(optimizer, 3)
saved = copy.deepcopy(optimizer.state_dict())
saved["state"][0]["step"] = 7
other.load_state_dict(saved)
steps(other)
print(q, other.state[q], other.param_groups[0]["lr"])
groups = [{"params": [p], "lr": 0.2}]
optimizer, other = torch.optim.SGD(groups, lr=0.1), torch.optim.AdamW(groups, lr=0.1)
print(list(groups[0]), other.param_groups[0]["lr"])
optimizer.param_groups[0]["params"] = []
print(optimizer.step(), optimizer.state_dict())
optimizer.param_groups.clear()
print(optimizer.step(), optimizer.state_dict())
optimizer.add_param_group({"params": []})
optimizer.add_param_group({"params": p})
steps(optimizer)
show("again", [p])


class Halved(torch.optim.AdamW):
    def step(self, closure=None):
        for group in self.param_groups:
            group["weight_decay"] *= 0.5
        return super().step(closure)


class Own(torch.optim.Adam):
    @torch.no_grad()
    def step(self, closure=None):
        for p in self.param_groups[0]["params"]:
            its = self.state[p]
            its["step"], its["mean"] = its.get("step", 0) + torch.ones(()), its.get("mean", 0) * 0.5 + p.grad
            p.sub_(self.param_groups[0]["lr"] * its["mean"])


for optimizer in (Halved([p], lr=0.1, weight_decay=0.5), Own([p], lr=0.1)):
    steps(optimizer, 3)
    show(type(optimizer).__name__, [p], sorted(optimizer.state[p]), type(copy.deepcopy(optimizer)).__name__)

# Schedules.
p = made(2)
optimizer = torch.optim.SGD(p, lr=0.1)


class Factor:
    def __init__(self):
        self.base = 0.5

    def __call__(self, step):
        return self.base ** step


one = schedules.LambdaLR(optimizer, lambda step: 0.9 ** step)
two = schedules.LambdaLR(torch.optim.SGD(p, lr=0.2), Factor())
print(one.state_dict(), two.state_dict(), schedules.CosineAnnealingLR(optimizer, 4).state_dict())
saved = two.state_dict()
saved["lr_lambdas"][0]["base"] = 0.25
two.load_state_dict(saved)
two.step()
print(two.get_last_lr(), "lr_lambdas" in saved)
optimizer = torch.optim.SGD(p, lr=0.1)
chain = schedules.SequentialLR(optimizer, [schedules.LinearLR(optimizer, 0.5, total_iters=2), schedules.StepLR(optimizer, 2)], [2])
for _ in range(4):
    print({key: value for key, value in chain.state_dict().items()}, optimizer.param_groups[0]["lr"])
    optimizer.step()
    chain.step()
again = copy.deepcopy(chain)
again.step()
print(again.get_last_lr(), chain.get_last_lr(), again.optimizer is optimizer)

# Norms that are not finite.
for bad in (float("nan"), float("inf"), -float("inf")):
    for kind in (2.0, 1.0, float("inf")):
        p = made()
        for x in p:
            x.grad = torch.ones_like(x)
        p[0].grad[1] = bad
        print(bad, kind, attempt(lambda: nn.utils.clip_grad_norm_(p, 1.0, kind, error_if_nonfinite=True)), p[0].grad)
        print(nn.utils.clip_grad_norm_(p, 1.0, kind), [x.grad for x in p])
p = made()
print(nn.utils.clip_grad_norm_(p, 1.0), nn.utils.clip_grad_norm_([], 1.0))
for x in p:
    x.grad = torch.ones_like(x)
print(nn.utils.clip_grad_norm_(p, 0.0, error_if_nonfinite=False), [x.grad for x in p])
double = nn.Parameter(torch.ones(4, dtype=torch.float64))
double.grad = torch.ones(4, dtype=torch.float64)
print(nn.utils.clip_grad_norm_(double, 1.0), double.grad)

# What makes no sense.
p = made()
for options in ({"lr": -1.0}, {"lr": float("nan")}, {"betas": (0.5,)}, {"betas": (1.5, 0.9)}, {"eps": -1.0}, {"weight_decay": -1.0},
                {"wrong": 1}):
    print(options, attempt(lambda: torch.optim.AdamW(p, **options)))
