"""Our notebooks print what they have stored, which PyTorch printed."""
import pathlib

import pytest
from notebooks import agrees, differences

FILES = sorted((pathlib.Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_five():
    assert len(FILES) == 5


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_every_cell_prints_what_it_has_stored(path):
    assert differences(path) == []


def test_a_digit_is_noticed():
    text = "tensor([[0.1921, 0.0000],\n        [0.5517, 0.4483]], grad_fn=<SoftmaxBackward0>)"
    assert agrees(text, text)
    assert not agrees(text, text.replace("0.5517", "0.5518"))
    assert not agrees(text, text.replace("Softmax", "Mul"))
    assert not agrees(text, text.replace(",\n", ", \n\n\n").replace("0.0000", "0."))
    assert agrees("[[-0.07389025  0.0712899 ]]", "[[-0.07389026  0.07128991]]")
    assert not agrees("[[-0.07389025  0.0712899 ]]", "[[-0.0738912   0.07128991]]")
    assert not agrees("a", None)


def test_pytorch_prints_the_same():
    torch = pytest.importorskip("torch")
    if not torch.__version__.startswith("1.13"):
        pytest.skip("needs PyTorch 1.13")

    def unchanged(source):  # masks of MKL need a build with MKL, on a processor of Intel
        return source.replace("gradus.torch.mkl", "torch").replace("gradus.torch", "torch")

    dropped = {"1": 3}  # cells after which masks of MKL are printed
    for path in FILES:
        assert len(differences(path, unchanged)) == dropped.get(path.stem[0], 0), path
