"""Writes image_runs.json: losses of small models with convolution, pooling and norms of channels, their loss in
evaluation mode after that, and their buffers. Made with PyTorch 1.13."""

import json
import os

import torch
from torch import nn

MODELS = {
    "convolution": lambda: (
        (2, 8, 8),
        nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1, padding_mode="reflect"), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 6, (3, 2), stride=(1, 2), padding=(1, 0), groups=2, bias=False), nn.Tanh(),
            nn.AvgPool2d((2, 1)), nn.Flatten(), nn.Linear(24, 3),
        ),
    ),
    "batch norm": lambda: (
        (2, 8, 8),
        nn.Sequential(
            nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4, eps=1e-3, momentum=0.2), nn.ReLU(), nn.Flatten(),
            nn.Linear(144, 3), nn.BatchNorm1d(3, momentum=None),
        ),
    ),
    "one dimension": lambda: (
        (3, 12),
        nn.Sequential(
            nn.Conv1d(3, 6, 3, padding="same", dilation=2, padding_mode="circular"), nn.MaxPool1d(3, stride=2, padding=1),
            nn.BatchNorm1d(6), nn.ReLU(), nn.Conv1d(6, 4, 2, padding=1, padding_mode="replicate"), nn.AvgPool1d(2),
            nn.Flatten(), nn.Linear(12, 3),
        ),
    ),
    "group norm": lambda: (
        (2, 8, 8),
        nn.Sequential(
            nn.Conv2d(2, 6, 3, padding="same"), nn.GroupNorm(3, 6), nn.SiLU(), nn.Flatten(), nn.Linear(384, 3),
        ),
    ),
}


def run(make):
    torch.manual_seed(7)
    shape, model = make()
    model.double()
    x, y = torch.rand(8, *shape).double(), torch.arange(8) % 3
    loss = lambda: nn.functional.cross_entropy(model(x), y)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(20):
        losses.append(loss())
        optimizer.zero_grad()
        losses[-1].backward()
        optimizer.step()
    model.eval()
    return {
        "losses": [l.item() for l in losses],
        "evaluation": loss().item(),
        "state": {n: [float(v) for v in t.flatten()] if "running" in n or "num" in n else list(t.shape) for n, t in model.state_dict().items()},
    }


if __name__ == "__main__":
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "image_runs.json"), "w") as file:
        json.dump({name: run(make) for name, make in MODELS.items()}, file)
