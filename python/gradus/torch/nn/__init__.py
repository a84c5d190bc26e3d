"""torch.nn: modules and layers. What they draw comes from the stream of manual_seed, as PyTorch's do."""
import importlib

from gradus.nn import *  # noqa: F403

functional, utils = (importlib.import_module(f"{__name__}.{part}") for part in ("functional", "utils"))


def __getattr__(name):
    from gradus.torch import missing
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing("torch.nn", name, globals())
