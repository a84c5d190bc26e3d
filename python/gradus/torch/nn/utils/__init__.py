"""torch.nn.utils: clipping of gradients."""
import gradus.nn


def clip_grad_norm_(parameters, max_norm):
    """Multiplies all gradients by max_norm / norm if that is below 1. Returns the norm of all of them together, a tensor."""
    return gradus.tensor(gradus.nn.clip_grad_norm_(parameters, max_norm))
