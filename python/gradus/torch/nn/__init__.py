"""torch.nn: modules and layers. What they draw comes from the stream of manual_seed, as PyTorch's do."""
import importlib

from gradus.nn import *  # noqa: F403

functional, utils = (importlib.import_module(f"{__name__}.{part}") for part in ("functional", "utils"))

def _eps(arguments):
    return next((a.removeprefix("eps=") for a in arguments.split(", ")[1:] if "bias" not in a), "1e-05")


# What print(model) says of a layer.
Linear.extra_repr = lambda m: f"in_features={m.weight.shape[1]}, out_features={m.weight.shape[0]}, bias={m.bias is not None}"
Embedding.extra_repr = lambda m: ", ".join(map(str, m.weight.shape))
LayerNorm.extra_repr = lambda m: f"({m.weight.shape[0]},), eps={_eps(m._arguments)}, elementwise_affine=True"
Dropout.extra_repr = lambda m: f"p={m._arguments.removeprefix('p=') or 0.5}, inplace=False"
GELU.extra_repr = lambda m: f"approximate={m._options['approximate']!r}"


def __getattr__(name):
    from gradus.torch import missing
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing("torch.nn", name, globals())
