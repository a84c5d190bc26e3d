"""Operators that write into a tensor, as its views and other names see them, and those that masks have not."""
import operator

import torch

for dtype in (torch.int64, torch.float32, torch.float64):
    for f in (operator.iadd, operator.isub, operator.imul, operator.ifloordiv, operator.imod, operator.ipow):
        x = torch.tensor([[7, 8, 9], [2, 5, 3]], dtype=dtype)
        row, other = x[1], x
        row = f(row, 2)
        other = f(other, torch.tensor([3, 2, 1]))
        print(f.__name__, x, row, other is x, x.dtype)

for f in (operator.iand, operator.ior, operator.ixor):
    mask = torch.ones(3, 3).tril() != 0
    row, column = mask[1], mask[:, 2]
    row = f(row, torch.tensor([False, True, True]))
    column = f(column, torch.tensor([True, True, False]))
    print(f.__name__, mask, row, column)
    mask = f(mask, False)
    print(mask, mask[1] is row)

mask = torch.tensor([True, False])
for name, f in {"1 - mask": lambda: 1 - mask, "mask - 1": lambda: mask - 1, "mask - mask": lambda: mask - mask, "x - mask": lambda: torch.ones(2) - mask,
                "~mask": lambda: ~mask, "mask * 2": lambda: mask * 2, "mask + mask": lambda: mask + mask, "1 + mask": lambda: 1 + mask}.items():
    try:
        print(name, f())
    except RuntimeError:
        print(name, "is refused")

for values in ([3., 1., 1., 5.], [2., 2., 2.], [1., float("nan"), 3.], [4., 1., 2.], [[1., 1.], [0., 2.]]):
    x = torch.tensor(values, requires_grad=True)
    y = x.median()
    y.backward()
    print(y, x.grad)

frozen = torch.nn.Linear(2, 2)
frozen(torch.ones(1, 2)).sum().backward()
frozen.weight.requires_grad_(False)
frozen.zero_grad(set_to_none=False)
print(frozen.weight.grad, frozen.bias.grad)
