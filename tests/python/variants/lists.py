# Modules and parameters in lists, equal values in topk, rounding of linspace and arange, shared data, the state of optimizers, errors
# by their classes.
import copy

import torch
from torch import nn

torch.manual_seed(0)


class Parameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.ParameterList([torch.ones(2), nn.Parameter(torch.zeros(2, 3))])
        self.b = nn.ParameterDict({"x": nn.Parameter(torch.ones(1)), "y": torch.zeros(2)})

    def forward(self):
        return sum(p.sum() for p in self.a) + self.b["x"] + self.b["y"].sum() + self.a[0].sum()


p = Parameters()
print([name for name, _ in p.named_parameters()], list(p.state_dict()), p)
p.a.append(torch.ones(3))
p.b["z"] = torch.ones(1)
print(len(p.a), p().item(), list(p.b.keys()), p.b["z"].requires_grad)
p().backward()
print(p.a[0].grad)
print(p.double().a[1].dtype, p.b["y"].dtype)
print(isinstance(p, nn.Module), isinstance(nn.Linear(1, 1), nn.Module), issubclass(nn.Linear, nn.Module), isinstance(3, nn.Module), isinstance(p.a, nn.ParameterList))


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads, self.drop = [nn.Linear(4, 2) for _ in range(2)], [nn.Dropout(0.5)]
        self.named, self.real = {"a": nn.Linear(1, 1)}, nn.ModuleList(self.heads[:1])


m = Lists()
print(m, len(list(m.parameters())), list(m.state_dict()), m.eval().drop[0].training)
m.double()
print(m.heads[1].weight.dtype, m.heads[0].weight.dtype)

w = torch.tensor([[1.0, 0, 0, 0], [0.4, 0.6, 0, 0]])
print(w.topk(2), w.topk(3).indices, w.topk(4, largest=False).indices, torch.topk(w, 1, dim=0), w.topk(0).values.shape, torch.tensor(3.0).topk(1))
t = torch.zeros(200)
t[::3] = 1
print(t.topk(3).indices, t.topk(50).indices, t.view(20, 10).topk(3, 0).indices, torch.randint(0, 4, (3, 30)).float().topk(6).indices)
print(torch.linspace(-1, 1, 7), torch.arange(-1, 1, 0.1), torch.linspace(0, 1, 33), torch.linspace(-3, 3, 100), torch.arange(0, 1, 0.01))
print(torch.linspace(0, 1, 1), torch.linspace(-2, 2, 5, dtype=torch.float64), torch.arange(5.0), torch.arange(1, 2.5, 0.5))

a, b = nn.Linear(2, 2), nn.Linear(2, 2)
a.weight.data = b.weight.data
with torch.no_grad():
    b.weight.fill_(2)
print(a.weight, a(torch.ones(2)).sum() - a.bias.sum())
a(torch.ones(1, 2)).sum().backward()
torch.optim.SGD(a.parameters(), lr=1.0).step()
print(b.weight)
mask = torch.tril(torch.ones(2, 2, dtype=torch.int32))
print(torch.ones(2, 2).masked_fill(mask == 0, 0))
print(torch.cosine_similarity(torch.tensor([0.3, 0.7]), torch.tensor([0.3, 0.7]), dim=0), torch.inverse(torch.eye(2) * 2), torch.det(torch.eye(2)))


def raises(error, f):
    try:
        print("no error", f())
    except error:
        print(error.__name__)


raises(RuntimeError, lambda: copy.deepcopy(a.weight * 2))
for f in (lambda: torch.optim.SGD(a.parameters()), lambda: torch.optim.Adam(a.parameters(), lr=-1), lambda: torch.ones(2).item(), lambda: float(torch.ones(2)),
          lambda: torch.tensor([[1, 2], [3]]), lambda: nn.Dropout(-0.1), lambda: torch.optim.SGD([a.weight * 2], lr=1.0),
          lambda: nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1, 2])), lambda: torch.utils.data.random_split(range(5), [2, 2])):
    raises(ValueError, f)
for f in (lambda: torch.ones(2)[0, 0, 0], lambda: torch.ones(2)[torch.ones(5).bool()], lambda: torch.tensor(1)[0], lambda: torch.ones(2)[torch.tensor(1.5)]):
    raises(IndexError, f)
raises(TypeError, lambda: torch.optim.Adam(a.weight))

print(torch.optim.RMSprop([a.weight]), torch.optim.AdamW(a.parameters(), 1e-3, (0.9, 0.95), 1e-8, 0.1), torch.optim.SGD([a.weight], 0.1))
for kind in (torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop):
    first, second = kind(a.parameters(), lr=0.1), kind(a.parameters(), lr=0.3)
    a.zero_grad()
    a(torch.ones(1, 2)).sum().backward()
    first.step()
    state, before = copy.deepcopy(first.state_dict()), a.weight.detach().clone()
    first.step()
    after = a.weight.detach().clone()
    a.weight.data = before
    second.load_state_dict(state)
    second.step()
    print(first, state["state"], state["param_groups"][0]["lr"], torch.equal(a.weight, after), second.state_dict()["state"][0]["step"])
