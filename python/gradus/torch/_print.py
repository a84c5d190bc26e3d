"""torch.set_printoptions: how tensors are printed."""
import math

import gradus
from gradus import _core

_profiles = {"default": (4, 1000, 3), "short": (2, 1000, 2), "full": (4, math.inf, 3)}
_options = {}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """How tensors are printed from here on. precision: digits after the point. sci_mode: whether in powers of ten; None lets the
    numbers decide. threshold: more elements are summarized, with edgeitems at each end. profile: "default", "short" or "full"."""
    if precision is not None and not 0 <= precision <= 60:
        raise gradus.Error(f"[set_printoptions] precision must be from 0 to 60, got {precision}.")
    if profile is not None:
        _options.update(zip(("precision", "threshold", "edgeitems"), _profiles[profile]), linewidth=80)
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({name: value for name, value in given.items() if value is not None}, sci_mode=sci_mode)
    gradus.Tensor.__repr__ = lambda self: _core.torch_string(self, **_options)
