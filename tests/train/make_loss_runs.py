"""Writes loss_runs.json: the losses of 20 steps of a small model in PyTorch 1.13, in float64, for each loss with SGD
and for RMSprop with its options."""

import json
import os

import torch
import torch.nn.functional as F

STEPS = 20


def packed(t):
    return {"shape": list(t.shape), "data": t.flatten().tolist()}


def run(name, loss, target, make_optimizer, **options):
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3)).double()
    x = torch.randn(6, 4, dtype=torch.float64)
    state = {n: packed(p.detach()) for n, p in model.named_parameters()}
    optimizer = make_optimizer(model)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        value = loss(model(x), target)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    final = {n: packed(p.detach()) for n, p in model.named_parameters()}
    return {"name": name, "options": options, "x": packed(x), "target": packed(target), "start": state,
            "losses": losses, "end": final}


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


def rmsprop(**options):
    def make(model):  # weights decay, biases do not
        decay = options.get("weight_decay", 0.0)
        groups = [{"params": [p], "weight_decay": decay if p.dim() > 1 else 0.0} for p in model.parameters()]
        return torch.optim.RMSprop(groups, lr=0.01, **options)
    return make


if __name__ == "__main__":
    torch.manual_seed(1)
    target, classes = torch.randn(6, 3, dtype=torch.float64), torch.tensor([0, 2, 1, 1, -100, 2])
    p = torch.softmax(target, 1)
    weight, pos_weight = torch.tensor([0.5, 2.0, 1.0]).double(), torch.tensor([3.0, 1.0, 0.5]).double()
    binary = (target > 0).double()
    runs = [
        run("l1_loss", F.l1_loss, target, sgd),
        run("huber_loss", lambda y, t: F.huber_loss(y, t, delta=0.6), target, sgd),
        run("smooth_l1_loss", lambda y, t: F.smooth_l1_loss(y, t, beta=0.4), target, sgd),
        run("nll_loss", lambda y, t: F.nll_loss(F.log_softmax(y, 1), t, weight), classes, sgd),
        run("kl_div", lambda y, t: F.kl_div(F.log_softmax(y, 1), t, reduction="batchmean"), p, sgd),
        run("binary_cross_entropy_with_logits",
            lambda y, t: F.binary_cross_entropy_with_logits(y, t, weight, pos_weight=pos_weight), binary, sgd),
    ]
    for options in ({}, {"alpha": 0.9, "momentum": 0.5}, {"centered": True, "eps": 1e-4},
                    {"weight_decay": 0.1, "momentum": 0.9, "centered": True}):
        runs.append(run("rmsprop", F.mse_loss, target, rmsprop(**options), **options))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "loss_runs.json"), "w") as file:
        file.write("[\n" + ",\n".join(map(json.dumps, runs)) + "\n]\n")
