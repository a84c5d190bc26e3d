"""The operations under the names of torch.nn.functional."""
from . import _core

globals().update({name: getattr(_core, name) for name in dir(_core)
                  if type(getattr(_core, name)).__name__ == "operation" and not name.endswith(("_", "_of"))})
