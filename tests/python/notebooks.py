"""Runs the cells of a notebook and compares what they print with the stored outputs."""
import ast
import contextlib
import io
import json
import math
import re
import sys

import gradus.torch

NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")


def display(value):
    """The text that a notebook shows for the last expression of a cell."""
    if type(value) is tuple and "\n" in repr(value):
        return "(" + ",\n ".join(display(v).replace("\n", "\n ") for v in value) + ")"
    return repr(value)


def run_cell(source, space):
    """What a cell prints, then the text of its last expression."""
    printed = io.StringIO()
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), space)
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), space) if last else None
    return printed.getvalue(), None if value is None else display(value)


def stored(cell):
    """The outputs of a cell in the file, in the same form."""
    printed, value = "", None
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            printed += "".join(output["text"])
        else:
            value = "".join(output["data"]["text/plain"])
    return printed, value


def agrees(got, want):
    """The same characters; of a number with seven or more decimals the last may differ, which depends on the order of sums."""
    if got == want or got is None or want is None:
        return got == want
    if NUMBER.sub("#", got).replace(" ", "") != NUMBER.sub("#", want).replace(" ", ""):
        return False
    return all(a == b or (max(len(n.partition(".")[2]) for n in (a, b)) >= 7 and math.isclose(float(a), float(b), rel_tol=3e-7, abs_tol=3e-7))
               for a, b in zip(NUMBER.findall(got), NUMBER.findall(want)))


def differences(path, change=lambda source: source):
    """For each cell that prints otherwise: its number, what it must print and what it prints."""
    gradus.torch.set_masks("default")
    sys.modules.pop("gradus.torch.mkl", None)  # which sets them when it is imported
    space, wrong = {"__name__": "__main__"}, []
    with open(path, encoding="utf-8") as file:
        cells = [c for c in json.load(file)["cells"] if c["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        got, want = run_cell(change("".join(cell["source"])), space), stored(cell)
        if not all(map(agrees, got, want)):
            wrong.append((number, want, got))
    return wrong
