"""The table of docs/operations-and-gradient-checks.md: wrong and right gradient rules, as torch.autograd.Functions, judged by gradus and
by torch.autograd.gradcheck with its defaults.

    python3 docs/gradcheck_rules.py            # needs PyTorch, and gradus on PYTHONPATH
"""
import time

import torch

import gradus

torch.manual_seed(0)
X, W, B, P = (torch.randn(s, dtype=torch.float64) for s in ((3, 4), (4, 4), (4,), (3, 4)))
P = P.abs() + 0.5
IDS = torch.tensor([0, 2, 2, 1])


def rule(forward, *rules):
    """forward(*inputs), with a rule (gy, y, *inputs) -> gradient for each input."""
    class Rule(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            y = forward(*xs)
            ctx.save_for_backward(y, *xs)
            return y

        @staticmethod
        def backward(ctx, gy):
            found = tuple(r(gy, *ctx.saved_tensors) for r in rules)
            return found if len(found) > 1 else found[0]
    return Rule


def square(r, x=X): return rule(lambda x: x * x, r), [x]
def relu(r, x=X): return rule(torch.relu, r), [x]
def sigmoid(r, x=X): return rule(torch.sigmoid, r), [x]
def softmax(r): return rule(lambda x: torch.softmax(x, -1), r), [X]
def bias(r): return rule(lambda x, b: x + b, lambda gy, y, x, b: gy.clone(), r), [X, B]
def product(ra, rb): return rule(lambda a, b: a * b, lambda g, y, a, b: ra(g, a, b), lambda g, y, a, b: rb(g, a, b)), [X, P]
def matmul(ra, rb): return rule(lambda a, b: a @ b, lambda g, y, a, b: ra(g, a, b), lambda g, y, a, b: rb(g, a, b)), [X, W]
def norm(r): return rule(lambda x: (x - x.mean(-1, True)) / x.var(-1, unbiased=False, keepdim=True).sqrt(), r), [X]
def rows(r): return rule(lambda x: x[IDS], r), [X]
def slope(f, df, x=X): return rule(f, lambda gy, y, x: gy * df(x)), [x]


def scattered(gy, add):
    g = torch.zeros_like(X)
    return g.index_add(0, IDS, gy) if add else g.index_copy(0, IDS, gy)


def centred(gy, y, x):
    return (gy - gy.mean(-1, True) - y * (gy * y).mean(-1, True)) / x.var(-1, unbiased=False, keepdim=True).sqrt()


WRONG = {
    "factor missing": square(lambda gy, y, x: gy * x),
    "sign": square(lambda gy, y, x: -2 * gy * x),
    "factor 1.001": square(lambda gy, y, x: 2.002 * gy * x),
    "factor 1 + 1e-4": square(lambda gy, y, x: 2 * (1 + 1e-4) * gy * x),
    "factor 1 + 1e-7": square(lambda gy, y, x: 2 * (1 + 1e-7) * gy * x),
    "factor 1 + 1e-8": slope(torch.sin, lambda x: torch.cos(x) * (1 + 1e-8)),
    "1e-6 added": square(lambda gy, y, x: 2 * gy * x + 1e-6 * gy),
    "upstream gradient ignored": square(lambda gy, y, x: 2 * x),
    "upstream gradient squared": square(lambda gy, y, x: 2 * gy * gy * x),
    "upstream gradient clipped": square(lambda gy, y, x: 2 * gy.clamp(-1, 1) * x),
    "upstream gradient clipped at 10": square(lambda gy, y, x: 2 * gy.clamp(-10, 10) * x),
    "computed in float32": slope(torch.exp, lambda x: torch.exp(x).float().double()),
    "constant of six digits": slope(torch.erf, lambda x: 1.128379 * torch.exp(-x * x)),
    "tanh-GELU's value, erf-GELU's rule": slope(
        lambda x: 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x ** 3))),
        lambda x: 0.5 * (1 + torch.erf(x / 2 ** 0.5)) + x * torch.exp(-x * x / 2) / 6.283185307179586 ** 0.5),
    "broadcast sum dropped": bias(lambda gy, y, x, b: gy[0].clone()),
    "broadcast sum is a mean": bias(lambda gy, y, x, b: gy.mean(0)),
    "operands swapped": product(lambda g, a, b: g * a, lambda g, a, b: g * b),
    "one input detached": product(lambda g, a, b: g * b, lambda g, a, b: 0 * g * a),
    "matmul without a transpose": matmul(lambda g, a, b: g @ b, lambda g, a, b: a.T @ g),
    "matmul's product of one row": matmul(lambda g, a, b: g @ b.T, lambda g, a, b: a[:1].T @ g[:1]),
    "factor detached (order 2)": square(lambda gy, y, x: 2 * gy * x.detach()),
    "upstream gradient detached (order 2)": square(lambda gy, y, x: 2 * gy.detach() * x),
    "mask at 0.1 in place of 0": relu(lambda gy, y, x: gy * (x > 0.1), X * 0.1),
    "mask left out": relu(lambda gy, y, x: gy * 1.0),
    "softmax without the sum": softmax(lambda gy, y, x: gy * y),
    "norm without the term of the deviation": norm(lambda gy, y, x: (gy - gy.mean(-1, True)) / x.std(-1, unbiased=False, keepdim=True)),
    "norm with the unbiased deviation": norm(lambda gy, y, x: centred(gy, y, x) * (3 / 4) ** 0.5),
    "repeated index assigned": rows(lambda gy, y, x: scattered(gy, False)),
    "mean divides by rows only": (rule(torch.mean, lambda gy, y, x: (gy / 3).expand(3, 4).clone()), [X]),
    "one element of twelve": square(lambda gy, y, x: 2 * gy * x * torch.where(torch.arange(12).reshape(3, 4) == 7, 1.001, 1.0)),
}
RIGHT = {
    "x^2 + 1e5": (rule(lambda x: x * x + 1e5, lambda gy, y, x: 2 * gy * x), [X]),
    "log at 1e-4": slope(torch.log, lambda x: 1 / x, P * 1e-4),
    "log at 1e-9": slope(torch.log, lambda x: 1 / x, P * 1e-9),
    "sqrt at 1e-8": slope(torch.sqrt, lambda x: 0.5 / torch.sqrt(x), P * 1e-8),
    "1 / x at 1e-3": slope(lambda x: 1 / x, lambda x: -1 / (x * x), P * 1e-3),
    "sigmoid at 30": sigmoid(lambda gy, y, x: gy * y * (1 - y), P + 30),
    "relu at 1e-8": relu(lambda gy, y, x: gy * (x > 0), X * 1e-8),
    "1e10 sin(x)": slope(lambda x: 1e10 * torch.sin(x), lambda x: 1e10 * torch.cos(x)),
    "cube at 1e4": slope(lambda x: x ** 3, lambda x: 3 * x * x, X * 1e4),
    "norm of rows near 1e3": (norm(centred)[0], [X + 1e3]),
}


def torch_says(f, inputs):
    inputs = [x.clone().requires_grad_() for x in inputs]
    return torch.autograd.gradcheck(f.apply, inputs, raise_exception=False) and \
        torch.autograd.gradgradcheck(f.apply, inputs, raise_exception=False)


def gradus_says(f, inputs):
    report = gradus.gradcheck(f, inputs)
    return "unjudged" if "Hint: differences cannot check" in report.message.split(";")[0] else bool(report)


def main():
    for title, rules in (("wrong", WRONG), ("right", RIGHT)):
        print(f"| {title} rule | `torch.autograd.gradcheck` and `gradgradcheck` | gradus |\n| --- | --- | --- |")
        passed, seconds = {}, {}
        for name, (f, inputs) in rules.items():
            said = []
            for judge in (torch_says, gradus_says):
                start = time.perf_counter()
                try:
                    verdict = judge(f, inputs)
                except RuntimeError:  # PyTorch's, of a rule that cannot be differentiated
                    verdict = False
                seconds[judge] = seconds.get(judge, 0) + time.perf_counter() - start
                passed[judge] = passed.get(judge, 0) + (verdict is True)
                said.append("passes" if verdict is True else "fails" if verdict is False else "too coarse, or a kink")
            print(f"| {name} | {said[0]} | {said[1]} |")
        print(f"| {len(rules)}: passed | {passed[torch_says]} | {passed[gradus_says]} |")
        print(f"| seconds | {seconds[torch_says]:.2f} | {seconds[gradus_says]:.2f} |\n")


if __name__ == "__main__":
    main()
