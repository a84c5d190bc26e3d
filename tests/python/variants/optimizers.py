# Optimizers and schedules: frozen parameters, decay, options that change, closures, classes of one's own.
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.simplefilter("ignore")
torch.manual_seed(4)
net = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 5))
x, y = torch.randint(0, 5, (12,)), torch.randint(0, 5, (12,))
start = {name: value.clone() for name, value in net.state_dict().items()}


def losses(optimizer, steps=3, before=lambda: None):
    found = []
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        before()
        optimizer.step()
        found.append(f"{loss.item():.4f}")
    return found


def fresh():
    net.load_state_dict(start)
    return net.parameters()


net(x).sum().backward()
for make in (lambda p: torch.optim.Adam(p, 0.05, weight_decay=0.1), lambda p: torch.optim.AdamW(p, 0.05, amsgrad=False),
             lambda p: torch.optim.SGD(p, 0.2, weight_decay=0.1), lambda p: torch.optim.Adam(p, 0.05, (0.8, 0.9), 1e-6, 0.5)):
    print(losses(make(fresh())), net[1].weight)

fresh()
net.requires_grad_(False)
net[4].requires_grad_(True)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.05)  # of all, of which most are frozen
print(losses(optimizer), torch.equal(net[1].weight, start["1.weight"]), net[1].weight.grad)
net.requires_grad_(True)
print(losses(optimizer, 2), torch.equal(net[1].weight, start["1.weight"]))

optimizer = torch.optim.AdamW(fresh(), lr=0.05)
print(losses(optimizer))
for group in optimizer.param_groups:
    group["weight_decay"], group["betas"] = 0.5, (0.8, 0.95)
print(losses(optimizer))
fresh()
optimizer = torch.optim.SGD(net[:2].parameters(), lr=0.1)
optimizer.add_param_group({"params": net[4].weight, "lr": 0.5})
print(losses(optimizer), [(len(group["params"]), group["lr"]) for group in optimizer.param_groups])


def closure():
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    return loss


print(optimizer.step(closure), optimizer.step(closure).item() < 1.6)
for limit in (lambda: nn.utils.clip_grad_norm_(net.parameters(), 0.1, norm_type=float("inf")), lambda: nn.utils.clip_grad_norm_(net.parameters(), 0.2, 1.0),
              lambda: nn.utils.clip_grad_value_(net.parameters(), 0.01)):
    print(losses(torch.optim.SGD(fresh(), lr=1.0), 3, limit), net[1].bias.grad)
print(net[1].weight, net[1].bias)

for momentum in (0, 0.9):  # its state has no step
    optimizer = torch.optim.SGD([net[1].bias, net[4].bias], lr=0.1, momentum=momentum)
    net[4](net[3](net[2](net[1](net[0](x))))).sum().backward()
    net[4].bias.grad = None
    optimizer.step()
    print(optimizer.state_dict()["state"])
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.step()
    print(optimizer.state_dict()["state"], net[1].bias)


class Momentum(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1, beta=0.9):
        super().__init__(params, dict(lr=lr, beta=beta))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    state = self.state[p]
                    state["m"] = group["beta"] * state.get("m", torch.zeros_like(p)) + p.grad
                    p.add_(state["m"], alpha=-group["lr"])


own = Momentum(fresh(), lr=0.2)
print(losses(own), len(own.state), own.param_groups[0]["beta"], own.defaults)
schedules = torch.optim.lr_scheduler


class Noam(schedules._LRScheduler):
    def __init__(self, optimizer, warmup):
        self.warmup = warmup
        super().__init__(optimizer)

    def get_lr(self):
        step = max(self._step_count, 1)
        return [base * min(step ** -0.5, step * self.warmup ** -1.5) for base in self.base_lrs]


for make in (lambda o: schedules.LinearLR(o, 0.1, total_iters=4), lambda o: schedules.LinearLR(o), lambda o: schedules.LinearLR(o, 1.0, 0.5, 3),
             lambda o: schedules.SequentialLR(o, [schedules.LinearLR(o, 0.1, total_iters=3), schedules.CosineAnnealingLR(o, 5)], [3]),
             lambda o: schedules.SequentialLR(o, [schedules.ExponentialLR(o, 0.9), schedules.LinearLR(o, 0.5, total_iters=2), schedules.StepLR(o, 2)], [2, 5]),
             lambda o: schedules.MultiStepLR(o, milestones=[2, 5], gamma=0.5), lambda o: Noam(o, 3)):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
    scheduler, rates = make(optimizer), []
    for _ in range(9):
        optimizer.step()
        rates.append(round(optimizer.param_groups[0]["lr"], 8))
        scheduler.step()
    print(rates, [round(rate, 8) for rate in scheduler.get_last_lr()])

# What an optimizer keeps of each parameter.
p = torch.nn.Parameter(torch.ones(3))
adam = torch.optim.Adam([p], lr=0.1)
print(len(adam.state))
p.sum().backward()
adam.step()
print(list(adam.state[p]), adam.state[p]["step"], adam.state[p]["exp_avg"], len(adam.state), p in adam.state)
adam.step()
adam.step()
saved = adam.state_dict()
print(saved["state"][0]["step"], adam.state[p]["step"])
other = torch.optim.Adam([torch.nn.Parameter(torch.ones(3))], lr=0.1)
other.load_state_dict(saved)
print(other.state_dict()["state"][0]["step"])
print(torch.nn.LayerNorm(8).normalized_shape, torch.Generator().manual_seed(7).initial_seed())
