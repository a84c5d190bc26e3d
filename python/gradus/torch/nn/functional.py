"""torch.nn.functional: the functions of layers and losses."""
import gradus
from gradus import (binary_cross_entropy_with_logits, cross_entropy, dropout, embedding, gelu, huber_loss, kl_div, l1_loss, layer_norm,
                    linear, log_softmax, mish, mse_loss, nll_loss, one_hot, relu, rms_norm, rotary_embedding,
                    scaled_dot_product_attention, sigmoid, silu, smooth_l1_loss, softmax, softplus, tanh)

for _name in ("avg_pool1d", "avg_pool2d", "batch_norm", "conv1d", "conv2d", "fold", "group_norm", "max_pool1d", "max_pool2d", "unfold"):
    if hasattr(gradus, _name):  # of the annex layers
        globals()[_name] = getattr(gradus, _name)


def normalize(input, p=2.0, dim=1, eps=1e-12):
    """input / max(norm(input), eps), along dim."""
    return input / gradus.norm(input, p, dim, True).clamp(min=eps)


def logsigmoid(input):
    """log(sigmoid(input))."""
    return -softplus(-input)


def binary_cross_entropy(input, target, weight=None, reduction="mean"):
    """-(target log(input) + (1 - target) log(1 - input)) of probabilities; logarithms are at least -100, as in PyTorch."""
    loss = -(target * input.log().clamp(min=-100.0) + (1 - target) * (1 - input).log().clamp(min=-100.0))
    loss = loss if weight is None else loss * weight
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def __getattr__(name):
    from gradus.torch import missing
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing("torch.nn.functional", name, globals())
