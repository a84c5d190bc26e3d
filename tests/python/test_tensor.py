"""Tensors: indexing and operations against NumPy and PyTorch, printing, gradients, errors."""
import copy
import pickle
import random
import unittest

import gradus
from gradus import Error, tensor

try:
    import numpy as np
except ImportError:
    np = None
try:
    import torch
except ImportError:
    torch = None

needs_numpy = unittest.skipIf(np is None, "NumPy is not installed")
needs_torch = unittest.skipIf(torch is None, "PyTorch is not installed")


def to_torch(x):
    return torch.tensor(x.detach().tolist(), dtype=getattr(torch, x.dtype.name)).reshape(tuple(x.shape))


class Basics(unittest.TestCase):
    def test_of_lists(self):
        self.assertEqual(tensor([[1, 2], [3, 4]]).dtype, gradus.int64)
        self.assertEqual(tensor([1, 2.5]).dtype, gradus.float32)
        self.assertEqual(tensor([True, False]).dtype, gradus.bool_)
        self.assertEqual(tensor([True, 2]).tolist(), [1, 2])
        self.assertEqual(tensor(0.1, dtype=gradus.float64).item(), 0.1)
        self.assertEqual(tensor([[], []]).shape, (2, 0))
        self.assertEqual(tensor([tensor(2), tensor(3)]).tolist(), [2, 3])
        self.assertEqual(tensor([2**60 + 1]).item(), 2**60 + 1)
        with self.assertRaisesRegex(Error, "of one length, got 2 and 1"):
            tensor([[1, 2], [3]])
        with self.assertRaisesRegex(Error, "nested to one depth"):
            tensor([[1, 2], 3])
        with self.assertRaisesRegex(Error, "takes numbers"):
            tensor(["a"])

    def test_keywords_and_defaults(self):
        x = tensor([[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(x.sum(dim=0, keepdim=True).tolist(), [[4, 6]])
        self.assertEqual(gradus.sum(x, -1).tolist(), [3, 7])
        self.assertEqual(x.reshape(-1).tolist(), x.view((4,)).tolist())
        self.assertEqual(x.permute(1, 0).tolist(), x.T.tolist())
        self.assertEqual(gradus.zeros(2, 3).shape, gradus.zeros((2, 3)).shape)
        self.assertEqual(x.max(dim=1).indices.tolist(), [1, 1])
        values, indices = x.max(1)
        self.assertEqual((values.tolist(), indices.tolist()), ([2, 4], [1, 1]))
        with self.assertRaisesRegex(TypeError, r"softmax\(input, dim, dtype=None\)"):
            x.softmax()
        with self.assertRaisesRegex(TypeError, "no argument 'axes'"):
            x.sum(axes=1)
        with self.assertRaisesRegex(TypeError, "argument 'dim' must be"):
            x.softmax("one")
        with self.assertRaisesRegex(TypeError, "two values for 'dim'"):
            x.softmax(1, dim=1)

    def test_library_errors(self):
        with self.assertRaisesRegex(Error, r"^\[matmul\].*\(2, 3\).*\(2, 3\)"):
            gradus.ones(2, 3) @ gradus.ones(2, 3)
        self.assertTrue(issubclass(gradus.RunError, Error) and issubclass(Error, RuntimeError))
        with self.assertRaisesRegex(Error, "truth of a tensor"):
            bool(gradus.ones(2))
        with self.assertRaises(TypeError):  # an int of more than 64 bits
            gradus.ones(2) * 2**70

    def test_operators(self):
        x = tensor([1.0, -2.0, 3.0])
        self.assertEqual((2 - x).tolist(), [1, 4, -1])
        self.assertEqual((x / 2 + 1).tolist(), [1.5, 0, 2.5])
        self.assertEqual((x**2).tolist(), [1, 4, 9])
        self.assertEqual((2**x).tolist(), [2, 0.25, 8])
        self.assertEqual(abs(-x).tolist(), [1, 2, 3])
        self.assertEqual((x > 0).tolist(), [True, False, True])
        self.assertEqual((0 < x).tolist(), [True, False, True])
        self.assertEqual((~(x > 0) | (x == 3)).tolist(), [False, True, True])
        self.assertEqual(((x > 0) & (x == 3)).tolist(), [False, False, True])
        self.assertEqual(((x > 0) ^ (x == 3)).tolist(), [True, False, False])
        self.assertIn(3, x)
        self.assertEqual([row.item() for row in x], [1, -2, 3])
        self.assertEqual((tensor([1, 2]) * 0.5).tolist(), [0.5, 1])
        self.assertEqual([10, 20, 30][tensor(1)], 20)
        with self.assertRaises(TypeError):
            x + "a"

    def test_in_place(self):
        x = gradus.zeros(3)
        alias = x
        x += 1
        self.assertIs(alias, x)
        x.mul_(3).add_(1)
        self.assertEqual(alias.tolist(), [4, 4, 4])
        row = gradus.zeros(2, 2)
        row[0] += 5
        self.assertEqual(row.tolist(), [[5, 5], [0, 0]])
        leaf = gradus.ones(2, requires_grad=True)
        with self.assertRaisesRegex(Error, "leaf that requires a gradient"):
            leaf += 1
        with gradus.no_grad():
            leaf -= 0.5
        self.assertEqual(leaf.tolist(), [0.5, 0.5])
        y = leaf * 2
        y.masked_fill_(tensor([True, False]), 7)  # recorded: the object is that of the result
        y.sum().backward()
        self.assertEqual((y.tolist(), leaf.grad.tolist()), ([7, 1], [0, 2]))
        with self.assertRaisesRegex(Error, "must be int64"):
            tensor([1, 2]).add_(0.5)

    def test_printing(self):
        x = tensor([[1.5, 2.0], [3.0, 4.0]], requires_grad=True)
        self.assertEqual(repr(x), "tensor([[1.5000, 2.0000],\n        [3.0000, 4.0000]], requires_grad=True)")
        self.assertIn("grad_fn=<MulBackward0>", repr(x * 2))
        self.assertEqual(str(x.shape), "torch.Size([2, 2])")
        self.assertEqual(f"{tensor(2.5):.2f}", "2.50")
        self.assertIn("<td", x._repr_html_())
        self.assertIn("<pre>tensor([1, 2])", tensor([1, 2])._repr_html_())

    def test_copies(self):
        x = tensor([1.0, 2.0], requires_grad=True)
        for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
            self.assertEqual((y.tolist(), y.requires_grad), ([1, 2], True))
            self.assertNotEqual(y.data_ptr(), x.data_ptr())
        self.assertEqual(pickle.loads(pickle.dumps(gradus.float32)), gradus.float32)


class Gradients(unittest.TestCase):
    def test_backward(self):
        x = tensor([1.0, 2.0], requires_grad=True)
        (x * x).sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 4])
        self.assertIsNone((x * 2).grad)
        x.grad = None
        (d,) = gradus.grad((x**3).sum(), x, create_graph=True)
        (dd,) = gradus.grad(d.sum(), x)
        self.assertEqual(dd.tolist(), [6, 12])
        self.assertIsNone(x.grad)

    def test_modes(self):
        x = tensor([1.0], requires_grad=True)
        with gradus.no_grad():
            self.assertFalse((x * 2).requires_grad)
            with gradus.enable_grad():
                self.assertTrue((x * 2).requires_grad)
            self.assertFalse(gradus.is_grad_enabled())
        self.assertTrue(gradus.is_grad_enabled())

        @gradus.no_grad()
        def f(x):
            return x * 2
        self.assertFalse(f(x).requires_grad)
        gradus.set_grad_enabled(False)
        self.assertFalse(gradus.is_grad_enabled())
        gradus.set_grad_enabled(True)
        with gradus.set_grad_enabled(False):
            self.assertFalse(gradus.is_grad_enabled())
        self.assertTrue(gradus.is_grad_enabled())

    def test_hooks(self):
        x = tensor([1.0, 2.0], requires_grad=True)
        seen = []
        y = x * 3
        y.register_hook(lambda g: seen.append(g.tolist()))
        handle = y.register_hook(lambda g: g * 2)
        y.sum().backward()
        self.assertEqual((seen, x.grad.tolist()), ([[1, 1]], [6, 6]))
        handle.remove()

        def fails(g):
            raise KeyError("mine")
        z = x * 1
        z.register_hook(fails)
        with self.assertRaisesRegex(KeyError, "mine"):
            z.sum().backward()

    def test_functions_of_ones_own(self):
        class Cube(gradus.Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.save_for_backward(x)
                ctx.factor = factor
                return factor * x**3

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * 3 * ctx.factor * x**2, None

        x = tensor([2.0], requires_grad=True)
        y = Cube.apply(x, 2.0)
        self.assertEqual(y.grad_fn, "Cube")
        (d,) = gradus.grad(y.sum(), x, create_graph=True)
        (dd,) = gradus.grad(d.sum(), x)
        self.assertEqual((d.item(), dd.item()), (24, 24))

        class Two(gradus.Function):
            @staticmethod
            def forward(ctx, a, b):
                return a + b, a - b

            @staticmethod
            def backward(ctx, g, h):
                return g + h, g - h

        a, b = tensor([1.0], requires_grad=True), tensor([5.0], requires_grad=True)
        s, d = Two.apply(a, b)
        (2 * s + d).sum().backward()
        self.assertEqual((a.grad.item(), b.grad.item()), (3, 1))

    def test_checkpoint_and_derivatives(self):
        x = tensor([1.0, 2.0], requires_grad=True)
        gradus.checkpoint(lambda t: t.exp() * t, x).sum().backward()
        want = [(t + 1) * 2.718281828459045**t for t in (1, 2)]
        for got, expected in zip(x.grad.tolist(), want):
            self.assertAlmostEqual(got, expected, places=4)
        self.assertEqual(gradus.jacobian(lambda t: t * t, tensor([1.0, 2.0])).tolist(), [[2, 0], [0, 4]])
        self.assertEqual(gradus.hessian(lambda t: (t**3).sum(), tensor([1.0, 2.0])).tolist(), [[6, 0], [0, 12]])

    def test_errors_name_the_line(self):
        x = tensor([0.0], requires_grad=True)
        with gradus.detect_anomaly():
            with self.assertRaisesRegex(Error, r"\[anomaly\] the gradient rule of sqrt.*Recorded at .*test_tensor.py:\d+"):
                y = x.sqrt()
                y.backward(gradus.ones(1))
        w = tensor([1.0], requires_grad=True)
        with gradus.detect_anomaly():
            y = w.exp()
            loss = (y * y).sum()
            y.detach().fill_(3)
            with self.assertRaisesRegex(Error, "has been overwritten.*Recorded at .*test_tensor.py"):
                loss.backward()

    def test_one_object_for_a_leaf(self):
        x = tensor([1.0], requires_grad=True)
        self.assertIs(gradus.as_tensor(x), x)
        self.assertEqual({x: 1}[x], 1)


@needs_numpy
class Indexing(unittest.TestCase):
    KEYS = ["0", "-1", "1:", ":2", "::2", "1:3, 0", "..., 1", "None, 0", ":, None, 1", "0, ..., None", "1, 2, 3",
            "[0, 2]", "[0, 2], 1", ":, [1, 0]", "[0, 1], [1, 2]", "[0, 1], :, [1, 2]", "m0", "m0, 1",
            "m", "[[0, 1], [2, 0]]", "i", "i, i", "..., i", "::2, 1:, -1", "0:0", "None, m0", "np.int64(1)", "np.array([0, 1])"]

    def setUp(self):
        self.array = np.arange(60, dtype=np.float64).reshape(3, 4, 5)
        self.m0, self.i = np.array([True, False, True]), np.array([2, 0])
        self.m = self.array % 7 < 3

    def key(self, text, convert):
        values = {"m0": convert(self.m0), "m": convert(self.m), "i": convert(self.i), "np": np}

        class Key:
            def __getitem__(self, key):
                return key
        return eval(f"key[{text}]", {"key": Key(), **values})

    def test_get(self):
        x = tensor(self.array)
        for text in self.KEYS:
            with self.subTest(key=text):
                got = x[self.key(text, tensor)]
                np.testing.assert_array_equal(np.asarray(got), self.array[self.key(text, lambda a: a)])
                np.testing.assert_array_equal(np.asarray(x[self.key(text, lambda a: a)]), self.array[self.key(text, lambda a: a)])

    def test_set(self):
        for text in self.KEYS:
            with self.subTest(key=text):
                x, array = tensor(self.array), self.array.copy()
                address = x.data_ptr()
                value = -np.arange(array[self.key(text, lambda a: a)].size, dtype=np.float64)
                value = value.reshape(array[self.key(text, lambda a: a)].shape)
                x[self.key(text, tensor)] = tensor(value)
                array[self.key(text, lambda a: a)] = value
                np.testing.assert_array_equal(np.asarray(x), array)
                x[self.key(text, tensor)] = 9
                array[self.key(text, lambda a: a)] = 9
                np.testing.assert_array_equal(np.asarray(x), array)
                self.assertEqual(x.data_ptr(), address)

    def test_gradients(self):
        x = tensor(self.array, requires_grad=True)
        y = x * 1
        y[:, 1] = 0
        y[tensor([0, 0, 2])].sum().backward()
        want = np.zeros((3, 4, 5))
        want[0], want[2] = 2, 1
        want[:, 1] = 0
        np.testing.assert_array_equal(x.grad.numpy(), want)

    def test_errors(self):
        x = tensor(self.array)
        for key in (3, (0, 0, 0, 0), tensor([5]), slice(None, None, -1)):
            with self.subTest(key=key), self.assertRaises(Error):
                x[key]
        with self.assertRaises(AttributeError):
            del x[0]
        self.assertEqual(x[0, :, tensor([1, 2])].shape, (4, 2))  # as PyTorch, where NumPy gives (2, 4)


@needs_torch
class Operations(unittest.TestCase):
    """Each row: an expression of T (torch or gradus), F (its functions), x, y (3, 4), p positive, i, m."""

    ROWS = [
        "x + y", "x - y", "x * y", "x / p", "x ** 2", "p ** y", "2 ** x", "1 - x", "3 / p", "-x", "T.abs(x)", "T.exp(x)", "T.log(p)",
        "T.sqrt(p)", "T.rsqrt(p)", "T.tanh(x)", "T.sigmoid(x)", "T.relu(x)", "T.sin(x)", "T.cos(x)", "T.erf(x)",
        "x.clamp(-0.5, 0.5)", "x.clamp(min=0.1)", "T.clamp(x, max=0.1)", "T.maximum(x, y)", "T.minimum(x, y)",
        "T.where(m, x, y)", "T.where(m, x, 0.0)", "x.masked_fill(m, 2.0)", "x.sum()", "x.sum(1)", "x.sum(dim=(0, 1), keepdim=True)",
        "x.mean()", "x.mean(0)", "x.var()", "x.var(1, unbiased=False)", "x.std(dim=0)", "x.amax(1)", "x.amin(0, keepdim=True)",
        "x.max()", "x.max(1).values", "x.min(0)[0]", "T.max(x, y)", "x.cumsum(1)", "x.logsumexp(1)", "x.norm()", "x.softmax(-1)",
        "T.softmax(x, dim=0)", "T.log_softmax(x, dim=1)", "x @ y.T", "T.matmul(x, y.t())", "T.mm(x, y.T)", "x[0].dot(y[1])",
        "T.outer(x[0], y[0])", "T.einsum('ij,kj->ik', x, y)", "T.cat([x, y], dim=1)", "T.stack((x, y))", "T.cat((x, y))",
        "x.transpose(0, 1) @ y", "x.reshape(2, 6)", "x.view(-1)", "x.permute(1, 0)", "x.flatten()", "x.unsqueeze(0).squeeze(0)",
        "x.unsqueeze(1).expand(3, 2, 4)", "x.repeat(2, 3)", "x.split(2, dim=1)[1]", "x.chunk(2, 1)[0]", "x.unbind(0)[1]",
        "T.tril(x)", "x.triu(1)", "x.gather(1, i)", "x.index_select(1, i[0])", "x.scatter(1, i, y)", "x.scatter_add(1, i, y)",
        "x.sort(1).values", "x.topk(2).values", "x.double().float()", "T.square(x)", "T.reciprocal(p)", "x.narrow(1, 1, 2)",
        "F.gelu(x)", "F.silu(x)", "F.softplus(x)", "F.mish(x)", "F.layer_norm(x, (4,), y[0], y[1])", "F.linear(x, y, x[:, 0])",
        "F.embedding(T.tensor([[0, 2], [1, 0]]), x)", "F.mse_loss(x, y)", "F.l1_loss(x, y)", "F.huber_loss(x, y)", "F.smooth_l1_loss(x, y)",
        "F.cross_entropy(x, c)", "F.cross_entropy(x, c, reduction='none')", "F.cross_entropy(x, c, label_smoothing=0.1)",
        "F.cross_entropy(x, c, ignore_index=1)", "F.nll_loss(F.log_softmax(x, dim=1), c)", "F.kl_div(x, y.softmax(1), reduction='sum')",
        "F.binary_cross_entropy_with_logits(x, p.clamp(max=1))", "F.group_norm(x, 2)", "x.repeat_interleave(2, dim=1)", "T.t(x)",
    ]

    def test_values_and_gradients(self):
        shuffle = random.Random(3)
        numbers = {name: [[shuffle.gauss(0, 1) for _ in range(4)] for _ in range(3)] for name in "xy"}
        numbers["p"] = [[abs(v) + 0.3 for v in row] for row in numbers["y"]]
        others = {"i": [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]], "c": [2, 1, 3],
                  "m": [[v > 0 for v in row] for row in numbers["x"]]}
        import torch.nn.functional
        for row in self.ROWS:
            if ("T.outer" in row or "F.mish" in row) and not hasattr(torch, "outer"):
                continue
            with self.subTest(row=row):
                results = []
                for library, functions in ((gradus, gradus), (torch, torch.nn.functional)):
                    given = {name: library.tensor(v, dtype=library.float64, requires_grad=True) for name, v in numbers.items()}
                    fixed = {name: library.tensor(v) for name, v in others.items()}
                    if "double" in row:
                        given = {name: library.tensor(v, requires_grad=True) for name, v in numbers.items()}
                    y = eval(row, {"T": library, "F": functions, **given, **fixed})
                    weights = library.arange(1, y.numel() + 1, dtype=y.dtype).reshape(y.shape)
                    (y * weights).sum().backward()
                    results.append([y] + [x.grad for x in given.values()])
                for got, want in zip(*results):
                    if want is None:
                        self.assertIsNone(got)
                        continue
                    self.assertEqual(tuple(got.shape), tuple(want.shape))
                    torch.testing.assert_close(to_torch(got), want.detach(), rtol=1e-6 if "double" in row else 1e-10, atol=1e-12)

    def test_random_numbers(self):
        for draw in ("rand(3, 4)", "randn(5)", "randn(20)", "randint(0, 10, (6,))", "randperm(9)", "normal(1.0, 2.0, (30,))"):
            with self.subTest(draw=draw):
                gradus.manual_seed(123)
                torch.manual_seed(123)
                self.assertTrue(torch.equal(to_torch(eval("gradus." + draw)), eval("torch." + draw)))

    def test_printing(self):
        for text in ("[1.0, 2.5]", "[[1e-6, 1.0], [3.0, 4e9]]", "[1, 2, 300]", "[True, False]", "3.14", "[]"):
            self.assertEqual(repr(eval(f"gradus.tensor({text})")), repr(eval(f"torch.tensor({text})")))
        x = gradus.rand(100, 30)
        self.assertEqual(repr(x), repr(torch.from_numpy(x.numpy())))
        self.assertEqual(repr(gradus.zeros(2, 0)), repr(torch.zeros(2, 0)))


if __name__ == "__main__":
    unittest.main()
