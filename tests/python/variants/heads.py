import torch
import torch.nn as nn
import torch.nn.functional as F
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, n, p, bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=bias)
        self.W_key = nn.Linear(d_in, d_out, bias=bias)
        self.W_value = nn.Linear(d_in, d_out, bias=bias)
        self.dropout = nn.Dropout(p)
        self.register_buffer("mask", torch.triu(torch.ones(n, n), diagonal=1))
    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        s = q @ k.transpose(1, 2)
        s.masked_fill_(self.mask.bool()[:t, :t], -torch.inf)
        w = torch.softmax(s / k.shape[-1] ** 0.5, dim=-1)
        w = self.dropout(w)
        return w @ v
class MHA(nn.Module):
    def __init__(self, heads, *a):
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(*a) for _ in range(heads)])
    def forward(self, x):
        return torch.cat([h(x) for h in self.heads], dim=-1)
torch.manual_seed(123)
x = torch.rand(2, 6, 3)
m = MHA(2, 3, 2, 6, 0.1)
print(m)
print(m(x)); print(m(x).shape)
m.eval()
print(m(x))
print(list(m.state_dict().keys()))
for n, p in m.named_parameters(): print(n, tuple(p.shape), p.requires_grad, p.numel())
print(sum(p.numel() for p in m.parameters()))
print(m.heads[0].W_query.weight)
print(m.heads[0].mask)
print(nn.Linear(3, 4), nn.Embedding(5, 2), nn.LayerNorm(6), nn.GELU(), nn.Softmax(dim=1), nn.Sequential(nn.Linear(2, 3), nn.ReLU()), nn.Dropout(), nn.CrossEntropyLoss(), nn.Identity(), nn.Tanh(), nn.Flatten())
l = nn.Linear(2, 2)
print(l.state_dict()); print(l.in_features, l.out_features)
print(m.load_state_dict(m.state_dict()))
print(dict(m.named_buffers()).keys())
print([n for n, _ in m.named_modules()])
