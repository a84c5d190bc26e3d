# What is assigned to modules and layers, shared and copied parameters, states, and in-place results as they are printed.
import copy
import torch
import torch.nn as nn
from torch.autograd import gradcheck, gradgradcheck
from torch.utils.data import DataLoader, random_split

torch.manual_seed(2)
x = torch.rand(1, 2)
built = nn.Sequential()
built.add_module("fc", nn.Linear(2, 3))
built.add_module("act", nn.ReLU())
print(built, built(x), built.fc.weight, list(built.state_dict()))
setattr(built, "fc", nn.Linear(2, 4))
print(built(x).shape, len(built))
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 5), nn.Tanh())
setattr(net, "0", nn.Linear(2, 2, bias=False))
net.note = "kept"
print(net, net(x), net.note)
del net[1]
print(net)
del net[-1]
print(net, net(x))
layers = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 2)])
setattr(layers, "0", nn.Linear(1, 5))
print(layers, list(layers.state_dict()))

linear, drop, norm = nn.Linear(2, 2), nn.Dropout(0.5), nn.LayerNorm(2)
weight = linear.weight
linear.bias = None
print(linear, linear.weight is weight, linear.bias, list(linear.state_dict()), linear(x))
drop.p = 0.0
norm.eps = 1.0
print(drop, drop(x), norm, norm(x))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(3, 2), nn.Linear(2, 3, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("mask", torch.ones(2, 2).triu(1).bool(), persistent=False)
        self.register_buffer("scale", torch.tensor(2.0))


tied = Tied()
print(list(tied.state_dict()), [name for name, _ in tied.named_parameters()], list(tied.named_buffers()))
twin = copy.deepcopy(tied)
print(twin.embedding.weight is twin.head.weight, twin.embedding.weight is tied.embedding.weight)
with torch.no_grad():
    twin.embedding.weight.fill_(3)
print(twin.head.weight, tied.head.weight)
print(tied.load_state_dict(twin.state_dict()), tied.head.weight, tied.load_state_dict({"scale": torch.tensor(1.0)}, strict=False))

parameters = [nn.Parameter(torch.ones(2))]
print(torch.optim.SGD(parameters, 0.1, 0.9).param_groups[0]["momentum"])
print(torch.optim.AdamW(parameters, 0.1, (0.5, 0.6), 1e-6, 0.2).param_groups[0]["betas"])
print(torch.optim.Adam(parameters, 0.1, (0.5, 0.6)).param_groups[0]["betas"])
first, second = torch.optim.AdamW(parameters, lr=0.25), torch.optim.AdamW(parameters, lr=0.5)
(parameters[0] * torch.tensor([1.0, -2.0])).sum().backward()
first.step()
second.load_state_dict(first.state_dict())
print(second.param_groups[0]["lr"], parameters)

schedulers = torch.optim.lr_scheduler
for make in (lambda o: schedulers.CosineAnnealingLR(o, 3, 0.01), lambda o: schedulers.StepLR(o, 2, 0.5),
             lambda o: schedulers.ExponentialLR(o, 0.9), lambda o: schedulers.LambdaLR(o, lambda step: min((step + 1) ** -0.5, step / 4))):
    optimizer, rates = torch.optim.SGD(parameters, lr=0.2), []
    scheduler = make(optimizer)
    for _ in range(7):
        optimizer.step()
        rates.append(optimizer.param_groups[0]["lr"])
        scheduler.step()
    print(rates, scheduler.get_last_lr())

w, places = torch.rand(2, 3, requires_grad=True), torch.tensor([0])
y = torch.zeros(2, 2)
for i in range(2):
    for j in range(2):
        y[i, j] = w[i] @ w[j]
print(y, y.softmax(-1))
y = w * 1
y[places] = 2.0
print(y, linear(x[0]), nn.Linear(2, 2)(x[0]), w.sum(axis=0, keepdims=True))
whole = torch.tensor([[1, 2], [3, 2**40]])
print(whole @ whole, whole.matmul(whole[0]), torch.mm(whole, whole.T), whole[0] @ whole[1], torch.bmm(whole[None], whole[None]))
q = torch.rand(2, 3, 4)
print(q.unflatten(-1, (2, -1)).transpose(1, 2), (w * 1).unflatten(1, (3, 1)))
for batch_first in (True, False):
    attention = nn.MultiheadAttention(4, 2, batch_first=batch_first)
    print(attention(q, q, q), attention(q, q, q, average_attn_weights=False)[1], attention(q[0], q[0], q[0]))
for dtype in (torch.float32, torch.float64, torch.bfloat16):
    print(torch.finfo(dtype).min, torch.finfo(dtype).eps, torch.finfo(dtype).tiny)
print(torch.iinfo(torch.int64).max)
a = torch.randn(3, dtype=torch.float64, requires_grad=True)
print(gradcheck(torch.tanh, (a,), eps=1e-6, atol=1e-4), gradgradcheck(torch.tanh, a),
      gradcheck(lambda t: t * t.detach(), a, raise_exception=False), torch.autograd.functional.jacobian(lambda t: t.exp(), torch.zeros(2)))


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        return t * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


print(Double.apply(a), Double.apply(a.detach()))
torch.manual_seed(3)  # gradcheck draws numbers of its own
print([list(part) for part in random_split(range(10), [0.7, 0.3])], list(DataLoader([(1, "a"), (2, "b")], batch_size=2)))
