"""torch.optim: SGD, Adam, AdamW, RMSprop. Weight decay is for all parameters, as in PyTorch."""
import gradus
from gradus.optim import SGD, AdamW, Optimizer, RMSprop


class Adam(AdamW):
    """Adam (arXiv 1412.6980), without weight decay. Throws Error for a weight decay, which PyTorch adds to the gradient here."""

    def __init__(self, params, lr=1e-3, weight_decay=0.0, **options):
        if weight_decay:
            raise gradus.Error(f"[Adam] has no weight decay, got {weight_decay}. Hint: AdamW has one.")
        super().__init__(params, lr, weight_decay=0.0, **options)


def __getattr__(name):
    from gradus.torch import missing
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing("torch.optim", name, globals())
