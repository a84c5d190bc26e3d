import torch, torch.nn as nn
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.d_out, self.num_heads, self.head_dim = d_out, num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))
    def forward(self, x):
        b, n, d = x.shape
        keys, queries, values = self.W_key(x), self.W_query(x), self.W_value(x)
        keys = keys.view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        values = values.view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        queries = queries.view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        s = queries @ keys.transpose(2, 3)
        s.masked_fill_(self.mask.bool()[:n, :n], -torch.inf)
        w = self.dropout(torch.softmax(s / keys.shape[-1]**0.5, dim=-1))
        c = (w @ values).transpose(1, 2).contiguous().view(b, n, self.d_out)
        return self.out_proj(c)
torch.manual_seed(123)
inputs = torch.tensor([[0.43, 0.15, 0.89],[0.55, 0.87, 0.66],[0.57, 0.85, 0.64],[0.22, 0.58, 0.33],[0.77, 0.25, 0.10],[0.05, 0.80, 0.55]])
batch = torch.stack((inputs, inputs), dim=0)
mha = MultiHeadAttention(3, 4, 6, 0.0, 2)
c = mha(batch)
print(c); print("context_vecs.shape:", c.shape)
print(mha)
query = inputs[1]
s = torch.empty(inputs.shape[0])
for i, x_i in enumerate(inputs): s[i] = torch.dot(x_i, query)
print(s)
w = s / s.sum(); print("Attention weights:", w); print("Sum:", w.sum())
def softmax_naive(x): return torch.exp(x) / torch.exp(x).sum(dim=0)
print(softmax_naive(s)); w = torch.softmax(s, dim=0)
cv = torch.zeros(query.shape)
for i, x_i in enumerate(inputs): cv += w[i] * x_i
print(cv)
a = torch.empty(6, 6)
for i, x_i in enumerate(inputs):
    for j, x_j in enumerate(inputs): a[i, j] = torch.dot(x_i, x_j)
print(a); print(inputs @ inputs.T); print(torch.softmax(a, dim=-1) @ inputs)
t = torch.tensor([[[[0.2745, 0.6584],[0.8573, 0.8993]],[[0.4066, 0.2318],[0.4530, 0.3971]]]])
print(t @ t.transpose(2, 3)); print(t[0, 0, :, :] @ t[0, 0].T)
c.sum().backward(); print(mha.W_query.weight.grad); print(mha.out_proj.bias.grad)
torch.set_printoptions(sci_mode=False, precision=3); print(c * 1e-4, a)
