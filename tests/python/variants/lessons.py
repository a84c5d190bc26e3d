# What lessons on language models write: numbers in tensors, masks as numbers, diagonals, windows, grids, tables of words, functions of one's own.
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(1)
place, mask = torch.tensor(2), torch.tensor([[True, False], [True, True]])
print(torch.arange(place, place + 3), torch.arange(place), torch.arange(torch.tensor(1.5), 3), torch.arange(0, 6, place))
print(7 * mask, mask + 1, 1 - mask.long(), mask * 0.5, mask * mask, mask + mask, mask / 2, 1 / mask.sum())
print(torch.tensor(np.float64(1.5)), torch.tensor([np.float64(1.5)]), torch.tensor(np.int64(3)), torch.tensor(True), torch.Tensor(3).shape, torch.Tensor(2, 3).shape, torch.Tensor().shape, torch.Tensor([3]))
print(torch.FloatTensor(2, 3).shape, torch.FloatTensor([1, 2]), torch.LongTensor([[1]]), torch.BoolTensor([1, 0]), torch.DoubleTensor(2).dtype)
print(torch.ones(2).type(torch.LongTensor), mask.type("torch.FloatTensor"), torch.eye(2, 3), torch.sign(torch.tensor([-3, 0, 2])))

scores = torch.randn(2, 3, 3, requires_grad=True)
broken = scores.masked_fill(torch.tensor([True, False, False])[:, None], -torch.inf).softmax(-1)
print(torch.nan_to_num(broken), broken.nan_to_num(0.5)[0, 0], torch.nan_to_num(torch.tensor([torch.inf, -torch.inf]), posinf=1.0))
ids, words = torch.tensor([4, 7, 2]), torch.tensor([[3, 1, 3], [1, 0, 3]])
print(ids.div(2, rounding_mode="floor"), torch.div(-ids, 4, rounding_mode="trunc"), torch.div(torch.tensor([-3.5]), 2, rounding_mode="floor"))
print(torch.unique(words, return_counts=True), torch.unique(words, return_inverse=True), torch.unique(words))
print(torch.repeat_interleave(ids, torch.tensor([1, 0, 2])), words.repeat_interleave(torch.tensor(2), 0), torch.repeat_interleave(words, 2, dim=1))
x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
print(x.diagonal(dim1=1, dim2=2), x.diagonal(1, -2, -1), torch.diagonal(x[0], -1), torch.diag(ids, 1), torch.diag(ids.float(), -2), torch.diag(x[1], 2))
print(torch.movedim(x, 1, 2).shape, x.movedim((0, 1), (2, 0)).shape, torch.trace(x[0]))
print(ids.unfold(0, 2, 1), x.unfold(2, 2, 2).shape, torch.arange(32.0).view(1, 1, 4, 8).unfold(2, 2, 2).unfold(3, 4, 4)[0, 0, 1])
print(torch.meshgrid(ids, torch.arange(2), indexing="ij"), torch.stack(torch.meshgrid([torch.arange(2), torch.arange(3)], indexing="xy")))
print(F.pad(words, (0, -1, 1, 0)), F.pad(x, (-1, 1)).shape, torch.einsum("i,j->ij", torch.arange(3), torch.tensor([1.0, 0.5])))
print(torch.addmm(torch.ones(3), torch.ones(2, 2), torch.ones(2, 3), alpha=0.5), torch.baddbmm(torch.ones(1, 2, 2), torch.ones(1, 2, 3), torch.ones(1, 3, 2), beta=2))
average, moment = torch.zeros(2), torch.ones(2)
print(average.lerp_(moment, 0.25), moment.mul_(0.9).addcmul_(average, average, value=0.1), average.addcdiv_(moment, average, value=-0.1))
table = torch.zeros(3, 4)
print(table.index_fill_(0, torch.tensor([0, 2]), 1.5), table.index_copy_(1, torch.tensor([3]), torch.ones(3, 1)), table.fill_diagonal_(-torch.inf))
print(torch.zeros(3).scatter_(0, torch.tensor(1), value=1), table.scatter_(1, ids.view(3, 1) % 4, 9.0))
print(pad_sequence([ids, ids[:1]], batch_first=True, padding_value=9), pad_sequence([x[0, :2].detach(), x[1, :1].detach()]).shape)
halves = torch.tensor([0.5, -1.5, 2.5])
print(torch.cat([ids, halves]), torch.stack([torch.tensor(1), torch.tensor(0.5)]), torch.hstack([mask[0], ids]), torch.vstack([halves.double(), halves]))
print(scores.detach().where(scores[0] > 0, torch.tensor(-torch.inf)), mask.where(torch.tensor([True, False]), torch.tensor([[True], [False]])))
print(np.exp(halves), np.sqrt(torch.tensor(4.0)), np.float64(2.0) * (halves + x[0, 0, 0]), np.square(ids), np.float64(2.0) > halves)
print(7 // ids, 7 % ids, 2.5 // halves, -1 % halves, halves.double() ** ids, torch.where(halves > 0, halves, halves.double()), words.tile(2), torch.eye(2, dtype=torch.bool))

embedding = nn.Embedding(5, 3, padding_idx=0)
out = embedding(torch.tensor([[0, 2], [4, 0]]))
out.sum().backward()
print(embedding, embedding.weight, out, embedding.weight.grad)
parameters = nn.ModuleList([nn.Linear(2, 1), nn.Embedding(3, 2, padding_idx=-1)]).double()
print([(name, p.dtype) for name, p in parameters.named_parameters()], parameters[1](torch.tensor([2])))
print(nn.Embedding.from_pretrained(torch.ones(2, 3))(torch.tensor([1])), nn.Embedding.from_pretrained(torch.ones(2, 3), freeze=False).weight)
plain = nn.LayerNorm(4, elementwise_affine=False)
print(plain, plain(x), list(plain.parameters()), nn.Linear(2, 2, dtype=torch.float64, device="cpu").weight.dtype)
w = torch.empty(3, 4)
print(nn.init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu").clone(), nn.init.kaiming_uniform_(w, nonlinearity="linear"), nn.init.calculate_gain("tanh"))
linear = nn.Linear(3, 4)
linear.weight = nn.Parameter(linear.weight[:2])
linear.bias = nn.Parameter(linear.bias[:2])
linear(torch.ones(1, 3)).sum().backward()
print(linear.bias.grad, copy.deepcopy(linear).bias.grad, copy.deepcopy(linear).weight)
print(linear(torch.ones(1, 3)))
model = nn.Transformer(d_model=4, nhead=2, num_encoder_layers=1, num_decoder_layers=2, dim_feedforward=8, dropout=0.0, batch_first=True)
src, tgt = torch.rand(2, 3, 4), torch.rand(2, 2, 4)
block = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, activation=nn.GELU(), batch_first=True)
print(block(src, src_mask=torch.ones(3, 3).triu(1).bool()), nn.TransformerDecoderLayer(4, 2, 8, 0.0, activation=F.gelu)(tgt, tgt))
print(model(src, tgt, tgt_mask=model.generate_square_subsequent_mask(2)), len(model.state_dict()), model)


class Exponential(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale=2):
        y = x.exp()
        ctx.save_for_backward(y)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx, gradient):
        (y,) = ctx.saved_tensors
        return gradient * y, None


class Largest(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        values, places = x.max(-1)
        ctx.mark_non_differentiable(places)
        ctx.save_for_backward(places)
        ctx.shape = x.shape
        return values, places

    @staticmethod
    def backward(ctx, gradient, _):
        (places,) = ctx.saved_tensors
        return torch.zeros(ctx.shape).scatter(-1, places.unsqueeze(-1), gradient.unsqueeze(-1))


z = torch.tensor(1.5, requires_grad=True)
first = torch.autograd.grad(Exponential.apply(z), z, create_graph=True)[0]
second = torch.autograd.grad(first, z, create_graph=True)[0]
print(first, second, torch.autograd.grad(second, z))
values, places = Largest.apply(scores)
values.sum().backward()
print(values, places, scores.grad)


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = self.a
        self.c = nn.ModuleList([self.a, nn.ReLU()])


shared, seen = Shared(), []
shared.apply(lambda module: seen.append(type(module).__name__))
print(shared, seen, [name for name, _ in shared.named_modules()], list(shared.state_dict()), shared.get_submodule("c.1"), shared.get_parameter("a.bias").shape)
print([name for name, _ in shared.named_parameters("x")], [name for name, _ in shared.a.named_parameters(recurse=False)], list(shared.parameters(recurse=False)))
print(shared.a.load_state_dict({"z": w, "b": w}, strict=False))
for item in (torch.tensor(1.0), torch.tensor([1.0])):
    try:
        print(list(item))
    except TypeError:
        print("no items")
