"""stubs.py FOLDER: writes a .pyi beside each module of the package gradus in FOLDER, from what the modules hold when they run: the rows
of the C++ table with the types of their functions, and Python's own signatures."""
import ast
import importlib.util
import inspect
import pathlib
import re
import sys
import textwrap
import types

MODULES = """_core _core.init _core.layers _layer _missing _module _tensor _types _files autograd conform data gradcheck models nn nn.functional
nn.transformer nn.utils optim pytest_plugin replay torch""".split()
ALIASES = {"torch.nn": "nn", "torch.nn.functional": "nn.functional", "torch.nn.utils": "nn.utils", "torch.optim": "optim",
           "torch.autograd": "autograd", "torch.mkl": "torch", "torch.utils.data": "data"}
HEADER = "import builtins\nimport collections\nimport contextlib\nimport pickle\nimport typing\n\nimport gradus\nfrom gradus import _core, _layer, _module, _types\n\n"
HOMES = {"builtins": "int float bool str bytes list tuple dict set type object", "typing": "Any Callable Iterator Sequence Optional Union List "
         "Dict Tuple Set Literal", "_core": "Tensor Generator HookHandle Activations Tokenizer Error", "_types": "dtype Size Parameter ValuesAndIndices",
         "_module": "Module LoadReport", "_layer": "Layer TensorLayer", "collections": "OrderedDict UserDict", "contextlib": "ContextDecorator AbstractContextManager", "pickle": "Pickler Unpickler", "autograd": "Function"}
HOME = {name: f"{home}.{name}" for home, names in HOMES.items() for name in names.split()}
GENERIC = {"dict": "[typing.Any, typing.Any]", "tuple": "[typing.Any, ...]", "Callable": "[..., typing.Any]", "OrderedDict": "[typing.Any, typing.Any]", "UserDict": "[typing.Any, typing.Any]"}
KINDS = inspect.Parameter


def typed(text, owner=""):
    """A type of an annotation or of a row as it is written in a stub, where names of a module or class may hide others."""
    text = text if isinstance(text, str) else "Any" if text is KINDS.empty else getattr(text, "__name__", str(text))
    text = re.sub(r"gradus\.(python::|_core\.)?|os\.PathLike", lambda m: "Any" if m[0][0] == "o" else "", text)
    text = re.sub(r"%|Literal\['cpu'\]|std::\w+(<.*>)?|[\w]+::[\w:<>]+", "Any", text)
    text = re.sub(r"(?<![\w.'])([A-Za-z_]\w*)\b(?!')", lambda m: HOME.get(m[1], m[1]) if m[1] != owner else owner, text)
    text = re.sub(r"(builtins\.(?:list|set|type|dict|tuple)|typing\.Callable|collections\.(?:OrderedDict|UserDict)|contextlib\.AbstractContextManager)(?![\w\[])", lambda m: m[1] + GENERIC.get(
        m[1].split(".")[1], "[typing.Any]"), text)
    return text.replace("_types.dtype", "_types.dtype | builtins.str | builtins.type") if text.startswith("_types.dtype") else text


def signature_of(f, types_=None, is_method=False, owner=""):
    """The arguments of a callable and its result."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
        result = inspect.signature(f).return_annotation
    except ValueError:
        return "(self, *args: typing.Any, **options: typing.Any) -> typing.Any" if is_method else "(*args: typing.Any) -> typing.Any"
    parts, mark = [], False
    for i, p in enumerate(parameters):
        name = {KINDS.VAR_POSITIONAL: "*", KINDS.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name
        if p.kind is KINDS.KEYWORD_ONLY and not mark and not any(x.kind is KINDS.VAR_POSITIONAL for x in parameters[:i]):
            parts.append("*")
        mark = mark or p.kind is KINDS.KEYWORD_ONLY
        if is_method and i == 0:
            parts.append(p.name)
            continue
        kind = typed(types_[i].replace("List[", "Sequence[") if types_ else p.annotation, owner)
        optional = " | None" if p.default is None and "None" not in kind and "Any" not in kind else ""
        parts.append(f"{name}: {kind}{optional}" + ("" if p.default is KINDS.empty else " = ..."))
    result = types_[-1] if types_ else result
    result = {"int | S": "_types.Size", "Union[i": "typing.Any"}.get(str(result)[:7]) or typed(result, owner)  # size() gives one or all
    return f"({', '.join(parts)}) -> {result}"


def of_pybind(f, is_method):
    """The signature in the docstring of a function of pybind11."""
    found = re.match(r"\w+(\(.*\) -> .*)$", (f.__doc__ or "").split("\n")[0])
    text = found and re.sub(r"(= )(?!\.)[^,)]+", r"\1...", found[1])
    text = text and re.sub(r"self: [\w.]+", "self", re.sub(r"<.*?>", "...", re.sub(r"[\w:]+::[\w:<>, ]*(?=[,)\]]|$)", "Any", text)))
    try:
        ast.parse(f"def f{text}: ..." if text else "?")
    except SyntaxError:
        return "(self, *args: typing.Any, **options: typing.Any) -> typing.Any" if is_method else "(*args: typing.Any) -> typing.Any"
    head, result = text.rsplit(" -> ", 1)
    return re.sub(r": ([^,=)]+(?:\[[^\]]*\])?)", lambda m: ": " + typed(m[1]), head) + " -> " + typed(result)


def callable_line(name, f, is_method=False, owner=""):
    if name == "__repr__":
        return "def __repr__(self) -> builtins.str: ..."
    if type(f).__name__ == "operation":
        text = signature_of(f, f.__types__, is_method, owner)
        if name in ("__eq__", "__ne__"):
            return f"def {name}(self, other: builtins.object) -> _core.Tensor: ...  # type: ignore[override]"
    elif isinstance(f, (types.BuiltinFunctionType, types.MethodDescriptorType)) or type(f).__name__ == "instancemethod":
        text = of_pybind(f, is_method)
    else:
        text = signature_of(f, None, is_method, owner)
    note = "  # type: ignore[override]" if owner == "ModuleList" and name == "append" else ""  # it returns the list
    return f"def {name}{re.sub(' -> .*$', ' -> None', text) if name == '__init__' else text}: ...{note}"


def class_lines(name, cls):
    bases = ", ".join("builtins.tuple[typing.Any, ...]" if hasattr(b, "_fields") else b.__name__ if b.__module__ == cls.__module__ != "gradus._core"
                      and b.__name__ not in (name, *HOME) else typed(b.__name__) for b in cls.__bases__ if b.__name__ not in ("object", "pybind11_object"))
    lines = []
    is_exception = issubclass(cls, BaseException)
    skipped = {"__module__", "__doc__", "__dict__", "__weakref__", "__qualname__", "__annotations__", "__slots__", "__signature__"}
    for key, value in ({} if is_exception else vars(cls)).items():
        if key in skipped or key.startswith("_") and not key.startswith("__") or (name, key) == ("Tensor", "__getattr__"):
            continue
        if isinstance(value, property):
            read = value.fget
            lines += ["@builtins.property", callable_line(key, read, True).replace("(input)", "(self)")]
            if value.fset:
                lines += [f"@{key}.setter", f"def {key}(self, value: typing.Any) -> None: ..."]
        elif isinstance(value, (staticmethod, classmethod)):
            kind = type(value).__name__
            lines += [f"@{kind}", callable_line(key, value.__func__, kind == "classmethod", name)]
        elif key == "__hash__":
            lines.append("def __hash__(self) -> builtins.int: ...")
        elif callable(value) and not isinstance(value, type):
            lines.append(callable_line(key, value, True, name))
        elif not key.startswith("__"):
            lines.append(f"{key}: {typed(type(value).__name__) if type(value).__name__ in HOME else 'typing.Any'}")
    seen = {line.split("(")[0].split(":")[0].removeprefix("def ") for line in lines}
    try:
        source = ast.walk(ast.parse(textwrap.dedent(inspect.getsource(cls))))
    except (OSError, TypeError):
        source = ()
    for node in source:  # what methods set
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and getattr(node.value, "id", "") == "self":
            if not node.attr.startswith("_") and node.attr not in seen:
                seen.add(node.attr)
                lines.append(f"{node.attr}: typing.Any")
    note = "  # type: ignore[misc]" if {list, dict} & set(cls.__bases__[1:]) else ""  # Module hashes by identity
    return [f"class {name}{f'({bases})' if bases else ''}:{note}", *(f"    {line}" for line in lines or ["..."])]


def stub(module):
    lines = []
    for name, value in vars(module).items():
        home = getattr(value, "__module__", None)
        is_base = isinstance(value, type) and home == module.__name__
        if name.startswith("__") or (name.startswith("_") and module.__name__ != "gradus._core" and not is_base):
            continue
        if isinstance(value, types.ModuleType):
            if value.__name__.startswith("gradus") and value is not sys.modules["gradus"]:
                parent, _, last = value.__name__.rpartition(".")
                lines.append(f"from {parent} import {last} as {name}")
        elif home in ("typing", "__future__", "collections") or getattr(value, "_name", None):
            continue
        elif isinstance(value, type):
            if not str(home).startswith("gradus.") or getattr(sys.modules.get(home), value.__name__, None) is not value:
                homes = [f"gradus.{m}" for m in ("_core", "_types") if getattr(sys.modules[f"gradus.{m}"], name, None) is value]
                home = next(iter(homes), module.__name__)
            is_own = home == module.__name__
            lines += class_lines(name, value) if is_own else [f"from {home} import {value.__name__} as {name}"]
        elif type(value).__name__ == "operation":
            is_own = module.__name__.startswith("gradus._core")
            own_name = name if getattr(sys.modules["gradus._core"], name, None) is value else value.__name__
            lines.append(callable_line(name, value) if is_own else f"from gradus._core import {own_name} as {name}")
        elif callable(value) and inspect.isroutine(value):
            lines.append(callable_line(name, value) if home in (module.__name__, "gradus._missing", None) or home.startswith("gradus._core")
                         or not hasattr(sys.modules.get(home), name) else f"from {home} import {name} as {name}")
        else:
            kind = type(value)
            lines.append(f"{name}: {typed(kind.__name__) if kind.__name__ in HOME else 'typing.Any'}")
    return HEADER + "\n".join(lines) + "\n"


def write(folder, name, text, is_package=False):
    path = pathlib.Path(folder, *name.split("."))
    path = path / "__init__.pyi" if is_package else path.with_suffix(".pyi")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main(folder):
    sys.path.insert(0, str(folder))
    core = importlib.import_module("gradus._core")
    for name in ["", *MODULES]:
        full = f"gradus.{name}".rstrip(".")
        if name == "pytest_plugin" and importlib.util.find_spec("pytest") is None:
            continue
        module = getattr(core, name[6:]) if name.startswith("_core.") else importlib.import_module(full)
        write(folder, full, stub(module), hasattr(module, "__path__") or module is core)
    for name, other in ALIASES.items():
        write(folder, f"gradus.{name}", f"from gradus.{other} import *\n", name == "torch.nn")
    write(folder, "gradus.torch.utils", "from gradus import data as data\n", True)
    write(folder, "gradus.torch.utils.checkpoint", "from gradus import checkpoint as checkpoint\n")
    write(folder, "gradus.torch.testing", "from gradus.torch import assert_close as assert_close\n")
    pathlib.Path(folder, "gradus", "py.typed").write_text("")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
