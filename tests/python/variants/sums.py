# Sums and means have the bits of PyTorch's order of adding.
import torch
torch.manual_seed(0)
acc = []
for n in list(range(1, 70)) + [100, 128, 333, 1000, 4096, 8000]:
    for r in range(3):
        x = torch.randn(n)
        acc.append((n, x.sum().item(), x.mean().item()))
for R, C in ((3, 3), (4, 4), (6, 6), (8, 8), (10, 3), (6, 40), (100, 33), (5, 200), (33, 32), (20, 64), (1, 5), (5, 1), (7, 9)):
    x = torch.randn(R, C)
    acc.append((R, C, x.sum(0).tolist(), x.sum(1).tolist(), x.sum().item(), x.mean(0).tolist(), x.mean(-1, keepdim=True).tolist(), x.double().sum(0).tolist(), x.double().sum().item(), x.double().mean(1).tolist()))
for s in ((2, 3, 4), (4, 2, 6, 6), (2, 6, 40), (1, 6, 6), (2, 1, 5)):
    x = torch.randn(s)
    acc.append((s, x.sum((-1, -2)).tolist(), x.sum(0).tolist(), x.sum((0, 1)).tolist(), x.mean().item(), x.sum(-1).tolist()))
for a in acc: print(a)
w = torch.softmax(torch.randn(6, 6), -1); print(w.sum(), w.sum(0), w.sum(-1)); y = torch.randn(4, 4, requires_grad=True); s = y.sum(); s.backward(); print(s, y.grad, y.mean().grad_fn is not None)
