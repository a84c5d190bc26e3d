# Values copied between tensors that have gradients: who shares the memory has them, too.
import torch
from torch import nn
torch.manual_seed(0)
def fresh():
    torch.manual_seed(1); return nn.Linear(2, 2), nn.Linear(2, 2)
a, b = fresh(); a.weight.data.copy_(b.weight); print(torch.equal(a.weight, b.weight), a.weight.requires_grad, a.weight.is_leaf)
a, b = fresh(); a.weight.data[:] = b.weight; print(torch.equal(a.weight, b.weight))
a, b = fresh(); a.weight.data[0] = b.weight[0]; print(torch.equal(a.weight[0], b.weight[0]), a.weight)
a, b = fresh(); c = a.weight.clone(); a.weight.data.add_(b.weight); print(torch.equal(a.weight, c + b.weight))
a, b = fresh(); a.state_dict()["weight"].copy_(b.weight); print(torch.equal(a.weight, b.weight))
a, b = fresh()
for p, q in zip(a.parameters(), b.parameters()): p.data.copy_(q)
print(torch.equal(a.weight, b.weight), torch.equal(a.bias, b.bias))
a, b = fresh(); w = nn.Parameter(torch.ones(2, 2)); w.data.copy_(b.weight.T); print(w, torch.equal(w, b.weight.T))
a, b = fresh(); p, q = a.weight, b.weight; c = p.detach().clone(); p.data.mul_(.9).add_(q, alpha=.1); print(torch.allclose(p, c * .9 + q * .1))
a, b = fresh(); a.weight.data.fill_(b.weight[0, 0]); print(a.weight.data)
a, b = fresh(); a.weight.requires_grad_(False); a.weight.copy_(b.weight); print(a.weight.data)
a, b = fresh(); d = a.weight.detach(); d.copy_(b.weight.t()); print(d.requires_grad, a.weight.data); (a.weight * 2).sum().backward(); print(a.weight.grad, b.weight.grad)
a, b = fresh(); d = a.weight.data; d[0] = b.weight[1] * 2; d.sum().backward(); print(b.weight.grad, a.weight.data)
z = torch.zeros(3); n = z.numpy(); z[1] = b.weight[0, 0]; print(n, z.requires_grad)
s = torch.zeros(2, 2); row = s[0]; row.copy_(b.weight[0]); print(s, row.requires_grad)
x = torch.ones(3); x.copy_(b.weight[0].sum()); print(x.detach())
out = torch.empty(2, 3)
for i in range(2): out[i] = b.weight[i].sum() * torch.arange(3.)
print(out); out.sum().backward(); print(b.weight.grad)
a, b = fresh()
with torch.no_grad(): a.weight.copy_(b.weight); a.bias[:] = b.bias
print(torch.equal(a.weight, b.weight), torch.equal(a.bias, b.bias))
x = torch.randn(2, 2, requires_grad=True); y = x * 2; y.detach().zero_(); print(y)
d, e = nn.Dropout(0.5, inplace=True), torch.ones(2, 6)
r = d(e)
print(d, e, r is e, nn.Dropout(0.1))
w = torch.ones(2, requires_grad=True)
print(d.eval()(w) is w)


class Mask(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.ones(2))


m = Mask()
del m.mask
print(list(m.named_buffers()))
w = torch.tensor([1., 2., 3.], requires_grad=True)
m = torch.ones(3) * 2; m *= w; m.sum().backward(); print(m, w.grad)
m = torch.ones(3) * 2; n = m.numpy(); m[0] = w[2]; print(n); m *= w; m.sum().backward(); print(w.grad)
a = torch.zeros(3); a += w; a *= w; a.sum().backward(); print(w.grad)
s = torch.zeros(3, 3)
for i in range(3):
    for j in range(3): s[i, j] = w[i] * w[j]
s.sum().backward(); print(s, w.grad)
d = torch.zeros(3); d[1:] = w[1:] * 2; e = d * w; e.sum().backward(); print(w.grad)
