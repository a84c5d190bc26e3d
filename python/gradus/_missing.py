"""What is said of names of PyTorch that are not here."""
from __future__ import annotations

import difflib
from typing import Any, Callable


def missing(owner: str, names: dict[str, Any]) -> Callable[[str], Any]:
    """A module's __getattr__: an AttributeError with the name and the nearest among `names`."""
    def get(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        near = difflib.get_close_matches(name, [n for n in names if not n.startswith("_")], 1, 0.6)
        hint = f" The nearest is {owner}.{near[0]}." if near else ""
        raise AttributeError(f"gradus has no {owner}.{name}.{hint} docs/coming-from-pytorch.md lists what there is.")
    return get
