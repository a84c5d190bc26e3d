"""Makes `import torch` mean gradus.torch: ./gradus python puts the folder of this package on the path where GRADUS_AS_TORCH is set."""
import os
import sys

import gradus.torch

if os.environ.get("GRADUS_AS_TORCH") == "mkl":
    gradus.torch.set_masks("mkl")
for name in [n for n in sys.modules if n == "gradus.torch" or n.startswith("gradus.torch.")]:
    sys.modules[name.removeprefix("gradus.")] = sys.modules[name]
