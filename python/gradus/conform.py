"""gradus conform: compares operations and their gradients with PyTorch's answers, case by case.

A case has inputs and PyTorch's outputs, gradients and gradients of gradients. Each case
runs in float64 on packed, transposed, stepped and expanded inputs, and in float32
against float64. Intended differences from PyTorch are reported with the reason. Exits
with 3 if a case differs. annexes/cases/README.md describes the file format.

Examples:
  gradus conform tests/annexes/cases/conform
  gradus conform tests/annexes/cases/conform/opinfo.jsonl --op softmax
"""
import argparse
import contextlib
import inspect
import json
import math
import pathlib
import re
import struct
import sys

import gradus
import gradus.torch as torch
import gradus.torch.nn.functional as F

DTYPES = {"f32": torch.float32, "f64": torch.float64, "i64": torch.int64, "bool": torch.bool}
# The types of the fields of a file; those that are not here are comments.
TYPES = {name: kinds for names, *kinds in [
    ("id op name dtype error", str), ("shape data outputs cotangents steps in text", list), ("args grads grad2 v weights", dict),
    ("inputs expected value", list, dict), ("out", str, list), ("requires_grad", bool), ("atol rtol", float, int),
    ("manual_seed", int, type(None))] for name in names.split()}


# -- reading

@contextlib.contextmanager
def errors_at(verb, place):
    """Makes what goes wrong inside a gradus.Error with the place in a file."""
    try:
        yield
    except KeyError as e:
        raise gradus.Error(f"[{verb}] {place} must have a field {e}.") from None
    except gradus.Error as e:
        raise gradus.Error(f"[{verb}] {place}: " + re.sub(r"^\[[a-z_]*\] ", "", str(e))) from None
    except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RuntimeError, MemoryError) as e:
        raise gradus.Error(f"[{verb}] {place} must follow annexes/cases/README.md, got {type(e).__name__}: {e}.") from None


def each_case(file, verb):
    """(object, place, line) of each case of a file, which is a list or has one on each line. Throws gradus.Error if it is no JSON."""
    def once(pairs):
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a key twice in an object")
        return dict(pairs)

    def parsed(text, place):
        try:
            return json.loads(text, object_pairs_hook=once)
        except json.JSONDecodeError as e:
            got = repr(text[e.pos]) if e.pos < len(text) else "the end"
            raise gradus.Error(f"[{verb}] {place} must be JSON, got {got} at line {e.lineno}, column {e.colno}: {e.msg}.") from None
        except (RecursionError, ValueError) as e:
            raise gradus.Error(f"[{verb}] {place} must be JSON, got {e}.") from None

    try:
        with open(0 if str(file) == "-" else file, "rb", closefd=str(file) != "-") as stream:
            text = stream.read().decode()
    except (OSError, UnicodeDecodeError) as e:
        raise gradus.Error(f"[{verb}] {file} must be a file of JSON, got {getattr(e, 'strerror', e)}.") from None
    if text.lstrip()[:1] == "[":
        return [(c, f"{file}: cases[{i}]", i + 1) for i, c in enumerate(parsed(text, file))]
    return [(parsed(line, f"{file}:{i}"), f"{file}:{i}", i) for i, line in enumerate(text.split("\n"), 1) if line.strip()]


def check_fields(what, record, names):
    """Throws gradus.Error unless a record is an object, its fields have names among these, and each has a type of TYPES."""
    if type(record) is not dict:
        raise gradus.Error(f"{what} must be an object, got {record!r:.60}.")
    for name, value in record.items():
        if name not in names.split():
            raise gradus.Error(f"{what} must have no field {name!r}.")
        if type(value) not in (kinds := TYPES.get(name, [type(value)])):
            raise gradus.Error(f"{name} of {what} must be of type {' or '.join(kind.__name__ for kind in kinds)}, got {value!r:.60}.")


def tensor(record, others=""):
    """A tensor of a file; `others` are fields that it may have beside its own. Without a dtype it is one that holds its data."""
    check_fields("a tensor", record, "dtype shape data " + others)
    data, shape = record["data"], record["shape"]
    kinds, strange = {type(x) for x in data}, {x for x in data if type(x) is str} - {"nan", "inf", "-inf"}
    dtype = record.get("dtype", "bool" if kinds == {bool} else "i64" if kinds == {int} else "f64")
    right = {"bool": {bool}, "i64": {int}, "f32": {float, int, str}, "f64": {float, int, str}}.get(dtype)
    if strange or right is None or kinds - right or {type(n) for n in shape} - {int} or len(data) != math.prod(shape):
        raise ValueError(f"a tensor of {dtype} with {len(data)} elements for shape {tuple(shape)}{''.join(f' and {x!r}' for x in strange)}")
    return torch.tensor([float(x) for x in data] if dtype[0] == "f" else data, dtype=DTYPES[dtype]).reshape(shape)


# -- operations

def index(tensors, index):
    """The first of tensors by name, with subscripts that may name others."""
    makers = {"int": int.__index__, "slice": lambda v: slice(*v), "tensor": lambda v: tensors[v],
              "newaxis": lambda v: None, "ellipsis": lambda v: ...}
    return next(iter(tensors.values()))[tuple(makers[kind](value) for (kind, value), in map(dict.items, index))]


def masked_fill(x, mask, value):
    return x.masked_fill(mask if mask.dtype == torch.bool else mask != 0, value)


def attention(q, k, v, mask=None, is_causal=False, scale=None, enable_gqa=False):
    if is_causal and q.size(-2) != k.size(-2):  # in PyTorch query i sees the keys up to i
        seen, is_causal = torch.ones(q.size(-2), k.size(-2)).tril() != 0, False
        mask = (seen if mask is None else torch.where(seen, mask, torch.tensor(False)) if mask.dtype == torch.bool
                else mask.masked_fill(seen == 0, -math.inf))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)


def div_sqrt(x, n):
    return x / struct.unpack("f", struct.pack("f", math.sqrt(n)))[0]


def dropout(x, p, rng="default", train=True):
    torch.set_masks(rng)
    return F.dropout(x, p, train)


def batch_norm(x, running_mean=None, running_var=None, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    copies = (t.clone() if t is not None and training else t for t in (running_mean, running_var))
    return F.batch_norm(x, *copies, weight, bias, training, momentum, eps)


def gives_tensors(f):
    """Whether f is an operation: a row of the library's table, or a function of nn.functional, whose result is tensors."""
    is_function = inspect.isfunction(f) and f.__module__ == F.__name__
    kind = f.__types__[-1] if isinstance(f, type(torch.add)) else str(inspect.signature(f).return_annotation) if is_function else ""
    return "Tensor" in kind or kind in ("ValuesAndIndices", "%")  # %: one or several


# All operations; by name those that PyTorch calls otherwise than f(first, name=value, ...).
OPERATIONS = {
    **{name: f for module in (torch, F) for name, f in vars(module).items() if gives_tensors(f)},
    "__getitem__": index,
    "batch_norm": batch_norm,
    **{f.__name__: (lambda f: lambda x, other: f(x, other))(f) for f in (torch.mm, torch.bmm, torch.matmul, torch.pow)},
    "discard": lambda n: torch.discard(n),
    "div_sqrt": div_sqrt,
    "dropout": dropout,
    "einsum": lambda tensors, equation: torch.einsum(equation, *tensors),
    "embedding": lambda weight, index, padding_idx=None: F.embedding(index, weight, padding_idx),
    "embedding_init": lambda num, dim: torch.nn.Embedding(num, dim).weight,
    "eq": lambda x, value: x == value,
    "expand": lambda x, shape: x.expand(tuple(shape)),
    "linear_init": lambda in_features, out_features, bias=True: list(torch.nn.Linear(in_features, out_features, bias).parameters()),
    "manual_seed": lambda seed: torch.manual_seed(int.__index__(seed)) and None,
    "masked_fill": masked_fill,
    "raw32": torch.raw32,
    **dict.fromkeys(("reshape", "view"), lambda x, shape: x.reshape(tuple(shape))),
    "scaled_dot_product_attention": attention,
    "scatter": lambda x, dim, index, src=None, value=None: torch.scatter(x, dim, index, value if src is None else src),
    "slice": lambda x, dim=0, start=0, end=None, step=1: x[(slice(None),) * (dim % x.dim()) + (slice(start, end, step),)],
    "split": lambda x, size, dim=0: x.split(size, dim),
    "to_bool": lambda x: x.bool(),
    "uniform": lambda shape, lo, hi, dtype=torch.float32: torch.empty(shape, dtype=dtype).uniform_(lo, hi),
    "where": lambda condition, x, other: torch.where(condition, x, other),
}


def function(op):
    """The function of an operation. Throws gradus.Error for an unknown name."""
    if op not in OPERATIONS:
        raise gradus.Error(f"[conform] op must be a known operation, got {op!r}. Hint: annexes/cases/README.md lists them.")
    return OPERATIONS[op]


def bound(op, args, tensors):
    """The call of an operation, which returns its results in a list. `args` is as in a file; `tensors` is a dictionary by parameters, or
    pairs of any name and a tensor in the order of the parameters that `args` leaves. Throws gradus.Error for another signature."""
    f, known = function(op), inspect.signature(function(op)).parameters
    pairs = [*(tensors.items() if isinstance(tensors, dict) else tensors)]
    args = {k: v for k, v in args.items() if v is not None and not ("tensors" in known and (k, v) == ("count", len(pairs)))}
    given = [("size" if k == "shape" and k not in known else k,
              DTYPES.get(v, v) if k == "dtype" else float(v) if v in ("inf", "-inf", "nan") else v) for k, v in args.items()]
    if "tensors" in known:
        given.append(("tensors", dict(pairs) if f is index else [x for _, x in pairs]))
    elif isinstance(tensors, dict):  # the first may have any name
        given += [(n if n in known else [*known][0], x) for n, x in pairs]
    else:
        given += zip([n for n in known if n not in dict(given)] + [""] * len(pairs), [x for _, x in pairs])
    needed = {n for n, p in known.items() if p.default is p.empty}
    if len(dict(given)) < len(given) or not needed <= dict(given).keys() <= known.keys() or args.get("dtype", "f32") not in DTYPES:
        raise gradus.Error(f"[{op}] must be called as {op}({', '.join(known)}), got {len(pairs)} tensors and {str(args):.99}.")

    def call():
        y = f(**dict(given))
        return [] if y is None else list(y) if isinstance(y, (list, tuple)) else [y]
    return call


# -- comparison: an infinity equals itself alone, NaN equals NaN alone, and the shapes must be equal

def flat(x):
    return x.detach().reshape(-1).tolist()


def distance(a, b):
    if a == b or (a != a and b != b):
        return 0.0
    return max(1.0, float(abs(a - b))) if isinstance(a, int) else math.inf if math.isnan(a - b) else abs(a - b)


def compare(got, want, same, rule):
    """(largest distance, message); the message is empty if same(x, y, distance) holds for all elements."""
    if got.dtype != want.dtype:
        return math.inf, f"dtype must be {want.dtype.name}, got {got.dtype.name}"
    if tuple(got.shape) != tuple(want.shape):
        return math.inf, f"shape must be {tuple(want.shape)}, got {tuple(got.shape)}"
    xs, ys = flat(got), flat(want)
    ds = [distance(x, y) for x, y in zip(xs, ys)]
    wrong = [i for i, d in enumerate(ds) if not same(xs[i], ys[i], d)]
    if not wrong:
        return max(ds, default=0.0), ""
    digits = ".9g" if got.dtype == torch.float32 else ".17g"
    x, y = (format(v[wrong[0]], digits) if isinstance(v[wrong[0]], float) else str(v[wrong[0]]).lower() for v in (xs, ys))
    place = [str(wrong[0] // math.prod(got.shape[d + 1:]) % n) for d, n in enumerate(got.shape)]
    return max(ds), (f"{'element [' + ', '.join(place) + ']' if place else 'the element'} must be {y}{rule}, got {x}; "
                     f"{len(wrong)} of {len(xs)} differ, the worst by {max(ds):.3g}")


def compare_numbers(got, want, allowed, rule, pardon=None, any_dtype=False):
    """Each element within allowed(|expected|), or pardoned."""
    if any_dtype and got.dtype != want.dtype:
        both = torch.float32 if got.dtype == torch.float32 and want.is_floating_point() else torch.float64
        got, want = got.to(both), want.to(both)
    return compare(got, want, lambda x, y, d: d == 0 or (math.isfinite(d) and d <= allowed(abs(y))) or bool(pardon and pardon(x, y)), rule)


def compare_answer(got, want, tolerance, pardon):
    """What differs. float32 may be compared with float64; then the tolerance is that of the largest element, because cancellation
    gives small ones the same error."""
    if got is None:
        return "there must be one, got none"
    is_rounded = got.dtype == torch.float32 and want.dtype == torch.float64
    scale = max([1, *(abs(v) for v in flat(want.float()) if math.isfinite(v))]) if is_rounded else 1
    rule = f" within {tolerance:g} max({scale:g}, |expected|)"
    return compare_numbers(got, want, lambda y: tolerance * max(scale, y), rule, pardon, is_rounded)[1]


# -- intended differences from PyTorch: the reason, whether it applies to a case, and which numbers it pardons

def has(test, name):
    return lambda c: any(x.dtype == torch.float64 and any(map(test, flat(x))) for n, x in c.inputs.items() if n == name)


def lost_by_dividing_first(c):
    """The largest |x| / sqrt(var + eps) of a row: rounding grows by it if the mean is subtracted after the division."""
    x, dims = c.inputs["x"], tuple(range(-len(c.args["normalized_shape"]), 0))
    return (x.abs() * (torch.var(x, dim=dims, correction=0, keepdim=True) + c.args.get("eps", 1e-5)).rsqrt()).max().item() if x.numel() else 1


def no_target(c):
    return c.inputs["target"].dtype == torch.int64 and set(flat(c.inputs["target"])) <= {c.args.get("ignore_index", -100)}


def number_for_nan(c, got, expected):
    return math.isfinite(got) and math.isnan(expected)


def within_rounding(c, got, expected):
    return abs(got - expected) <= 8 * 2**-53 * lost_by_dividing_first(c) * max(1, abs(expected))


CONVENTIONS = {
    "scaled_dot_product_attention": ("a query that may attend to nothing gives 0, not NaN", lambda c: "mask" in c.inputs),
    "logsumexp": ("a slice of nothing but -inf has gradient 0, not NaN", has(math.isinf, "x")),
    "cross_entropy": ("the mean over no targets has second derivatives of 0, not NaN", no_target),
    "std": ("a constant slice has second derivatives of 0, not NaN", lambda c: any(0 in flat(y) for y in c.outputs)),
    "pow": ("0 to a constant power has second derivatives, not NaN", has(lambda x: x == 0, "x")),
    "gelu": ("the limits at infinity, not NaN, also of the cube", has(lambda x: math.isinf(x * x * x), "x")),
    "silu": ("the limits at infinity, not NaN", has(math.isinf, "x")),
    "norm": ("where x or the norm is 0, second derivatives are 0, not NaN", has(lambda x: x == 0, "x")),
    "kl_div": ("a target of 0 has the gradient -x, not NaN", has(lambda x: x == 0, "target")),
    "layer_norm": ("x - mean is taken before it is divided, which keeps the digits PyTorch loses where the mean is large",
                   lambda c: lost_by_dividing_first(c) > 100, within_rounding),
}


# -- the forms of inputs

def same(x):
    return x


def transposed(x):
    """Stored with the dimensions in reverse order."""
    order = tuple(range(x.dim() - 1, -1, -1))
    return x.permute(*order).contiguous().permute(*order) if order else x


def stepped(x):
    """Every other element of a larger tensor, from the second on; the rest is NaN, or a number that is no index."""
    wide = [2 * n + 1 for n in x.shape] or [3]
    part = torch.full(wide, math.nan if x.is_floating_point() else -10**9, dtype=x.dtype)[tuple(slice(1, n - 1, 2) for n in wide)]
    part = part if x.dim() else part[0]
    part.copy_(x)
    return part


def expanded(x):
    """The first slice along the first dimension longer than 1, repeated without a copy."""
    d = next((d for d, n in enumerate(x.shape) if n > 1), None)
    return x if d is None or not x.is_floating_point() else x.narrow(d, 0, 1).expand(*x.shape)


def rounded(x):
    return x.float() if x.is_floating_point() else x


class Case:
    """A call of an operation with PyTorch's answers."""

    def __init__(self, c, file, place, line):
        fails = isinstance(c, dict) and "error" in c
        check_fields("a case", c, "id op origin inputs args " + ("error" if fails else "outputs cotangents grads grad2"))
        self.id, self.op, self.file, self.line, self.args = c["id"], c["op"], file, line, c["args"]
        self.place, self.differences, self.convention, self.error = place, [], None, c.get("error")
        self.inputs = {r["name"]: tensor(r, "name requires_grad") for r in c["inputs"]}
        if len(self.inputs) < len(c["inputs"]):
            raise ValueError("two inputs of one name")
        self.leaves = [r["name"] for r in c["inputs"] if r.get("requires_grad")]
        bound(self.op, self.args, self.inputs)
        if self.error is not None:
            return
        self.outputs, self.cotangents = ([tensor(r) for r in c[key]] for key in ("outputs", "cotangents"))
        grads, self.v = self.by_input(c["grads"]), None
        self.answers = {"grad ": grads}
        if "grad2" in c:
            check_fields("grad2", second := c["grad2"], "v grads cotangents")
            if len(second["cotangents"]) != len(self.cotangents):
                raise gradus.Error(f"grad2 must have {len(self.cotangents)} cotangents, as the case, got {len(second['cotangents'])}.")
            self.v = self.by_input(second["v"])
            self.answers |= {"recorded grad ": grads, "grad2 ": self.by_input(second["grads"]), "grad2 of cotangent ":
                             {i: None if r is None else tensor(r) for i, r in enumerate(second["cotangents"])}}

    def by_input(self, records):
        if extra := set(records) - set(self.inputs):
            raise ValueError(f"{extra.pop()!r}, which is no input")
        return {n: tensor(records[n]) if n in records else None for n in self.inputs}

    def answer(self, change, others=None):
        """Outputs, and gradients by their names in a report, of inputs and, by `others`, cotangents in another form."""
        others = others or change
        inputs = {n: change(t).detach() for n, t in self.inputs.items()}
        leaves = {n: inputs[n].requires_grad_() for n in self.leaves}
        outputs = bound(self.op, self.args, inputs)()
        floats = [y for y in outputs if y.is_floating_point()]
        if len(floats) != len(self.cotangents):
            raise gradus.Error(f"[conform] there must be a cotangent for each of {len(floats)} floating outputs, got {len(self.cotangents)}.")
        cotangents = [others(t).detach().requires_grad_() for t in self.cotangents]
        pairs = [(y, c) for y, c in zip(floats, cotangents) if y.requires_grad]
        if not pairs or not leaves:
            return outputs, {}

        def gradients(of, to, given, **options):
            return torch.autograd.grad(of, to, given, allow_unused=True, **options)

        ys, gys = zip(*pairs)
        found = {"grad ": dict(zip(leaves, gradients(ys, list(leaves.values()), gys, retain_graph=bool(self.v))))}
        if not self.v:
            return outputs, found
        found["recorded grad "] = first = dict(zip(leaves, gradients(ys, list(leaves.values()), gys, create_graph=True)))
        chosen = [(g, others(self.v[n])) for n, g in first.items() if self.v[n] is not None and g is not None and g.requires_grad]
        wanted = [*leaves.values(), *cotangents]
        second = gradients([g for g, _ in chosen], wanted, [v for _, v in chosen]) if chosen else [None] * len(wanted)
        second = [torch.zeros_like(w) if g is None else g for g, w in zip(second, wanted)]
        return outputs, found | {"grad2 ": dict(zip(leaves, second)), "grad2 of cotangent ": dict(enumerate(second[len(leaves):]))}

    def differs(self, run, what, message):
        self.differences.append({"run": run, "what": what, "message": message})

    def pardon(self, got, expected):
        reason, applies, pardons = (*CONVENTIONS.get(self.op, ("", lambda c: False)), number_for_nan)[:3]
        if not applies(self) or not pardons(self, got, expected):
            return False
        self.convention = reason
        return True

    def compare(self, run, ours, theirs, tolerance):
        if len(ours[0]) != len(theirs[0]):
            return self.differs(run, "outputs", f"there must be {len(theirs[0])}, got {len(ours[0])}")
        for what, got, want in [("output ", *(dict(enumerate(ys)) for ys in (ours[0], theirs[0]))),
                                *((what, ours[1].get(what, {}), want) for what, want in theirs[1].items())]:
            for name, y in want.items():
                x = got.get(name)
                message = (compare_answer(x, y, tolerance, self.pardon) if y is not None else
                           "there must be none or zeros, for nothing depends on it" if x is not None and any(flat(x)) else "")
                if message:
                    self.differs(run, f"{what}{name}", message)

    def run(self):
        """Runs in one form after the other, up to the first that differs. Throws gradus.Error for a call that cannot be made."""
        if self.error is not None:
            with contextlib.suppress(gradus.Error, TypeError, ValueError, IndexError):
                bound(self.op, self.args, self.inputs)()
                self.differs("contiguous", "error", f"there must be one as PyTorch's '{self.error}', got none")
            return
        theirs = self.outputs, self.answers
        runs = {"contiguous": lambda: (self.answer(same), theirs, 1e-12), "transposed": lambda: (self.answer(transposed), theirs, 1e-12),
                "stepped": lambda: (self.answer(stepped), theirs, 1e-12),
                "expanded": lambda: (self.answer(expanded, same), self.answer(lambda t: expanded(t).contiguous(), same), 1e-12),
                "float32": lambda: (self.answer(rounded), self.answer(lambda t: rounded(t).to(t.dtype)), 1e-5)}
        for run, parts in runs.items():
            try:
                self.compare(run, *parts())
            except gradus.Error as e:
                self.differs(run, "error", str(e))
            if self.differences:
                return


# -- the command

def conform(where, op=None):
    """The cases of a file, or of all *.jsonl of a folder, of all operations or of one; each has run. Throws gradus.Error with file
    and line if a file does not follow the format, and if there is no case to run."""
    folder, cases = pathlib.Path(where), []
    files = sorted(folder.glob("*.jsonl")) if folder.is_dir() else [where]
    if not files:
        raise gradus.Error(f"[conform] a folder must hold files called *.jsonl, got none in {where}.")
    if op:
        function(op)
    for file in files:
        for c, place, line in each_case(file, "conform"):
            with errors_at("conform", place):
                cases.append(Case(c, str(file), place, line))
    cases = [c for c in cases if op in (None, c.op)]
    if not cases:
        raise gradus.Error(f"[conform] {where} must have a case to run, got none{f' of {op}' if op else ''}.")
    for c in cases:
        with errors_at("conform", c.place):
            c.run()
    return cases


def run_main(main):
    """The exit code of a command: its own, or 2 after one line for what it cannot run, 1 if its output cannot be written."""
    try:
        code = main()
        if sys.stdout is None:
            raise OSError(0, "a closed file")
        sys.stdout.flush()
        return code
    except gradus.Error as e:
        print(f"gradus: {e}", file=sys.stderr)
        return 2
    except (OSError, UnicodeEncodeError) as e:
        sys.stdout = None  # What is left in its buffer cannot be written at the end either.
        if not isinstance(e, BrokenPipeError):
            print(f"gradus: [output] the standard output must be writable, got '{getattr(e, 'strerror', e)}'.", file=sys.stderr)
        return 1


def main(words=None):
    parser = argparse.ArgumentParser("gradus conform", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("where", metavar="DIR|FILE", help="a file of cases, or a folder of *.jsonl")
    parser.add_argument("--op", metavar="NAME", help="run only the cases of this op")
    parser.add_argument("--json", action="store_true", help="print a JSON line for each failing case, and one at the end")
    flags = parser.parse_args(words)
    cases = conform(flags.where, flags.op)
    failed, excused = [c for c in cases if c.differences], [c for c in cases if c.convention and not c.differences]
    if flags.json:
        for c in failed:
            print(json.dumps({"id": c.id, "op": c.op, "file": c.file, "line": c.line, "passed": False, "run": c.differences[0]["run"],
                              "differences": [{k: d[k] for k in ("what", "message")} for d in c.differences]}, separators=(",", ":")))
        print(json.dumps({"event": "done", "passed": len(cases) - len(failed), "failed": len(failed), "by_convention": len(excused)},
                         separators=(",", ":")))
        return 3 if failed else 0
    for c in cases:
        if c in excused:
            print(f"ok    {c.id} differs by convention: {c.convention}")
        if c.differences:
            print(f"FAIL  {c.id} ({c.file}:{c.line}) {c.differences[0]['run']}")
        for d in c.differences:
            print(f"      {d['what']}: {d['message']}")
    print(f"{len(cases) - len(failed):,} cases passed, {len(excused)} of them by convention; {len(failed):,} failed")
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(run_main(main))
