"""torch.nn: modules and layers. What they draw comes from the stream of manual_seed, as PyTorch's do."""
import gradus.nn
from gradus.nn import *  # noqa: F403

from . import functional, utils


def __getattr__(name):
    from gradus.torch import missing
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing("torch.nn", name, globals())
