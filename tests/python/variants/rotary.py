# Rotary embeddings as lessons on Llama write them: complex numbers, halves, matrices of each position; norms and gates beside them.
import math

import torch
import torch.nn as nn

torch.manual_seed(0)


def frequencies(dim, end, theta=10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[:dim // 2].float() / dim))
    freqs = torch.outer(torch.arange(end, device=freqs.device), freqs).float()
    return torch.polar(torch.ones_like(freqs), freqs)


def for_broadcast(freqs_cis, x):
    assert freqs_cis.shape == (x.shape[1], x.shape[-1])
    return freqs_cis.view(*[d if i == 1 or i == x.ndim - 1 else 1 for i, d in enumerate(x.shape)])


def rotated(xq, xk, freqs_cis):
    xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    xk_ = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
    freqs_cis = for_broadcast(freqs_cis, xq_)
    return torch.view_as_real(xq_ * freqs_cis).flatten(3).type_as(xq), torch.view_as_real(xk_ * freqs_cis).flatten(3).type_as(xk)


def rotated_heads(x, freqs_cis):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * freqs_cis.unsqueeze(0).unsqueeze(2)).reshape(*x.shape).type_as(x)


def halves(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


table = frequencies(8, 12)
q, k = torch.randn(2, 6, 3, 8), torch.randn(2, 6, 3, 8, requires_grad=True)
new_q, new_k = rotated(q, k, table[:6])
print(table.shape, table.real[1], table.imag[2], torch.view_as_real(table)[3], table[2:5].shape, table[None, :2, None, :].shape, (table * 2).imag[1])
(new_k * torch.arange(8.0)).sum().backward()
print(new_q[0, 1], new_k, k.grad[0, 1])
print(torch.equal(rotated_heads(q, table[:6]), new_q), torch.complex(torch.ones(2), torch.zeros(2)).real, table.to("cpu").size(0))
angles = torch.cat([torch.arange(6)[:, None] * 10000.0 ** (-torch.arange(0, 8, 2) / 8)] * 2, dim=1)
print(halves(q.transpose(1, 2), angles.cos(), angles.sin())[1, 2])


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = frequencies(8, 12)
        self.register_buffer("short", frequencies(8, 4), persistent=False)
        self.q = nn.Linear(8, 8, bias=False)

    def forward(self, x):
        return rotated_heads(self.q(x), self.table[:x.size(1)])


model = Attention()
print(model, model(q)[0, 2], list(model.state_dict()), sum(p.numel() for p in model.parameters()))
R = torch.zeros(4, 4, 4)
for position in range(4):
    for i in range(2):
        angle = position * 10000.0 ** (-2.0 * i / 4)
        R[position, 2 * i, 2 * i] = R[position, 2 * i + 1, 2 * i + 1] = math.cos(angle)
        R[position, 2 * i, 2 * i + 1], R[position, 2 * i + 1, 2 * i] = -math.sin(angle), math.sin(angle)
x = torch.randn(2, 4, 4)
print(R[1], torch.bmm(x.transpose(0, 1), R).transpose(0, 1)[0], torch.linalg.norm(x, dim=(1, 2)))
