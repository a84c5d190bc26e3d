"""torch.set_printoptions: tensors in PyTorch's form, with another precision or without powers of ten."""
import math

import gradus

_plain = gradus.Tensor.__repr__
_options = {"precision": 4, "sci_mode": None, "linewidth": 80, "threshold": 1000, "edgeitems": 3}
_defaults = dict(_options)


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """How tensors are printed from here on. sci_mode: whether in powers of ten; None lets the numbers decide. profile: "default",
    "short" (two decimals) or "full" (all elements)."""
    if profile is not None:
        _options.update(_defaults, **{"short": {"precision": 2, "threshold": 1000, "edgeitems": 2}, "full": {"threshold": math.inf},
                                      "default": {}}[profile])
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({name: value for name, value in given.items() if value is not None}, sci_mode=sci_mode)
    gradus.Tensor.__repr__ = _plain if _options == _defaults else _repr


def _format(values):
    """(function from a number to its text, width) for these numbers."""
    precision, sci = _options["precision"], _options["sci_mode"]
    if not isinstance(values[0], float):
        return str, max(len(str(v)) for v in values)
    some = [abs(v) for v in values if math.isfinite(v) and v != 0]
    whole = all(v == int(v) for v in some)
    if sci is None and some:
        low, high = min(some), max(some)
        sci = high / low > 1000 and not whole or high > 1e8 or low < 1e-4 and not whole
    def text(v):
        if not math.isfinite(v):
            return str(v)
        return f"{v:.{precision}e}" if sci else f"{v:.0f}." if whole else f"{v:.{precision}f}"
    return text, max(len(text(v)) for v in values)


def _rows(x, text, width, indent, summarize):
    edge = _options["edgeitems"]
    cut = summarize and x.dim() and x.shape[0] > 2 * edge
    places = [*range(edge), None, *range(x.shape[0] - edge, x.shape[0])] if cut else range(x.shape[0] if x.dim() else 0)
    if x.dim() == 0:
        return text(x.item())
    if x.dim() > 1:
        parts = ["..." if i is None else _rows(x[i], text, width, indent + 1, summarize) for i in places]
        return "[" + ("," + "\n" * (x.dim() - 1) + " " * (indent + 1)).join(parts) + "]"
    parts = [" ..." if i is None else text(x[i].item()).rjust(width) for i in places]
    each = max(1, int((_options["linewidth"] - indent) // (width + 2)))
    lines = [", ".join(parts[i:i + each]) for i in range(0, len(parts), each)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _repr(self):
    label = "Parameter containing:\n" if type(self) is gradus.Parameter else ""
    if self.numel() == 0:
        return _plain(self)
    x = self.detach()
    summarize = x.numel() > _options["threshold"]
    text, width = _format(_shown(x, summarize))
    suffix = _plain(self.reshape(-1)[:0] if self.is_leaf else self).rpartition("]")[2]  # ", grad_fn=<...>)"
    body = "tensor(" + _rows(x, text, width, 7, summarize)
    if self.is_leaf and self.requires_grad:
        suffix = ", requires_grad=True)"
    return label + body + suffix


def _shown(x, summarize):
    """The elements that are printed."""
    edge = _options["edgeitems"]
    for d in range(x.dim() if summarize else 0):
        if x.shape[d] > 2 * edge:
            x = gradus.cat([x.narrow(d, 0, edge), x.narrow(d, x.shape[d] - edge, edge)], d)
    return x.reshape(-1).tolist()
