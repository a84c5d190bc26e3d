"""Our notebooks print what they have stored, which PyTorch printed."""
import json
import pathlib
import unittest

from notebooks import agrees, differences, run_cell

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "notebooks"
FILES = sorted(FOLDER.glob("*.ipynb"))


def unchanged(source):
    return source.replace("gradus.torch.mkl", "torch").replace("gradus.torch", "torch")


class Notebooks(unittest.TestCase):
    def test_each_cell_prints_what_it_has_stored(self):
        self.assertEqual(len(FILES), 5)
        for path in FILES:
            with self.subTest(path.stem):
                if path.stem[0] == "5" and not has_numpy():
                    self.skipTest("needs NumPy")
                self.assertEqual(differences(path), [])

    def test_one_changed_line_is_enough(self):
        # The other imports of PyTorch mean gradus.torch where `torch` does.
        import gradus.torch
        space = {}
        run_cell("import gradus.torch as torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
                 "from torch.utils.data import DataLoader", space)
        self.assertIs(space["nn"], gradus.torch.nn)
        self.assertIs(space["F"], gradus.torch.nn.functional)
        self.assertIs(space["DataLoader"], gradus.torch.utils.data.DataLoader)

    def test_a_digit_is_noticed(self):
        text = "tensor([[0.1921, 0.0000],\n        [0.5517, 0.4483]], grad_fn=<SoftmaxBackward0>)"
        self.assertTrue(agrees(text, text))
        for other in (text.replace("0.5517", "0.5518"), text.replace("Softmax", "Mul"), text.replace("0.0000", "0."), None):
            self.assertFalse(agrees(text, other))
        self.assertTrue(agrees("[[-0.07389025  0.0712899 ]]", "[[-0.07389026  0.07128991]]"))
        self.assertFalse(agrees("[[-0.07389025  0.0712899 ]]", "[[-0.0738912   0.07128991]]"))

    def test_pytorch_prints_the_same(self):
        try:
            import torch
        except ImportError:
            self.skipTest("needs PyTorch 1.13")
        if not torch.__version__.startswith("1.13") or torch.backends.mkl.is_available():
            self.skipTest("needs PyTorch 1.13 without MKL")
        for path in FILES:
            different = [number for number, _, _ in differences(path, unchanged)]
            with self.subTest(path.stem):  # the masks of MKL take a build with MKL, on a processor of Intel
                self.assertEqual(different, [number for number, source in enumerate(sources(path), 1)
                                             if path.stem[0] == "1" and ("dropout(torch" in source or "dropped" in source)])


def has_numpy():
    try:
        import numpy
    except ImportError:
        return False
    return bool(numpy)


def sources(path):
    return ["".join(c["source"]) for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]


if __name__ == "__main__":
    unittest.main()
