"""gradus: reverse-mode autograd and small language models on a CPU, with PyTorch's names.

    import gradus
    x = gradus.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x).sum().backward()
    print(x.grad)  # tensor([2., 4., 6.])
"""
from __future__ import annotations

from . import _core, autograd, data, lr_scheduler, nn, optim
from ._core import Error, Generator, RunError, Tensor, Tokenizer, default_generator
from ._types import TILES as _TILES, Parameter, Size, bfloat16, bool_, dtype, float32, float64, int64
from ._tensor import (allclose, as_tensor, bincount, diag, diagonal, einsum, equal, inner, isclose, linspace, manual_seed, median, meshgrid,
                      movedim, repeat_interleave, set_printoptions, tensor, trace, unique)
from .gradcheck import gradcheck
from .models import (Decoder, Intervention, ablate, fit, load, load_file, patch, pretrained, save_file, scale, watch)
from .autograd import (Function, autocast, backward, checkpoint, detect_anomaly, enable_grad, grad, hessian, jacobian,
                       no_grad, per_example_gradients, set_grad_enabled)

globals().update(_TILES)
globals().update({name: value for name, value in vars(_core).items()  # the operations
                  if type(value).__name__ == "operation" and not name.startswith("_")})
dot = Tensor.dot
