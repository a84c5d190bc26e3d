"""gradus.torch with the dropout masks of a PyTorch that was built with MKL, on an Intel processor: `import gradus.torch.mkl as torch`."""
import sys

import gradus.torch

gradus.torch.set_masks("mkl")
sys.modules[__name__] = gradus.torch
