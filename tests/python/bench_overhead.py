"""Times of this process's threads: what an operation of Python costs, in microseconds, and a training step that is written in Python
against the library's own. `ctest -C soak -R python.overhead`."""
import time
import unittest

import gradus
from gradus import nn, optim

try:
    import torch
except ImportError:
    torch = None

SIZES = {"vocab_size": 65, "block_size": 64, "n_layer": 4, "n_head": 4, "n_embd": 128}  # W1 of `gradus bench`


def microseconds(operation, x, count=1000, repeats=200):
    """The least time of one operation in a chain of `count`."""
    best = float("inf")
    for _ in range(repeats):
        y = x
        begin = time.process_time()
        for _ in range(count):
            y = operation(y)
        best = min(best, time.process_time() - begin)
    return best / count * 1e6


class Block(nn.Module):
    def __init__(self):
        self.ln_1, self.ln_2 = nn.LayerNorm(128), nn.LayerNorm(128)
        self.attn = nn.MultiHeadAttention(128, 4)
        self.mlp = nn.MLP(128, 512)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Model(nn.Module):
    """The decoder of SIZES."""

    def __init__(self):
        self.wte, self.wpe = nn.Embedding(65, 128), nn.Embedding(64, 128)
        self.h = [Block() for _ in range(4)]
        self.ln_f = nn.LayerNorm(128)

    def loss(self, idx, targets):
        x = self.wte(idx) + self.wpe(gradus.arange(idx.shape[1]))
        for block in self.h:
            x = block(x)
        logits = nn.functional.linear(self.ln_f(x), self.wte.weight)
        return gradus.cross_entropy(logits.reshape(-1, 65), targets.reshape(-1))


def trainer(model):
    optimizer = optim.AdamW(model, lr=1e-3, decay_vectors=False)
    parameters = list(model.parameters())
    idx = gradus.randint(0, 65, (12, 64))

    def step():
        optimizer.zero_grad()
        loss = model.loss(idx, idx)
        loss.backward()
        nn.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        return loss.item()
    return step


class Overhead(unittest.TestCase):
    def test_chains(self):
        for library in filter(None, (gradus, torch)):
            x, w = library.ones(8), library.ones(8, requires_grad=True)
            for name, operation, start in (
                    ("x + x", lambda y: y + x, x), ("x.tanh()", lambda y: y.tanh(), x), ("x * 1.0", lambda y: y * 1.0, x),
                    ("softmax(x, dim=0)", lambda y: library.softmax(y, dim=0), x), ("w * x, recorded", lambda y: y * x, w)):
                with self.subTest(name=name):
                    took = microseconds(operation, start)
                    print(f"{library.__name__:8} {name:20} {took:.2f} us")
                    self.assertTrue(library is torch or took < 1.0)  # with the operation itself

    def test_a_step_in_python(self):
        gradus.set_num_threads(1)
        gradus.manual_seed(1)
        ours = Model()
        theirs = gradus.Decoder("gpt2", **SIZES)
        theirs.load_state_dict({name.replace("mlp", "mlp"): p for name, p in ours.state_dict().items()})
        in_python, in_cpp = trainer(ours), trainer(theirs)
        for _ in range(3):
            self.assertAlmostEqual(in_python(), in_cpp(), places=4)
        best = {}
        for i in range(60):
            for step in (in_python, in_cpp)[::1 if i % 2 else -1]:
                begin = time.process_time()
                step()
                best[step] = min(best.get(step, 1e9), time.process_time() - begin)
        print(f"a step: {1e3 * best[in_python]:.2f} ms in Python, {1e3 * best[in_cpp]:.2f} ms in C++: {best[in_python] / best[in_cpp]:.3f}")
        self.assertLess(best[in_python], 1.03 * best[in_cpp])


if __name__ == "__main__":
    unittest.main()
