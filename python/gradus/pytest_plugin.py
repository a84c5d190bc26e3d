"""For pytest: the fixture `gradcheck`, and strategies of hypothesis for shapes and layouts."""
import pytest

import gradus
from gradus.gradcheck import gradcheck as _gradcheck


@pytest.fixture(scope="session")  # it holds nothing of a test, so that tests with @given may use it
def gradcheck():
    """gradcheck(f, inputs, order=2, ...) fails the test with the report's message and cause unless the check passes."""
    def check(f, inputs, order=2, **options):
        report = _gradcheck(f, inputs, order, **options)
        if not report:
            pytest.fail(f"{report.message}", pytrace=False)
        return report
    return check


def shapes(min_dims=0, max_dims=3, max_side=4):
    """A strategy for shapes: tuples of sizes from 1 to max_side."""
    from hypothesis import strategies as st
    return st.lists(st.integers(1, max_side), min_size=min_dims, max_size=max_dims).map(tuple)


def tensors(shape=None, low=-2.0, high=2.0):
    """A strategy for float64 tensors of a shape (or of one that a strategy draws, or of any), packed, with dimensions exchanged in
    memory, or with gaps."""
    from hypothesis import strategies as st

    @st.composite
    def tensor(draw):
        size = draw(shapes() if shape is None else shape) if shape is None or isinstance(shape, st.SearchStrategy) else shape
        seed, layout = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from(["packed", "transposed", "stepped"]))
        stream = gradus.Generator(seed, "philox")
        if layout == "stepped" and size:
            return (low + (high - low) * gradus.rand(*size[:-1], 2 * size[-1], generator=stream, dtype=gradus.float64))[..., ::2]
        x = low + (high - low) * gradus.rand(*size[::1 if layout == "packed" else -1], generator=stream, dtype=gradus.float64)
        return x.permute(*range(x.dim() - 1, -1, -1)) if layout == "transposed" and size else x
    return tensor()
