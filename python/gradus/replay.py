"""gradus replay: compares a computation with the results of PyTorch.

A case is a seed, named tensors, and steps with PyTorch's result of each: expected or value
(numbers within a tolerance), weights (bit for bit) or text (character for character). The first
step that differs is printed first. Exits with 3 if a step differs. annexes/cases/README.md
describes the file format.

Examples:
  gradus replay tests/annexes/cases/replay/example.json
  gradus replay mine.json --case attention --json
"""
import argparse
import json
import math
import re
import sys

import gradus
import gradus.torch as torch
from gradus.conform import bound, check_fields, compare, compare_numbers, each_case, errors_at, flat, function, run_main, tensor

CASE = "name seed_file kind system notes manual_seed inputs weights steps"
STEP = "op in args out expected atol rtol value text cell notes"
DRAWS = {"discard", "raw32", "rand", "uniform", "randn", "normal", "randint", "randperm", "multinomial", "bernoulli", "linear_init",
         "embedding_init", "dropout"}
# 12, -1.50, 2., 1e-05, inf, nan, True
NUMBER = re.compile(r"(?<![\w.])(?:True|False|-?(?:inf|nan|\d+(\.)?(\d*)(e[-+]?\d+)?))(?![\w.])")


# -- comparison

def written(x, match):
    """x in the form of a number in a text."""
    point, decimals, exponent = match.groups()
    if match[0] in ("True", "False") or not math.isfinite(x):
        return str(bool(x)) if match[0] in ("True", "False") else str(float(x))
    return f"{x:.{len(decimals or '')}{'e' if exponent else 'f'}}" + ("." if point and not decimals else "")


def compare_text(x, text):
    """What x prints: in PyTorch's or NumPy's form if `text` has one of these, after any label; else each number of the text, rounded
    to as many decimals."""
    start, bracket = text.find("tensor("), text.find("[" * x.dim())
    if start >= 0:
        ours = text[:start] + repr(x)[repr(x).find("tensor("):]  # a Parameter has a label of its own
    elif x.dim() > 0 and bracket >= 0 and "," not in text[bracket:]:
        ours = text[:bracket] + gradus.numpy_string(x)
    else:
        values, start = flat(x), max(text.find("["), 0)
        count = len(list(NUMBER.finditer(text, start)))
        if count != len(values):
            return math.inf, f"the text must have the {len(values)} numbers of {tuple(x.shape)}, got {count}"
        rest = iter(values)
        ours = text[:start] + NUMBER.sub(lambda match: written(next(rest), match), text[start:])
    lines = [*zip(ours.split("\n"), text.split("\n"))]
    if ours == text:
        return 0.0, ""
    i, (a, b) = next(((i, pair) for i, pair in enumerate(lines, 1) if pair[0] != pair[1]), (len(lines) + 1, ("missing", "missing")))
    return math.inf, f"line {i} must be {b!r}, got {a!r}"


def compare_bits(got, want):
    return compare(got, want, lambda x, y, d: d == 0 and math.copysign(1, x) == math.copysign(1, y), " bit for bit")


def compare_expected(step):
    atol, rtol = (float(step[key]) for key in ("atol", "rtol"))
    if not 0 <= atol < math.inf or not 0 <= rtol < math.inf:
        raise gradus.Error(f"atol and rtol must be finite numbers of at least 0, got {atol:g} and {rtol:g}.")
    rule = " exactly" if atol == rtol == 0 else f" within {atol:g} + {rtol:g} |expected|"
    return lambda got, want, any_dtype: compare_numbers(got, want, lambda y: atol + rtol * y, rule, any_dtype=any_dtype)


def compare_value(got, want, any_dtype):
    return compare_numbers(got, want, lambda y: 1e-6 * max(1.0, y), " within 1e-06 max(1, |expected|)", any_dtype=any_dtype)


# -- running

class Case:
    """A program, steps over named tensors. `run` fills `checks`, the verdicts on the results that the file gives."""

    def __init__(self, c):
        check_fields("a case", c, CASE)
        self.name, self.seed, self.steps, self.checks = c["name"], c.get("manual_seed"), list(c["steps"]), []
        self.weights = {n: tensor(r) for n, r in c.get("weights", {}).items()}
        self.tensors = {n: tensor(r) for n, r in c.get("inputs", {}).items()}
        for name, w in self.weights.items():  # a parameter, like those of linear_init
            self.tensors[name] = w.detach().requires_grad_() if w.is_floating_point() else w

    def run(self, file):
        if self.seed is not None:
            torch.manual_seed(self.seed)
        for i, step in enumerate(self.steps):
            place = f"{file}: case {self.name!r}, steps[{i}]"
            with errors_at("replay", place):
                check_fields("a step", step, STEP)
                function(step["op"])
            with errors_at("replay", f"{place} ({step['op']})"):
                self.run_step(i, step)

    def run_step(self, index, step):
        if len({key in step for key in ("expected", "atol", "rtol")}) > 1:
            raise gradus.Error("must have expected, atol and rtol, or none of them.")
        op, args, names, outs = step["op"], step.get("args", {}), step.get("in", []), step.get("out", [])
        outs = [outs] if isinstance(outs, str) else outs
        for name in names:
            if name not in self.tensors:
                raise gradus.Error(f"needs a tensor {name!r}, which no step before it has made.")
        call = bound(op, args, [(n, self.tensors[n]) for n in names])
        draws = op in DRAWS and (op != "dropout" or args.get("train") is not False and args["p"] > 0)
        is_given = draws and self.seed is None and outs and all(n in self.weights for n in outs)
        if draws and not is_given and self.seed is None:
            raise gradus.Error("draws random numbers, which needs a seed before, got none. Hint: give the case a manual_seed.")
        found = [self.tensors[n] for n in outs] if is_given else call()
        self.seed = args["seed"] if op == "manual_seed" else self.seed
        if len(found) != len(outs):
            raise gradus.Error(f"gives {len(found)} tensors, got {len(outs)} names in out.")
        wanted = {key: step[key] if isinstance(step[key], list) else [step[key]] for key in ("expected", "value") if key in step}
        for key, records in wanted.items():
            if len(records) != len(outs):
                raise gradus.Error(f"{key} must be a tensor for each of {len(outs)} outputs, got {len(records)}.")
        if "text" in step and len(outs) != 1:
            raise gradus.Error(f"text must be a list of lines for one output, got {len(outs)} outputs.")
        rules = {"expected": compare_expected(step) if "expected" in step else None, "value": compare_value}
        for i, (name, x) in enumerate(zip(outs, found)):
            self.tensors[name] = x
            if draws and not is_given and name in self.weights:
                self.check(index, op, name, "weights", *compare_bits(x, self.weights[name]))
            for key, records in wanted.items():
                self.check(index, op, name, key, *rules[key](x, tensor(records[i]), "dtype" not in records[i]))
            if "text" in step:
                self.check(index, op, name, "text", *compare_text(x, "\n".join(step["text"])))

    def check(self, step, op, out, kind, worst, message):
        self.checks.append({"case": self.name, "step": step, "op": op, "out": out, "check": kind, "passed": not message,
                            "worst": worst if math.isfinite(worst) else None, "message": message})


# -- the command

def replay(file, only=None):
    """The cases of a file, or the one of that name; each has run. Throws gradus.Error with file, case and step if the file does not
    follow the format, and if there is nothing to check."""
    cases = []
    for c, place, _ in each_case(file, "replay"):
        with errors_at("replay", place):
            cases.append(Case(c))
    chosen = [c for c in cases if only in (None, c.name)]
    if only and not chosen:
        raise gradus.Error(f"[replay] {file} must have the requested case, got {only!r} and {len(cases)} cases of other names.")
    for c in chosen:
        c.run(file)
    if not any(c.checks for c in chosen):
        raise gradus.Error(f"[replay] {file} must have something to check, got {len(chosen)} cases whose steps have neither expected, "
                           "value, text nor weights. Hint: annexes/cases/README.md describes the format.")
    return chosen


def show(case, failed, quiet):
    if not failed and not quiet:
        print(f"ok    {case.name}: {len(case.checks)} checks passed")
    if failed:
        print(f"FAIL  {case.name}: {len(case.checks) - len(failed)} checks passed, {len(failed)} failed")
    for c in failed:
        when = "  >>  first difference" if c["step"] == failed[0]["step"] else "      after it"
        print(f"{when}: steps[{c['step']}] {c['op']} -> {c['out']}, {c['check']}: {c['message']}")


def main(words=None):
    parser = argparse.ArgumentParser("gradus replay", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE", help="a file of cases in JSON")
    parser.add_argument("--case", metavar="NAME", help="run only the case of this name")
    parser.add_argument("--quiet", action="store_true", help="print only the cases that fail, and the last line")
    parser.add_argument("--json", action="store_true", help="print a JSON line for each check")
    flags = parser.parse_args(words)
    cases = replay(flags.file, flags.case)
    failed = [[c for c in case.checks if not c["passed"]] for case in cases]
    wrong, right = sum(map(len, failed)), sum(len(case.checks) for case in cases) - sum(map(len, failed))
    if flags.json:
        for line in [*(c for case in cases for c in case.checks), {"event": "done", "passed": right, "failed": wrong}]:
            print(json.dumps(line, separators=(",", ":"), ensure_ascii=False))
        return 3 if wrong else 0
    for case, checks in zip(cases, failed):
        show(case, checks, flags.quiet)
    print(f"{failed.count([])} cases passed, {len(cases) - failed.count([])} failed; {right:,} checks passed, {wrong:,} failed")
    return 3 if wrong else 0


if __name__ == "__main__":
    sys.exit(run_main(main))
