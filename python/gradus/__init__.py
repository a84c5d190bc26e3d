"""gradus: reverse-mode autograd and small language models on a CPU, with PyTorch's names.

    import gradus
    x = gradus.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x).sum().backward()
    print(x.grad)  # tensor([2., 4., 6.])
"""
from __future__ import annotations

from . import _core, autograd, functional, nn, optim
from ._core import Error, Generator, RunError, Tokenizer, default_generator, graph_dot, graph_text, numpy_string
from ._types import (Parameter, Size, Tensor, bfloat16, bool_, dtype, float32, float64, int64, q4_0, q8_0)
from ._tensor import (_unpickled, allclose, arange, as_tensor, einsum, empty_like, equal, full, full_like, isclose,
                      linspace, manual_seed, ones_like, rand_like, randint, randn_like, repeat_interleave, tensor,
                      zeros_like)
from .gradcheck import gradcheck
from .models import (Decoder, Intervention, ablate, fit, load, load_file, patch, pretrained, save_file, scale, watch)
from .autograd import (Function, autocast, backward, checkpoint, detect_anomaly, enable_grad, grad, hessian, jacobian,
                       no_grad, set_grad_enabled)

_FUNCTIONS = [name for name in dir(_core) if type(getattr(_core, name)).__name__ == "operation"
              and not name.endswith("_of")]
globals().update({name: getattr(_core, name) for name in _FUNCTIONS})
from_numpy, from_dlpack = _core.from_numpy, _core.from_dlpack
is_grad_enabled, memory_bytes = _core.is_grad_enabled, _core.memory_bytes
get_num_threads, set_num_threads = _core.get_num_threads, _core.set_num_threads
t = Tensor.t
dot = Tensor.dot
