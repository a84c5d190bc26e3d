"""torch.nn.utils: clipping of gradients."""
import gradus


def clip_grad_norm_(parameters, max_norm, norm_type=2.0):
    """Multiplies the gradients by max_norm / (norm + 1e-6) if that is below 1; the norm is that of all of them together, and is
    returned."""
    parameters = [parameters] if isinstance(parameters, gradus.Tensor) else list(parameters)
    grads = [p.grad for p in parameters if p.grad is not None]
    if not grads:
        return gradus.tensor(0.0)
    total = gradus.norm(gradus.stack([gradus.norm(g, norm_type) for g in grads]), norm_type)
    scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for p in parameters:
        if p.grad is not None:
            p.grad.copy_(p.grad * scale)
    return total
