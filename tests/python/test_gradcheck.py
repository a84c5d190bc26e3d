"""gradcheck of functions on gradus tensors, NumPy arrays, PyTorch's tensors and the objects of small frameworks."""
import importlib
import subprocess
import sys
import tempfile
import types
import unittest

import gradus
from gradus.gradcheck import gradcheck


def draw(*shape, seed=0):
    return gradus.randn(*shape, generator=gradus.Generator(seed, "philox"), dtype=gradus.float64)


class Square(gradus.Function):
    factor = 2.0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gy):
        x, = ctx.saved_tensors
        return gy * Square.factor * x


def product(function, sign=1.0):
    """x @ w as a subclass of gradus.Function or torch.autograd.Function, whose gradient of w is `sign` times the right one."""
    class Product(function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        def backward(ctx, gy):
            x, w = ctx.saved_tensors
            return gy @ w.T, Product.sign * (x.T @ gy)

    Product.sign = sign
    return Product


class OfTensors(unittest.TestCase):
    def test_operations_of_the_library_pass_at_both_orders(self):
        report = gradcheck(lambda x, w: gradus.softmax(x @ w, dim=-1), [draw(2, 3), draw(3, 4, seed=1)])
        self.assertTrue(report, report)
        self.assertEqual({i["order"] for i in report.inputs}, {1, 2})
        self.assertGreater(report.checks, 20)

    def test_one_input_needs_no_list_and_float32_is_converted(self):
        self.assertTrue(gradcheck(gradus.tanh, gradus.tensor([0.5, -1.0])))

    def test_only_inputs_that_require_gradients_are_checked_if_any_does(self):
        x, w = draw(3).requires_grad_(), draw(3, seed=1)
        report = gradcheck(lambda x, w: x * w.detach() + 0 * w, [x, w], order=1)
        self.assertEqual({i["input"] for i in report.inputs}, {0})

    def test_indices_are_passed_as_they_are(self):
        index = gradus.tensor([0, 2, 2])
        self.assertTrue(gradcheck(lambda w, i: gradus.embedding(i, w), [draw(3, 2), index]))

    def test_a_wrong_rule_fails_with_its_cause_and_its_operation(self):
        self.assertTrue(gradcheck(Square.apply, [draw(2, 3)]))
        Square.factor = 1.0
        try:
            report = gradcheck(lambda x: Square.apply(x).sin(), [draw(2, 3)])
        finally:
            Square.factor = 2.0
        self.assertFalse(report)
        self.assertIn("1/2 times", report.cause)
        self.assertIn("Square", report.wrong_op["op"])
        self.assertIn("order 1", report.message)

    def test_a_kink_is_said_to_be_one(self):
        self.assertIn("not smooth", gradcheck(gradus.relu, [gradus.tensor([0.0, 1.0])]).message)

    def test_a_tuple_is_checked_and_other_results_are_refused_in_one_line(self):
        self.assertTrue(gradcheck(lambda x: (x * x, [x.sin(), x.argmax()]), [draw(2, 3)]))
        self.assertFalse(gradcheck(lambda x: (x * x, x.detach() * x), [draw(2, 3)]))
        self.assertTrue(gradcheck(lambda x: x.view(-1).sin(), [draw(2, 3)]))
        self.assertIn("requires no gradient", gradcheck(lambda x: draw(2), [draw(2)]).message)
        for result in (3, 1.5, [1.0], None, ()):
            with self.assertRaisesRegex(gradus.Error, r"f must give a tensor of gradus, or a tuple of tensors, got \w+\.$"):
                gradcheck(lambda x: result, [draw(2)])

    def test_inputs_are_not_changed_by_a_function_that_moves_them(self):
        x = draw(3)
        self.assertFalse(gradcheck(lambda x: x.data.add_(0.5) * x, [x]))
        self.assertEqual(x.tolist(), draw(3).tolist())

    def test_parameters_of_a_module_are_checked_in_a_copy_and_named(self):
        Product = product(gradus.Function)

        class Model(gradus.nn.Module):
            def __init__(self):
                self.norms = [gradus.nn.BatchNorm1d(3)]
                self.w = gradus.nn.Parameter(gradus.ones(3, 2))

            def forward(self, x):
                return Product.apply(self.norms[0](x), self.w).tanh()

            def loss(self, x, y):
                return gradus.cross_entropy(self(x), y)

        model, x = Model(), draw(4, 3).float()
        state = {name: value.tolist() for name, value in model.state_dict().items()}
        self.assertTrue(gradcheck(model, [x]))
        self.assertTrue(gradcheck(model.loss, [x, gradus.tensor([0, 1, 1, 0])], order=1))
        self.assertTrue(gradcheck(gradus.nn.Embedding(3, 2), [gradus.tensor([0, 2, 2])]))
        Product.sign = -1.0
        report = gradcheck(model, [x])
        self.assertIn("sign", report.cause)
        self.assertRegex(report.message, r"^order 1: parameter w (at|along)")
        self.assertEqual(state, {name: value.tolist() for name, value in model.state_dict().items()})
        self.assertEqual((model.w.dtype, model.w.grad), (gradus.float32, None))

    def test_errors_of_the_function_pass_through(self):
        with self.assertRaisesRegex(gradus.Error, "matmul"):
            gradcheck(lambda x: x @ x, [draw(2, 3)])
        with self.assertRaises(ZeroDivisionError):
            gradcheck(lambda x: x / (1 // 0), [draw(2)])
        with self.assertRaisesRegex(gradus.Error, "tolerance"):
            gradcheck(gradus.tanh, [draw(2)], tolerance=-1.0)


class ByHand(unittest.TestCase):
    def setUp(self):
        try:
            self.np = importlib.import_module("numpy")
        except ImportError:
            self.skipTest("needs NumPy")

    def test_a_gradient_that_is_written_by_hand(self):
        np = self.np
        x = np.linspace(-2, 2, 6).reshape(2, 3)
        self.assertTrue(gradcheck(np.tanh, [x], grad=lambda gy, x: gy * (1 - np.tanh(x)**2)))
        report = gradcheck(np.tanh, [x], grad=lambda gy, x: -gy * (1 - np.tanh(x)**2))
        self.assertFalse(report)
        self.assertIn("sign", report.cause)
        product = gradcheck(np.matmul, [x, x.T], grad=lambda gy, a, b: (gy @ b.T, a.T @ gy))
        self.assertTrue(product)
        self.assertFalse(gradcheck(np.matmul, [x, x.T], grad=lambda gy, a, b: (gy @ b.T, a.T @ (gy * 1.001))))

    def test_an_ignored_cotangent_is_named(self):
        np = self.np
        report = gradcheck(np.exp, [np.array([0.1, 0.2])], grad=lambda gy, x: np.exp(x))
        self.assertFalse(report)
        self.assertIn("upstream", report.cause + report.message)

    def test_rules_get_the_strides_that_the_check_and_the_caller_choose(self):
        np = self.np
        x = np.linspace(-2, 2, 6).reshape(2, 3)
        for x in (x, np.asfortranarray(x), np.asfortranarray(x, np.float32), x[::-1, ::2], np.broadcast_to(x[0], (4, 3)), np.float64(2)):
            self.assertTrue(gradcheck(lambda x: x * x, [x], grad=lambda gy, x: 2 * gy * x))
        fortran = np.asfortranarray(draw(2, 3).numpy())
        self.assertFalse(gradcheck(lambda x: x * x, [fortran], grad=lambda gy, x: 2 * gy * x if x.flags.c_contiguous else gy * x))
        report = gradcheck(lambda x: x * x, [draw(2, 3).numpy()], grad=lambda gy, x: 2 * gy * x if gy.flags.c_contiguous else gy * x)
        self.assertIn("strides are ignored", report.message)

        def in_place(gy, x):
            gy[x < 0] = 0
            return gy

        def reshaped(gy, x):
            gy.shape = -1
            return gy.reshape(x.shape)
        self.assertTrue(gradcheck(lambda x: np.maximum(x, 0, out=x), [fortran], grad=in_place))
        self.assertEqual(fortran.tolist(), draw(2, 3).tolist())
        self.assertIn("not if all are packed", gradcheck(np.positive, [fortran], grad=reshaped).message)

    def test_gradients_have_the_shapes_of_their_inputs_or_are_none(self):
        np = self.np
        x, b = draw(3, 4).numpy(), draw(4).numpy()
        self.assertTrue(gradcheck(np.add, [x, b], grad=lambda gy, x, b: (gy, gy.sum(0))))
        report = gradcheck(np.add, [x, b], grad=lambda gy, x, b: (gy, gy))
        self.assertFalse(report)
        self.assertIn("input 1 a gradient of its shape (4,), got (3, 4)", report.message)
        self.assertTrue(gradcheck(lambda x, b: 2 * x, [x, b], grad=lambda gy, x, b: (2 * gy, None)))
        self.assertTrue(gradcheck(lambda x: 1.5, [x], grad=lambda gy, x: None))
        self.assertIn("gives zeros", gradcheck(np.multiply, [x, b], grad=lambda gy, x, b: (gy * b, None)).cause)
        with self.assertRaisesRegex(gradus.Error, "one array or number, got tuple"):
            gradcheck(lambda x: (x, x), [x], grad=lambda gy, x: gy)

    def test_a_gradient_may_use_the_engine(self):
        def grad(gy, x):
            x = gradus.tensor(x).requires_grad_()
            return gradus.grad(x.tanh(), x, gradus.tensor(gy))[0]
        self.assertTrue(gradcheck(self.np.tanh, [draw(2, 3).numpy()], grad=grad))

    def test_what_is_missing_is_said(self):
        with self.assertRaisesRegex(gradus.Error, "grad="):
            gradcheck(self.np.tanh, [self.np.ones(2)])
        with self.assertRaisesRegex(gradus.Error, "for each of 1 inputs, got 2"):
            gradcheck(self.np.tanh, [self.np.ones(2)], grad=lambda gy, x: (gy, gy))


class OfPyTorch(unittest.TestCase):
    def setUp(self):
        try:
            self.torch = importlib.import_module("torch")
        except ImportError:
            self.skipTest("needs PyTorch")

    def test_functions_and_modules(self):
        torch = self.torch
        torch.manual_seed(1)
        self.assertTrue(gradcheck(torch.tanh, [torch.randn(2, 3)]))
        layer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.LayerNorm(4))
        self.assertTrue(gradcheck(layer, [torch.randn(2, 3)]))
        self.assertTrue(gradcheck(lambda w, i: w[i], [torch.randn(3, 2), torch.tensor([0, 0, 2])]))

    def test_an_autograd_function_with_a_wrong_rule(self):
        torch = self.torch

        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, gy):
                x, = ctx.saved_tensors
                return gy * 3 * x**2 * Cube.factor

        Cube.factor = 1.0
        self.assertTrue(gradcheck(Cube, [torch.randn(2, 3)]))
        Cube.factor = -1.0
        report = gradcheck(Cube, [torch.randn(2, 3)])
        self.assertFalse(report)
        self.assertIn("sign", report.cause)

    def function(self, forward, backward):
        class Function(self.torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return forward(x)

            @staticmethod
            def backward(ctx, gy):
                return backward(gy, *ctx.saved_tensors)
        return Function

    def test_rules_get_the_strides_that_the_check_chooses(self):
        torch, x = self.torch, self.torch.randn(3, 4)
        self.assertTrue(gradcheck(self.function(lambda x: 2 * x, lambda gy, x: 2 * gy), [x]))
        for wrong in (lambda gy, x: 2 * torch.as_strided(gy, (3, 4), (4, 1), 0), lambda gy, x: 2 * gy.view(-1).view(3, 4),
                      lambda gy, x: 2 * gy if gy.is_contiguous() else gy):
            self.assertIn("strides", gradcheck(self.function(lambda x: 2 * x, wrong), [x]).message)
        self.assertTrue(gradcheck(lambda x: x.view(-1).sin(), [x]))
        self.assertTrue(gradcheck(lambda x: torch.view_as_real(torch.view_as_complex(x.reshape(3, 2, 2)) ** 2), [x]))
        with self.assertRaisesRegex(RuntimeError, "view"):
            gradcheck(lambda x: x.view(-1).sin(), [x.t()])

    def test_gradients_of_zeros_and_results_of_several_tensors(self):
        torch, x = self.torch, self.torch.randn(3, 4)
        for f in (torch.abs, torch.sign, torch.floor, lambda x: x.norm(p=1), lambda x: torch.nn.functional.l1_loss(x, 0 * x.detach()),
                  lambda x: x.max(1), lambda x: (x.sin(), [x.exp()]), lambda x: torch.ones(2).double()):
            self.assertTrue(gradcheck(f, [x]))
        self.assertTrue(gradcheck(lambda x, b: 2 * x, [x, x[0]]))
        for result in (3, x.numpy(), None):
            with self.assertRaisesRegex(gradus.Error, "tensor of torch, or a tuple of tensors, got"):
                gradcheck(lambda x: result, [x])

    def test_lost_gradients_are_named(self):
        torch, x = self.torch, self.torch.randn(3, 4)
        for f in (lambda x: x.detach().sin(), torch.no_grad()(torch.sin), self.function(lambda x: 2 * x, lambda gy, x: None)):
            self.assertIn("was detached, or the rule gives zeros", gradcheck(f, [x]).cause)
        for order in (1, 2):
            self.assertIn("ignores gy", gradcheck(self.function(lambda x: x * x, lambda gy, x: 2 * x), [x], order).cause)

    def test_parameters_of_a_module_are_checked_in_a_copy_and_named(self):
        torch = self.torch

        Product = product(torch.autograd.Function, sign=-1.0)

        class Wrong(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.nn.Parameter(torch.randn(3, 2))

            def forward(self, x):
                return Product.apply(x, self.w)

        report = gradcheck(torch.nn.Sequential(torch.nn.Tanh(), Wrong()), [torch.randn(2, 3)])
        self.assertIn("sign", report.cause)
        self.assertRegex(report.message, r"^order 1: parameter 1\.w (at|along)")
        tied = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 3))
        tied[2].weight = tied[0].weight
        for right in (tied, torch.nn.LSTM(3, 2), torch.nn.BatchNorm1d(3)):
            before = {name: value.tolist() for name, value in right.state_dict().items()}
            report = gradcheck(right, [torch.randn(2, 3)])
            self.assertTrue(report, report)
            self.assertEqual({i["input"] for i in report.inputs if i["order"] == 1}, set(range(1 + len(list(right.parameters())))))
            self.assertEqual(before, {name: value.tolist() for name, value in right.state_dict().items()})
            right(torch.randn(2, 3))  # in float32

    def test_a_rule_that_cannot_be_differentiated_twice_is_found_at_order_2(self):
        torch = self.torch

        class Sine(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.x = x.detach()
                return x.sin()

            @staticmethod
            def backward(ctx, gy):
                return gy * ctx.x.cos()  # of a detached x: right, but constant

        self.assertTrue(gradcheck(Sine, [torch.randn(3)], order=1))
        self.assertFalse(gradcheck(Sine, [torch.randn(3)], order=2))


# Stand-ins with the interfaces of micrograd, needle and minitorch.

class Value:
    def __init__(self, data, parents=()):
        self.data, self.grad, self.parents = data, 0.0, parents

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data * other.data, [(self, other.data), (other, self.data)])

    def __add__(self, other):
        return Value(self.data + other.data, [(self, 1.0), (other, 1.0)])

    def backward(self):
        order, seen = [], set()

        def visit(v):
            if id(v) not in seen:
                seen.add(id(v))
                for parent, _ in v.parents:
                    visit(parent)
                order.append(v)
        visit(self)
        self.grad = 1.0
        for v in reversed(order):
            for parent, slope in v.parents:
                parent.grad += slope * v.grad


def module(name, **names):
    made = types.ModuleType(name)
    made.__dict__.update(names)
    return made


class OfOthers(unittest.TestCase):
    def setUp(self):
        try:
            self.np = importlib.import_module("numpy")
        except ImportError:
            self.skipTest("needs NumPy")

    def test_micrograd(self):
        sys.modules |= {"micrograd": module("micrograd"), "micrograd.engine": module("micrograd.engine", Value=Value)}
        try:
            self.assertTrue(gradcheck(lambda x: x[0] * x[1] * x[1] + x[2], [draw(3)], like="micrograd"))
            self.assertTrue(gradcheck(lambda x: 2.0, [draw(3)], like="micrograd"))
            self.assertFalse(gradcheck(lambda x: Value((x[0] * x[1]).data, [(x[0], 1.0), (x[1], x[0].data)]), [draw(2)], like="micrograd"))
        finally:
            del sys.modules["micrograd"], sys.modules["micrograd.engine"]

    def test_needle_and_minitorch(self):
        np = self.np

        class Tensor:
            """x * x, with a factor in its rule."""
            factor = 2.0

            def __init__(self, array, dtype=None, parent=None):
                self.array, self.parent, self.grad = np.array(array, float), parent, None

            def square(self):
                return Tensor(self.array**2, parent=self)

            def backward(self, gradient):
                self.parent.grad = Tensor(gradient.array * Tensor.factor * self.parent.array)

            def requires_grad_(self, on):
                pass

            def numpy(self):
                return self.array
            to_numpy = numpy

        sys.modules |= {"needle": module("needle", Tensor=Tensor), "minitorch": module("minitorch", tensor=Tensor)}
        try:
            for like in ("needle", "minitorch"):
                self.assertTrue(gradcheck(Tensor.square, [draw(2, 3)], like=like))
                self.assertTrue(gradcheck(lambda x, b: x.square(), [draw(2, 3), draw(2)], like=like))
                Tensor.factor = 4.0
                self.assertIn("2 times", gradcheck(Tensor.square, [draw(2, 3)], like=like).cause)
                Tensor.factor = 2.0
        finally:
            del sys.modules["needle"], sys.modules["minitorch"]
        with self.assertRaisesRegex(gradus.Error, "micrograd, needle, minitorch"):
            gradcheck(gradus.tanh, [draw(2)], like="tensorflow")


class Plugin(unittest.TestCase):
    def test_a_fixture_and_strategies(self):
        for name in ("pytest", "hypothesis"):
            try:
                importlib.import_module(name)
            except ImportError:
                self.skipTest(f"needs {name}")
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/test_ops.py", "w") as file:
                file.write("import gradus\nfrom hypothesis import given, settings\n"
                           "from gradus.pytest_plugin import shapes, tensors\n\n"
                           "def test_right(gradcheck):\n    gradcheck(gradus.tanh, [gradus.tensor([0.5])])\n\n"
                           "def test_wrong(gradcheck):\n    gradcheck(lambda x: x.detach() * x, [gradus.tensor([0.5])])\n\n"
                           "@given(x=tensors(), y=tensors(shapes(2, 2)), z=tensors((2, 3)))\n"
                           "@settings(max_examples=10, deadline=None, database=None)\n"
                           "def test_drawn(gradcheck, x, y, z):\n"
                           "    gradcheck(gradus.sin, [x])\n    assert (y.dim(), z.shape) == (2, (2, 3))\n")
            pytest = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "gradus.pytest_plugin"]
            run = subprocess.run([*pytest, folder], capture_output=True, text=True)
        self.assertIn("1 failed, 2 passed", run.stdout, run.stdout + run.stderr)
        self.assertIn("likely cause: the gradient is 1/2 times the right one", run.stdout)


if __name__ == "__main__":
    unittest.main()
