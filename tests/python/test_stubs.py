"""The stubs: each name that they have exists at run time, and the reverse; mypy --strict accepts them and the examples."""
import ast
import importlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types
import unittest

import gradus
import gradus.torch

FOLDER = pathlib.Path(gradus.__file__).parent
MODULES = ["gradus", "gradus._core", *(f"gradus.{m}" for m in "autograd conform data gradcheck models nn nn.functional nn.utils optim replay torch".split())]


def stub_of(module):
    path = FOLDER.joinpath(*module.__name__.split(".")[1:])
    return ast.parse((path / "__init__.pyi" if (path / "__init__.pyi").exists() else path.with_suffix(".pyi")).read_text())


def names(body):
    """The names that a module or class of a stub defines."""
    found = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            found.add(node.target.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {a.asname for a in node.names if a.asname}
    return found


def public(values):
    return {n for n, v in values.items() if not n.startswith("_") and not (isinstance(v, types.ModuleType) and not v.__name__.startswith("gradus"))}


class Stubs(unittest.TestCase):
    def test_names_are_those_at_run_time(self):
        from_elsewhere = {"Any", "Callable", "Iterator", "Sequence", "OrderedDict", "namedtuple", "dataclass", "field", "annotations", "Path"}
        for name in MODULES:
            module = importlib.import_module(name)
            stub = stub_of(module)
            with self.subTest(name):
                self.assertEqual({n for n in names(stub.body) if not hasattr(module, n)}, set())
                self.assertEqual(public(vars(module)) - names(stub.body) - from_elsewhere - {"gradus", "torch"}, set())
            for node in stub.body:
                if isinstance(node, ast.ClassDef):
                    cls = getattr(module, node.name)
                    methods = {f.name for f in node.body if isinstance(f, ast.FunctionDef)}
                    with self.subTest(f"{name}.{node.name}"):
                        self.assertEqual({m for m in methods if not hasattr(cls, m)}, set())
                        if not issubclass(cls, BaseException):
                            self.assertEqual(public(vars(cls)) - names(node.body), set())

    def test_they_are_made_without_numpy(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(FOLDER, pathlib.Path(folder, "gradus"))
            pathlib.Path(folder, "numpy.py").write_text("raise ImportError('none')", encoding="utf-8")
            program = pathlib.Path(__file__).parents[2] / "python/stubs.py"
            done = subprocess.run([sys.executable, "-B", program, folder], env={"PYTHONPATH": folder}, capture_output=True, text=True)
            self.assertEqual(done.stderr + done.stdout, "")
            self.assertEqual(done.returncode, 0)

    def test_types_of_an_operation(self):
        text = (FOLDER / "_core" / "__init__.pyi").read_text()
        self.assertIn("def gather(input: _core.Tensor, dim: builtins.int, index: _core.Tensor) -> _core.Tensor: ...", text)
        self.assertIn("def shape(self) -> _types.Size: ...", text)
        self.assertTrue((FOLDER / "py.typed").exists())

    @unittest.skipIf(shutil.which("mypy") is None, "mypy is not installed")
    def test_mypy(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "examples.py")
            path.write_text(EXAMPLES)
            notebooks = []
            for notebook in sorted((pathlib.Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb")):
                cells = [c for c in json.loads(notebook.read_text())["cells"] if c["cell_type"] == "code"]
                notebooks.append(pathlib.Path(folder, f"notebook_{notebook.stem[0]}.py"))
                notebooks[-1].write_text("\n".join("".join(c["source"]) for c in cells) + "\n")
            self.assertEqual(len(notebooks), 5)
            for what in (["-p", "gradus"], [str(path)], list(map(str, notebooks))):
                run = subprocess.run([shutil.which("mypy"), "--strict", "--cache-dir", folder + "/cache", *what], capture_output=True, text=True,
                                     cwd=FOLDER.parent, env={"MYPYPATH": str(FOLDER.parent), "PATH": "/usr/bin:/bin"})
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            path.write_text("import gradus\ngradus.tensor([1.0]).softmax('x')\ngradus.rellu\n")
            run = subprocess.run([shutil.which("mypy"), "--strict", "--cache-dir", folder + "/cache", str(path)], capture_output=True, text=True,
                                 env={"MYPYPATH": str(FOLDER.parent), "PATH": "/usr/bin:/bin"})
            self.assertIn("Found 2 errors", run.stdout)


EXAMPLES = '''
from __future__ import annotations

import gradus
import gradus.torch as torch
from gradus import nn, optim
from gradus.torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = [nn.Linear(width, width) for _ in range(2)]
        self.norm = nn.LayerNorm(width)

    def forward(self, x: gradus.Tensor) -> gradus.Tensor:
        for layer in self.layers:
            x = gradus.relu(layer(x))
        y: gradus.Tensor = self.norm(x)
        return y


class Cube(gradus.Function):
    @staticmethod
    def forward(ctx: object, x: gradus.Tensor) -> gradus.Tensor:
        return x**3


model = Block(4)
optimizer = optim.AdamW(model.parameters(), lr=0.01)
x = gradus.randn(8, 4)
for inputs, targets in DataLoader(TensorDataset(x, x.argmax(1)), batch_size=2, shuffle=True):
    loss = gradus.cross_entropy(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
values, indices = x.topk(2)
mask = torch.triu(torch.ones(3, 3), diagonal=1).bool()
scores = (x[:3] @ x[:3].T).masked_fill(mask, -torch.inf)
print(f"{loss.item():.3f}", x.shape[0], 1 - x * 2 > 0, indices, torch.softmax(scores, dim=-1), x.grad is None)
with torch.no_grad():
    print(torch.nn.functional.gelu(x), torch.manual_seed(1), gradus.jacobian(lambda t: t * t, x[0]))
'''

if __name__ == "__main__":
    unittest.main()
