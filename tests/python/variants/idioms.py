# What other authors write: whole numbers of 32 and 8 bits in masks, rows written with more dimensions, noise like a transposed tensor,
# shifts of two dimensions, empty optimizers, masks of a decoder without names, losses of smoothed labels.
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable

torch.manual_seed(0)
future = torch.triu(torch.ones((1, 4, 4)), diagonal=1)
print(future.type(torch.uint8) == 0, torch.from_numpy(np.triu(np.ones((1, 4, 4)), k=1).astype("uint8")) == 0, future.int() == 1, future.byte() > 0)
print((torch.arange(4, dtype=torch.int32) < torch.tensor(np.array([2, 3], dtype=np.int32))[:, None]), torch.IntTensor([1, 2]).float())
rows, seen = torch.zeros(3, 4), []
for i in range(3):
    rows[i] = torch.randn(1, 4)
rows[:, 1], rows[0, [0, 1]] = torch.ones(1, 3), torch.tensor([[7.0, 8.0]])
print(rows)
weight = torch.ones(2, 1, requires_grad=True)
out = torch.zeros(2, 3)
out[1] = (torch.ones(1, 1, 2) @ weight).expand(1, 1, 3)
out.sum().backward()
print(out, weight.grad)

heads = torch.zeros(2, 3, 4).transpose(1, 2)
print(torch.rand_like(heads), torch.randn_like(heads[0]), torch.empty(3, 2).T.normal_(), torch.empty(3, 2).T.uniform_(-1, 1), torch.empty(2, 3).exponential_(2.0))
print(torch.normal(0, 0.01, size=(2, 1), requires_grad=True), torch.normal(0.0, 1.0, (2, 2)))
grid = torch.arange(12).view(3, 4)
print(torch.roll(grid, shifts=(-1, -2), dims=(0, 1)), grid.roll((1,), (1,)), grid.roll(3), torch.roll(grid, 1, 0))
ties = torch.tensor([[2.0, 1.0, 2.0], [0.0, 0.0, 0.0]])
print(torch.sort(ties, dim=-1, descending=True, stable=True), ties.sort(stable=True), torch.argsort(ties, dim=0, stable=True))
print(torch.unique(grid % 5, sorted=True), torch.unique(grid % 5, True, True), torch.unique(ties > 0))
total = torch.ones(3)
total += torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
total *= torch.from_numpy(np.array([1.0, 2.0, 3.0]))
print(total, +total, F.relu(torch.tensor([-2, 0, 3])), torch.relu(torch.tensor([[-1, 1]])))
start, end = torch.tensor([0.1, 1e8]), torch.tensor([0.3, 1.0])
print(torch.lerp(start, end, 0.9), start.lerp(end, 0.1), torch.allclose(ties > 0, ties > 0), torch.isclose(ties > 0, ties > 1))
print(7 % torch.tensor([-3, 2]), torch.tensor([-7, 7, -6]) // torch.tensor([2, -2, 3]), torch.tensor([-7.5, 7.5]) // 2, torch.tensor([-7.5, 0.0]) % 2, -8 // torch.tensor(-3.0))

logits, labels = torch.randn(3, 4, requires_grad=True), torch.tensor([1, 3, 0])
print(F.cross_entropy(logits, labels, label_smoothing=0.1), F.cross_entropy(logits, torch.softmax(torch.randn(3, 4), -1)), nn.CrossEntropyLoss()(logits, labels))
v = Variable(torch.ones(2), requires_grad=True)
(v * v).sum().backward()
print(v, v.grad, Variable(labels), v.is_cuda, v.to("cpu", non_blocking=True) is v, nn.Linear(1, 1).to("cpu", non_blocking=True))
product = torch.empty(2, 2)
print(torch.matmul(torch.ones(2, 3), torch.ones(3, 2), out=product) is product, product, torch.add(product, 1, out=product), product)
print(torch.rand(2, 3, 4, requires_grad=True) @ torch.rand(4), torch.rand(2, 3, 4).matmul(weight[0, 0] * torch.ones(4)))
try:
    torch.optim.Adam(p for p in nn.ReLU().parameters())
except ValueError as error:
    print(error)
print(torch.use_deterministic_algorithms(True))

mask = nn.Transformer.generate_square_subsequent_mask(3)
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), 1, enable_nested_tensor=False)
decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, 0.0, batch_first=True), 1)
x = torch.randn(2, 3, 4)
print(decoder(x, encoder(x, mask=mask), mask), decoder(x, encoder(x), mask, None, torch.tensor([[False, False, True], [False, False, False]]))[0])
attention = nn.MultiheadAttention(4, 2, bias=False)
print(attention.in_proj_bias, attention.head_dim, attention.num_heads)

low = torch.arange(12.0).view(4, 3) @ torch.tensor([[1.0, 0.5, 2.0], [0.0, 1.0, 1.0], [1.0, 1.5, 3.0]])
u, s, vh = torch.linalg.svd(low, full_matrices=False)
print(s[:2], torch.allclose(u @ torch.diag(s) @ vh, low, atol=1e-4), torch.linalg.matrix_rank(low), [part.shape for part in torch.svd(low)])
square = torch.tensor([[2.0, 1.0], [0.5, 3.0]])
print(torch.linalg.inv(square), torch.inverse(square), torch.linalg.det(square), torch.linalg.solve(square, torch.ones(2)), torch.linalg.eigh(square @ square.T)[0])
print(torch.var_mean(square, dim=-1, unbiased=False), torch.std_mean(square, 0, keepdim=True), torch.var_mean(square), nn.init._calculate_fan_in_and_fan_out(torch.empty(2, 3, 5)))
torch.random.manual_seed(seed=3)
print(torch.rand(2), nn.parameter.Parameter(torch.ones(1)), torch.get_default_dtype())
print(low.float() is low, low.contiguous() is low, F.dropout(low, 0.5, training=False) is low, nn.Dropout(0.5).eval()(low) is low, low.detach() is low, low.view(4, 3) is low)
turned = torch.zeros(2, 5, 4).transpose(1, 2)
torch.manual_seed(5)
print(torch.randn_like(turned), turned.normal_(), torch.rand_like(torch.zeros(3, 1).expand(3, 2)), torch.randn_like(torch.zeros(4).expand(5, 4)), F.dropout(torch.ones(3, 2).T, 0.5))
for wrong in (lambda: nn.Embedding(3, 2)(torch.tensor([3])), lambda: F.cross_entropy(low, torch.tensor([0, 3, 1, 1])), lambda: low[torch.tensor([5])], lambda: low[[0, 4]]):
    try:
        wrong()
    except IndexError:
        print("no such place")
