"""The table of operations: none of the library's is missing, and each row gives PyTorch's name for its result."""
import pathlib
import re
import unittest

import gradus
import gradus.torch as torch
from test_torch import both

ROWS = pathlib.Path(__file__).resolve().parents[2] / "autograd" / "graph" / "operations.def"
# How Python calls an operation that is no row of its own name.
OTHERWISE = {"slice": "__getitem__", "index": "__getitem__", "pad": "_pad", "to": "to", "expand": "expand", "contiguous": "contiguous",
             "alias": "detach", "einsum": "_einsum"}


def library_operations():
    """The names of the rows of operations.def."""
    return re.findall(r"^GRADUS_(?:OPERATION|MEMBER|COMPOSED)\((\w+),", ROWS.read_text(), re.M)


class Table(unittest.TestCase):
    def test_no_operation_of_the_library_is_missing(self):
        names = library_operations()
        self.assertGreater(len(names), 80)
        for name in names:
            with self.subTest(name):
                other = OTHERWISE.get(name, name)
                self.assertTrue(hasattr(gradus._core, other) or name in OTHERWISE and hasattr(gradus.Tensor, other), f"{name} has no row")

    def test_each_operation_has_a_description(self):
        core = gradus._core
        operations = {(where, name): f for where in (core, core.layers, core.init, gradus.Tensor) for name, f in vars(where).items()
                      if type(f).__name__ == "operation" and not name.startswith("_")}
        self.assertGreater(len(operations), 300)
        for (where, name), f in operations.items():
            with self.subTest(name):
                call, _, text = f.__doc__.partition("\n\n")
                self.assertEqual(call, f.__name__ + f.__text_signature__)
                self.assertGreater(len(text), 2)
                self.assertNotRegex(text, r"::|\.hpp|Throws|undefined")
        self.assertIn("exp(x) / sum(exp(x)) along dim", gradus.softmax.__doc__)
        self.assertTrue(gradus.nn.Linear.__doc__.startswith("Linear(in_features, out_features, bias=True, generator=None)\n\nx (..., in_features)"))

    @both
    def test_names_of_results(self, torch):
        F = torch.nn.functional
        x, v = torch.ones(3, 4, requires_grad=True) * 1, torch.ones(3, requires_grad=True) * 1
        c = torch.tensor([0, 1, 2])
        results = [x.mean(), x.mean(0), x.max(), x.max(1)[0], x.std(1), x.sum(), x.sum(1), x**2, x**x, 2**x, 1 - x, 1 / x, v @ v, x.t(), x.clone(),
                   x.reshape(-1), x.T.reshape(-1), x.flatten(), x.unsqueeze(0).squeeze(0), x.split(1)[0], x.unbind()[0], x.repeat(2, 1), x[0], x[0:2],
                   x[[0, 1]], x[x > 0.5], x.clamp(min=0.5), x.sort()[0], x.topk(2)[0], F.embedding(c, x), F.mse_loss(x, 2 * x), F.cross_entropy(x, c),
                   F.nll_loss(x, c), F.l1_loss(x, 2 * x), torch.einsum("ij,kj->ik", x, x), torch.nn.Embedding(4, 2)(c), x.prod(), x.norm(), x.square(),
                   torch.hstack([x, x]), torch.diag(v), torch.bmm(x[None], x.T[None]), F.layer_norm(x, (4,)), x.masked_fill(x > 0.5, 0.0)]
        names = [re.search(r"grad_fn=<(\w+)>", repr(y))[1] for y in results]
        self.assertEqual(names[:4], ["MeanBackward0", "MeanBackward1", "MaxBackward1", "MaxBackward0"])
        return names

    @both
    def test_pairs_and_tuples_are_printed(self, torch):
        x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
        self.assertIn("torch.return_types.max(\nvalues=", repr(x.max(1)))
        return repr([x.max(1), x.sort(), x.topk(1), x.split(1), x.chunk(2, 1), x.unbind(), torch.where(x > 1), torch.Size([1]) + (2,)])


if __name__ == "__main__":
    unittest.main()
