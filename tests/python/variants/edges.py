# Names used at their edges: writes of constants, norms of matrices, spreads with a bool, dims that are not there, layers with
# members of their own, optimizers and schedules that are saved, modes as decorators, copies with hooks.
import copy
import io
import math
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
warnings.simplefilter("ignore")


def raises(error, f):
    try:
        print("no error", f())
    except error as e:
        print("raises", error.__name__, isinstance(e, error))


leaf = torch.ones(2, requires_grad=True)
for write in (lambda y: y.zero_(), lambda y: y.fill_(3.0), lambda y: y.copy_(torch.ones(2)), lambda y: y.normal_(), lambda y: y.uniform_()):
    y = leaf * 2
    write(y)
    (y * leaf).sum().backward()
    print(y.detach(), leaf.grad)
    leaf.grad = None
    raises(RuntimeError, lambda: write(leaf))
with torch.no_grad():
    print(leaf.uniform_(-1, 1), leaf.normal_(2.0, 0.5), leaf.zero_())

edges = torch.tensor([5.0, math.inf, -math.inf, math.nan])
print(edges.nan_to_num(posinf=1.0), torch.nan_to_num(edges, 0.5, 2.0, -3.0), torch.nan_to_num(edges[:1], posinf=1.0))
p = torch.tensor([1.0, 0.0, 0.5], requires_grad=True)
F.binary_cross_entropy(p, torch.tensor([1.0, 0.0, 1.0])).backward()
print(p.grad, nn.BCELoss(reduction="none")(p, torch.tensor([0.0, 1.0, 0.0])))
a = torch.tensor([[3.0, 0.0], [1.0, 4.0]])
print(torch.linalg.norm(a), torch.linalg.norm(a, ord=1), torch.linalg.norm(a, math.inf), torch.linalg.norm(a, -1), torch.linalg.norm(a, 2), torch.linalg.norm(a, "nuc"))
print(torch.linalg.norm(a[0]), torch.linalg.norm(a[0], 1), torch.linalg.norm(a, dim=1), torch.linalg.norm(a, 1, dim=0, keepdim=True))

x = torch.tensor([1.0, 2.0, 4.0])
print(x.std(False), x.var(False), torch.std(x, False), x.std(0), torch.var_mean(x, False), a.std(1, unbiased=False))
raises(TypeError, lambda: x.sum(True))
raises(RuntimeError, lambda: torch.arange(5).narrow(0, 1, 10))
print(torch.arange(5).narrow(0, -2, 2), F.pad(x, (-1, 1)))
print(torch.div(torch.tensor([-7, 7, -6, 16777217]), torch.tensor([2, -2, 4, 1]), rounding_mode="trunc"), torch.div(torch.tensor(-7), 2, rounding_mode="floor"))
for f in (lambda: torch.ones(2, 3, 4).movedim(5, 0), lambda: a.index_fill(2, torch.tensor([0]), 1.0), lambda: a.unflatten(-3, (1, 2))):
    raises(IndexError, f)
for f in (lambda: torch.repeat_interleave(torch.tensor([1, 2, 3]), torch.tensor([2, 1])), lambda: x.repeat(-1), lambda: x.roll((1, 2), 0)):
    raises(RuntimeError, f)
print(torch.inner(torch.ones(2, 4), torch.ones(3, 5, 4)).shape, torch.inner(x, x), torch.inner(a, a), torch.inner(a, torch.ones(2)))
print(torch.addmm(torch.full((2, 2), math.nan), a, a, beta=0), x.repeat_interleave(torch.tensor([0, 1, 2])))


class Scaled(nn.Linear):
    def __init__(self):
        super().__init__(2, 2)
        self.scale = nn.Parameter(torch.ones(2))
        self.after = nn.Linear(2, 1)

    def forward(self, x):
        return self.after(super().forward(x) * self.scale)


layer = Scaled()
print([name for name, _ in layer.named_parameters()], list(layer.state_dict()), layer.load_state_dict(layer.state_dict()), layer)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
layer(torch.ones(1, 2)).sum().backward()
optimizer.step()
print(layer.scale, layer.after.weight)
print(layer.double().scale.dtype, layer.after.bias.dtype, layer.weight.dtype)


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.mask = nn.Parameter(torch.ones(2)), torch.ones(2)
        self.register_buffer("table", torch.ones(2))


own = Own()
before = own.w
own.float()
print(own.w is before, own.double().mask.dtype, own.table.dtype, own.w)
q = nn.Parameter(torch.ones(2))
raises(ValueError, lambda: torch.optim.SGD([{"params": [q]}, {"params": [q]}], lr=1.0))


class Counting(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1):
        super().__init__(params, dict(lr=lr))

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["n"] = self.state[p].get("n", 0) + 1


first, second = Counting([q, leaf], lr=0.5), Counting([q, leaf])
first.step()
second.load_state_dict(first.state_dict())
second.step()
print(first.state_dict()["state"], second.state[leaf], second.param_groups[0]["lr"])


def schedule():
    sgd = torch.optim.SGD([q], lr=1.0)
    parts = [torch.optim.lr_scheduler.LinearLR(sgd, 0.1, total_iters=4), torch.optim.lr_scheduler.ExponentialLR(sgd, 0.5)]
    return sgd, torch.optim.lr_scheduler.SequentialLR(sgd, parts, [3])


sgd, started = schedule()
for _ in range(2):
    sgd.step()
    started.step()
other, resumed = schedule()
resumed.load_state_dict(started.state_dict())
other.load_state_dict(sgd.state_dict())
for _ in range(4):
    sgd.step(), other.step()
    started.step(), resumed.step()
    print("%.6f %.6f" % (sgd.param_groups[0]["lr"], other.param_groups[0]["lr"]))


@torch.set_grad_enabled(False)
def recorded():
    return torch.is_grad_enabled()


print(recorded(), recorded(), torch.is_grad_enabled())
torch.set_grad_enabled(True)
hits, plain = [], nn.Linear(2, 2)
plain.register_forward_hook(lambda module, *_: hits.append(module))
twin = copy.deepcopy(plain)
twin(torch.ones(2))
twin.register_forward_hook(lambda *_: hits.append(0))
plain(torch.ones(2))
print(len(hits), hits[0] is twin, hits[1] is plain)
h = torch.tensor([-1.0, 1.0], requires_grad=True) * 2
print(nn.ReLU(True)(h), h, nn.ReLU(inplace=True), F.relu(h * 1, inplace=True), F.relu(h, False))
out = torch.empty(2)
print(torch.add(torch.ones(2), 1, out=out), out)
file = io.BytesIO()
torch.save({"a": x}, file)
file.seek(0)
print(torch.load(file), "%d" % len(hits))
generator = torch.Generator().manual_seed(3)
state = generator.get_state()
drawn = torch.rand(2, generator=generator)
generator.set_state(state)
print(torch.equal(drawn, torch.rand(2, generator=generator)))

grid = torch.arange(24.0).view(2, 3, 4) / 7
print(F.softmax(grid), F.softmax(grid[0]), F.log_softmax(grid[0, 0]), nn.Softmax()(grid), nn.Softmax(), nn.LogSoftmax(dim=-1), F.softmax(grid, -1, dtype=torch.float64).dtype)
torch.testing.assert_close(grid, grid + 1e-7)
raises(AssertionError, lambda: torch.testing.assert_close(grid, grid + 1e-2))
again = torch.ones(3, requires_grad=True)
checkpoint(lambda a: (a * a).sum(), again).backward()
print(again.grad, grid.stride(), grid.stride(0), grid.mT.stride(-1))
