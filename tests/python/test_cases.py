"""conform and replay: PyTorch's files pass, a wrong number anywhere does not, and what cannot be read is one line."""
import contextlib
import copy
import inspect
import io
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import gradus
import gradus.torch as torch
from gradus import conform, replay

FILES = pathlib.Path(__file__).parents[1] / "annexes" / "cases"


def f64(*data):
    return {"dtype": "f64", "shape": [len(data)], "data": list(data)}


def product_case():
    """y = x * other of two vectors, right in all that it says."""
    return {"id": "mul/small", "op": "mul",
            "inputs": [{"name": "x", "requires_grad": True, **f64(2, 3)}, {"name": "other", "requires_grad": True, **f64(5, -1)}],
            "args": {}, "outputs": [f64(10, -3)], "cotangents": [f64(1, 10)], "grads": {"x": f64(5, -10), "other": f64(2, 30)},
            "grad2": {"v": {"x": f64(7, 1), "other": f64(0, 2)}, "grads": {"x": f64(0, 20), "other": f64(7, 10)},
                      "cotangents": [f64(35, 5)]}}


def small():
    """One case of two steps, y = x * x and z = x * y."""
    def f32(*data):
        return {"dtype": "f32", "shape": [2, 2], "data": list(data)}
    return [{"name": "small", "inputs": {"x": f32(1, -2, 0.5, 3)},
             "steps": [{"op": "mul", "in": ["x", "x"], "out": "y", "value": f32(1, 4, 0.25, 9)},
                       {"op": "mul", "in": ["x", "y"], "out": "z", "expected": {"shape": [2, 2], "data": [1, -8, 0.13, 27]},
                        "atol": 0.01, "rtol": 0.0}]}]


def changed(value, path, to=None):
    """A copy with another value at a path of keys; without the key for `del`."""
    value = copy.deepcopy(value)
    *way, last = path
    inner = value
    for key in way:
        inner = inner[key]
    if to is del_:
        del inner[last]
    elif isinstance(inner, list) and last == len(inner):
        inner.append(to)
    else:
        inner[last] = to
    return value


del_ = object()


def call(module, *words):
    """(exit code, what is printed, errors) of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = conform.run_main(lambda: module.main(list(map(str, words))))
    return code, out.getvalue(), err.getvalue()


class Cases(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def written(self, text, name="cases.jsonl"):
        path = self.folder / name
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        return path

    def refused(self, module, words, *parts):
        code, out, err = call(module, *words)
        self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
        for part in parts:
            self.assertIn(part, err)


class Conform(Cases):
    def difference(self, case):
        found = conform.conform(self.written(case))[0].differences
        return f"{found[0]['run']} {found[0]['what']}: {found[0]['message']}" if found else ""

    def test_every_case_that_pytorch_answered_passes(self):
        code, out, err = call(conform, FILES / "conform", "--json")
        self.assertEqual((code, err), (0, ""), out[-3000:])
        self.assertEqual(json.loads(out), {"event": "done", "passed": 1080, "failed": 0, "by_convention": 20})

    def test_one_op_and_one_file(self):
        self.assertEqual(call(conform, FILES / "conform" / "errors.jsonl"), (0, "35 cases passed, 0 of them by convention; 0 failed\n", ""))
        self.assertEqual(call(conform, FILES / "conform", "--op", "embedding"), (0, "6 cases passed, 0 of them by convention; 0 failed\n", ""))
        _, out, _ = call(conform, FILES / "conform" / "opinfo.jsonl", "--op=layer_norm")
        self.assertTrue(out.startswith("ok    layer_norm/0007 differs by convention: x - mean is taken before"))
        self.assertTrue(out.endswith("\n6 cases passed, 1 of them by convention; 0 failed\n"))

    def test_a_wrong_answer_anywhere_is_a_difference_that_says_where(self):
        good = product_case()
        self.assertEqual(self.difference(good), "")
        once = {k: v for k, v in good.items() if k != "grad2"}
        self.assertIn("error: [conform] there must be a cotangent for each", self.difference(once | {"cotangents": []}))
        for path, to, words in [
                (("outputs", 0, "data", 1), -3.1, "contiguous output 0: element [1] must be -3.1000000000000001 within 1e-12 "
                 "max(1, |expected|), got -3; 1 of 2 differ, the worst by 0.1"),
                (("grads", "x", "data", 0), 5.00000001, "contiguous grad x: element [0]"),
                (("grads", "other", "data", 0), "nan", "grad other: element [0] must be nan within 1e-12 max(1, |expected|), got 2"),
                (("grad2", "grads", "other", "data", 1), "inf", "grad2 other: element [1] must be inf"),
                (("grad2", "cotangents", 0, "data", 0), 34, "grad2 of cotangent 0: element [0]"),
                (("grads", "x"), del_, "grad x: there must be none or zeros"),
                (("inputs", 0, "requires_grad"), False, "grad x: there must be one, got none"),
                (("outputs", 1), f64(10, -3), "outputs: there must be 2, got 1"),
                (("outputs", 0, "shape"), [2, 1], "output 0: shape must be (2, 1), got (2,)"),
                (("outputs", 0), {"dtype": "i64", "shape": [2], "data": [10, -3]}, "output 0: dtype must be int64, got float64"),
                (("inputs", 1), {"name": "other", "requires_grad": True, **f64(1, 2, 3)}, "contiguous error: [mul]")]:
            with self.subTest(words):
                self.assertIn(words, self.difference(changed(good, path, to)))

    def test_what_differs_is_told_and_the_exit_code_is_3(self):
        file = self.written(json.dumps(product_case()) + "\n" + json.dumps(changed(product_case(), ("grads", "x", "data", 1), -10.5)) + "\n")
        code, out, _ = call(conform, file)
        what = "must be -10.5 within 1e-12 max(1, |expected|), got -10; 1 of 2 differ, the worst by 0.5\n"
        self.assertEqual((code, out), (3, f"FAIL  mul/small ({file}:2) contiguous\n      grad x: element [1] {what}"
                                       f"      recorded grad x: element [1] {what}1 cases passed, 0 of them by convention; 1 failed\n"))
        code, out, _ = call(conform, file, "--json")
        failed, done = map(json.loads, out.splitlines())
        self.assertEqual((failed["id"], failed["op"], failed["line"], failed["run"], failed["differences"][0]["what"]),
                         ("mul/small", "mul", 2, "contiguous", "grad x"))
        self.assertEqual((code, done), (3, {"event": "done", "passed": 1, "failed": 1, "by_convention": 0}))

    def test_a_call_that_must_fail_and_does_not_is_a_difference(self):
        case = {k: v for k, v in product_case().items() if k in ("id", "op", "inputs", "args")} | {"error": "must match"}
        self.assertEqual(self.difference(case), "contiguous error: there must be one as PyTorch's 'must match', got none")
        self.assertEqual(self.difference(changed(case, ("inputs", 1, "data"), [1, 2, 3]) | {"inputs": [case["inputs"][0], {"name": "other", **f64(1, 2, 3)}]}), "")
        self.assertEqual(self.difference(case | {"op": "maximum", "inputs": case["inputs"][:1], "args": {"other": "2"}}), "")

    def test_a_call_of_another_signature_is_no_call_that_must_fail(self):
        case = {"id": "softmax/dim", "op": "softmax", "inputs": [{"name": "x", **f64(1, 2)}], "args": {"dim": 5}, "error": "dimension"}
        self.assertEqual(self.difference(case), "")
        pair = [{"name": f"tensors.{i}", **f64(1, 2)} for i in range(2)]
        for changes in [{"args": {"dimm": 5}}, {"args": {"dim": 5, "out": 1}}, {"args": {"dim": 5, "count": 1}},
                        {"inputs": []}, {"inputs": pair},
                        {"op": "cat", "inputs": pair, "args": {"dim": 5, "count": 3}}, {"op": "embedding", "args": {"padding": 1}},
                        {"op": "ones", "inputs": [], "args": {"shape": [-1], "size": [-1]}},
                        {"op": "ones", "inputs": [], "args": {"shape": [2], "dtype": "float32"}},
                        {"op": "pow", "args": {"other": "/", "f": "save"}}]:
            with self.subTest(changes):
                call = f"must be called as {changes.get('op', 'softmax')}("
                self.refused(conform, [self.written(case | changes)], "cases.jsonl:1: " + call)

    def test_only_operations_may_be_called(self):
        file = self.folder / "written"
        for op in ["save", "load", "load_file", "save_file", "from_file", "compile", "seed", "set_masks", "set_num_threads",
                   "set_rng_state", "set_printoptions", "graph_text", "Tensor", "Function", "nn", "_usual_dim", "missing", "__class__", ""]:
            with self.subTest(op):
                words = f"op must be a known operation, got {op!r}"
                self.refused(conform, [self.written({"id": "a", "op": op, "inputs": [], "args": {}, "error": ""})], words)
                self.refused(replay, [self.written(changed(small(), (0, "steps", 0, "op"), op))], words)
        for op, args in [("save", {"f": str(file)}), ("pow", {"other": str(file), "f": "save"}),
                         ("view", {"size": [str(file)], "f": "tofile"})]:
            self.refused(replay, [self.written(changed(small(), (0, "steps", 2), {"op": op, "in": ["x"], "args": args}))], "steps[2]")
        self.assertFalse(file.exists())

    def test_the_operations_of_the_page_have_the_arguments_that_it_gives(self):
        page = (FILES.parents[2] / "annexes/cases/README.md").read_text()
        rows = re.findall(r"^\| `(\w+)\((.*?)\)` \|", page, re.MULTILINE)
        self.assertGreater(len(rows), 100)
        for op, text in rows:
            known = [*inspect.signature(conform.function(op)).parameters]
            names = [re.split("[ =]", argument)[1] for argument in text.split(", ")]
            given = {"size" if n == "shape" and n not in known else n for n in names[names[0] not in ("shape", *known):]}
            self.assertLessEqual(given - {"x", "count"}, {*known}, op)

    def test_a_difference_by_convention_allows_only_a_number_for_nan(self):
        case = {"id": "silu/inf", "op": "silu", "inputs": [{"name": "x", **f64("-inf")}], "args": {}, "outputs": [f64("nan")],
                "cotangents": [f64(1)], "grads": {}}
        done, = conform.conform(self.written(case))
        self.assertEqual((done.differences, done.convention), ([], "the limits at infinity, not NaN"))
        self.assertIn("must be 1 within", self.difference(changed(case, ("outputs", 0, "data", 0), 1.0)))
        zero = changed(case, ("inputs", 0, "data", 0), 0.0)
        self.assertNotEqual(self.difference(zero), "")
        self.assertIsNone(conform.conform(self.written(zero))[0].convention)

    def test_the_page_lists_every_convention(self):
        page = (FILES.parents[2] / "annexes/cases/README.md").read_text()
        for reason, *_ in conform.CONVENTIONS.values():
            self.assertIn(reason, page)

    def test_fields_are_those_of_the_page_with_their_types(self):
        good = product_case()
        for path, to, words in [
                (("Grad2",), {}, "a case must have no field 'Grad2'"), (("grad2", "grad"), {}, "grad2 must have no field 'grad'"),
                (("outputs", 0, "requires_grad"), True, "no field 'requires_grad'"), (("grads", "x", "strides"), [1], "no field 'strides'"),
                (("inputs", 0, "requires_grad"), "false", "requires_grad of a tensor must be of type bool, got 'false'"),
                (("grads",), [], "grads of a case must be of type dict"), (("grad2",), None, "must be of type dict"),
                (("inputs", 0, "dtype"), "", "[conform]"), (("inputs", 0), 3, "[conform]"),
                (("inputs", 0, "shape"), [True, 2], "for shape (True, 2)"), (("inputs", 1, "name"), "x", "two inputs of one name"),
                (("inputs", 0), {"name": "x", "dtype": "i64", "shape": [1], "data": [2**70]}, "OverflowError"),
                (("grad2", "cotangents"), [], "grad2 must have 1 cotangents, as the case, got 0"), (("error",), "e", "no field 'outputs'")]:
            with self.subTest(path):
                self.refused(conform, [self.written(json.dumps(good) + "\n" + json.dumps(changed(good, path, to)))], "cases.jsonl:2", words)
        self.refused(conform, [self.written("[3]")], "cases[0]: a case must be an object, got 3")

    def test_what_cannot_be_run_is_one_line(self):
        bad, good = product_case() | {"op": "mull"}, json.dumps(product_case())
        self.refused(conform, [self.folder / "none.jsonl"], "No such file")
        self.refused(conform, [self.folder], "must hold files called *.jsonl")
        self.refused(conform, [self.written("")], "must have a case to run, got none")
        self.refused(conform, [FILES / "conform", "--op", "softmx"], "got 'softmx'")
        self.refused(conform, [FILES / "conform" / "errors.jsonl", "--op", "sum"], "got none of sum")
        self.refused(conform, [self.written(good + "\n" + json.dumps(bad))], "cases.jsonl:2: op must be a known operation, got 'mull'")
        self.refused(conform, [self.written("\n{")], "cases.jsonl:2 must be JSON")
        self.refused(conform, [self.written(good[:-1] + ', "id": 2}')], "must be JSON, got a key twice")
        self.refused(conform, [self.written('"' + "[" * 100000)], "must be JSON")
        self.refused(conform, [self.written("[" * 300000)], "must be JSON")
        for path, to in [(("args", "alpha"), 2), (("inputs", 1), {"name": "extra", **f64(1, 2)}), (("inputs", 1, "name"), "y"),
                         (("grads", "z"), f64(1, 2)), (("inputs", 0, "data"), [1, "two"]), (("inputs", 0, "data"), [1, 2, 3]),
                         (("inputs", 0, "dtype"), "f16"), (("inputs", 0, "dtpye"), "f64"), (("outputs",), 3), (("args",), 3),
                         (("inputs", 0, "shape"), [-2]), *(((key,), del_) for key in ("id", "op", "inputs", "args", "outputs", "grads"))]:
            with self.subTest(path):
                self.refused(conform, [self.written(good + "\n\n" + json.dumps(changed(product_case(), path, to)))], "cases.jsonl:3")


class Layouts(unittest.TestCase):
    def test_they_hold_the_same_values_in_other_places(self):
        x = gradus.arange(0, 24, dtype=gradus.float64).reshape(2, 3, 4)
        for form in (conform.transposed, conform.stepped):
            self.assertTrue(gradus.equal(form(x), x))
            self.assertFalse(form(x).is_contiguous())
            for shape in [(), (0, 2), (1,)]:
                self.assertEqual(form(gradus.zeros(shape, dtype=gradus.int64)).shape, shape)
        self.assertTrue(gradus.equal(conform.expanded(x), x[:1].expand(2, 3, 4)))
        self.assertEqual(conform.expanded(x).stride()[0], 0)


class Replay(Cases):
    def checks(self, cases):
        return [c for case in replay.replay(self.written(cases, "f.json")) for c in case.checks]

    def test_every_check_of_the_files_that_pytorch_made_passes(self):
        for name, count in [("golden", 368), ("torch", None), ("example", 13)]:
            code, out, err = call(replay, FILES / "replay" / f"{name}.json", "--json")
            *lines, done = map(json.loads, out.splitlines())
            wrong = [c for c in lines if not c["passed"] and c["check"] != "text"]  # a last digit needs fused multiply-adds
            self.assertEqual((wrong, err, done["passed"] + done["failed"]), ([], "", count or len(lines)))
            self.assertEqual(code, 3 if done["failed"] else 0)

    def test_people_are_told_how_each_case_went(self):
        example = FILES / "replay" / "example.json"
        last = "1 cases passed, 0 failed; 13 checks passed, 0 failed\n"
        self.assertEqual(call(replay, example), (0, "ok    causal weights: 13 checks passed\n" + last, ""))
        self.assertEqual(call(replay, example, "--quiet"), (0, last, ""))
        self.assertEqual(call(replay, example, "--case", "causal weights")[1], call(replay, example)[1])

    def test_the_first_step_that_differs_stands_before_what_follows_from_it(self):
        cases = json.loads((FILES / "replay" / "example.json").read_text())
        cases[0]["steps"][5]["args"]["diagonal"] = 0
        code, out, _ = call(replay, self.written(cases))
        lines = out.splitlines()
        self.assertEqual((code, len(lines), lines[0]), (3, 8, "FAIL  causal weights: 7 checks passed, 6 failed"))
        self.assertEqual(lines[1], "  >>  first difference: steps[5] triu -> mask, value: element [0, 0] must be 0 within 1e-06 max(1, "
                         "|expected|), got 1; 3 of 9 differ, the worst by 1")
        self.assertTrue(lines[2].startswith("  >>  first difference: steps[5] triu -> mask, text: line 1 must be 'tensor([[0., 1., 1.],'"))
        self.assertTrue(lines[3].startswith("      after it: steps[6] masked_fill -> masked, value: element [0, 0] must be 0.2822"))
        self.assertEqual(lines[-1], "0 cases passed, 1 failed; 7 checks passed, 6 failed")
        code, out, _ = call(replay, self.written(cases), "--json")
        first = json.loads(out.splitlines()[7])
        self.assertEqual((first["step"], first["check"], first["passed"], first["worst"]), (5, "value", False, 1.0))

    def test_a_result_must_have_the_dtype_that_the_file_gives(self):
        for path, dtype, data in [((0, "steps", 0, "value"), "f64", [1, 4, 0.25, 9]), ((0, "steps", 1, "expected"), "i64", [1, -8, 0, 27])]:
            cases = changed(small(), path, {"dtype": dtype, "shape": [2, 2], "data": data})
            bad, = (c for c in self.checks(cases) if not c["passed"])
            self.assertEqual((bad["worst"], bad["message"].split(",")[1]), (None, " got float32"))

    def test_tensors_fill_the_parameters_that_args_leaves(self):
        indices = {"dtype": "i64", "shape": [1, 2], "data": [1, 0]}
        exact = {"atol": 0, "rtol": 0}
        steps = [{"op": "gather", "in": ["x", "i"], "args": {"dim": 0}, "out": "y",
                  "expected": {"shape": [1, 2], "data": [0.5, -2]}, **exact},
                 {"op": "__getitem__", "in": ["x", "i"], "args": {"index": [{"tensor": "i"}, {"int": 0}]}, "out": "z",
                  "expected": {"shape": [1, 2], "data": [0.5, 1]}, **exact},
                 {"op": "cat", "in": ["y", "x"], "args": {"count": 2}, "out": "c",
                  "expected": {"shape": [3, 2], "data": [0.5, -2, 1, -2, 0.5, 3]}, **exact}]
        case = {"name": "indices", "inputs": {"x": small()[0]["inputs"]["x"], "i": indices}, "steps": steps}
        self.assertEqual([c["message"] for c in self.checks([case])], ["", "", ""])

    def test_texts_are_compared_in_the_form_they_have(self):
        x = torch.tensor([[1, 0.25], [-math.inf, 100]])
        for passes, *text in [
                (True, "tensor([[  1.0000,   0.2500],", "        [    -inf, 100.0000]])"),
                (True, "A label: tensor([[  1.0000,   0.2500],", "        [    -inf, 100.0000]])"),
                (False, "tensor([[  1.0000,   0.2500],", "        [    -inf, 100.0000]]) "),
                (True, " [[  1.     0.25]", " [  -inf 100.  ]]"), (False, " [[  1.     0.25]", " [  -inf 100.  ] ]"),
                (True, "m_1 = [[1, 0.2],", "  [-inf, 1e+02]]"), (True, "1.0, 0.25", "-inf, 100."), (False, "1.0, 0.25", "-inf, 101."),
                (False, "1.0, 0.25", "-inf"), (False, "1.0, 0.25", "-inf, 100, 7"), (False, "")]:
            with self.subTest(text):
                self.assertEqual(replay.compare_text(x, "\n".join(text))[1] == "", passes)
        self.assertEqual(replay.compare_text(torch.tensor([True, False]), "[True, False]")[1], "")
        weight = torch.nn.Parameter(torch.tensor([1.0]))
        self.assertEqual(replay.compare_text(weight, repr(weight))[1], "")
        self.assertNotEqual(replay.compare_text(torch.tensor([True, False]), "[True, True]")[1], "")

    def test_a_drawn_tensor_needs_a_seed_or_is_in_weights(self):
        cases = small()
        cases[0]["steps"] = [{"op": "linear_init", "args": {"in_features": 2, "out_features": 2, "bias": False}, "out": "W"},
                             {"op": "linear", "in": ["x", "W"], "out": "y", "value": {"dtype": "f32", "shape": [2, 2], "data": [-1, 2, 3.5, -3]}}]
        self.refused(replay, [self.written(cases)], "case 'small', steps[0] (linear_init): draws random numbers")
        cases[0]["weights"] = {"W": {"dtype": "f32", "shape": [2, 2], "data": [1, 1, 0, -1]}}
        self.assertEqual([c["passed"] for c in self.checks(cases)], [True])
        cases[0]["manual_seed"] = 1
        first = self.checks(cases)[0]
        self.assertEqual((first["check"], first["passed"]), ("weights", False))

    def test_what_cannot_be_replayed_is_one_line(self):
        example = json.loads((FILES / "replay" / "example.json").read_text())
        self.refused(replay, [self.folder / "none.json"], "No such file")
        self.refused(replay, [self.folder], "[replay]")
        self.refused(replay, [self.written("[{]")], "must be JSON, got ']' at line 1, column 3")
        self.refused(replay, [self.written("[]")], "must have something to check, got 0 cases")
        self.refused(replay, [FILES / "replay" / "example.json", "--case", "other"], "got 'other'")
        self.refused(replay, [self.written(changed(example, (0, "steps", 3, "in"), ["q", "q"]))], "steps[3] (matmul): ")
        for path, to, words in [
                ((0, "manual_seed"), 1.5, "cases[0]: manual_seed of a case must be of type int or NoneType, got 1.5"),
                ((0, "manual_seed"), "a", "got 'a'"), ((0, "steps", 0), 3, "steps[0]: a step must be an object, got 3"),
                ((0, "steps", 2), {"op": "manual_seed", "args": {"seed": 1.5}}, "steps[2] (manual_seed)"),
                ((0, "steps", 2), {"op": "manual_seed", "args": {"seed": 1}, "value": {"shape": [1], "data": [1]}}, "of 0 outputs"),
                ((0, "inputs", "x", "data", 0), 10**400, "OverflowError"), ((0, "steps", 0, "op"), ["mul"], "must be of type str"),
                ((0, "steps", 1, "expected", "dtpye"), 1, "no field 'dtpye'"),
                ((0, "steps", 1, "args"), {"out": 1}, "must be called as mul(input, other), got 2 tensors and {'out': 1}"),
                ((0, "name"), del_, "name"), ((0, "steps"), 3, "[replay]"), ((0, "stpes"), 3, "'stpes'"), ((0, "inputs", "x", "dtype"), "f16", "f16"),
                ((0, "inputs", "x", "data"), [1, 2, 3], "3 elements for shape (2, 2)"), ((0, "inputs", "x", "sahpe"), 1, "'sahpe'"),
                ((0, "steps", 1, "op"), "mull", "case 'small', steps[1]: op must be a known operation, got 'mull'"),
                ((0, "steps", 1, "expcted"), 1, "steps[1]: a step must have no field 'expcted'"),
                ((0, "steps", 1, "in"), ["x", "w"], "steps[1] (mul): needs a tensor 'w'"), ((0, "steps", 1, "in"), ["x"], "steps[1] (mul)"),
                ((0, "steps", 1, "args"), {"dim": 1}, "steps[1] (mul)"), ((0, "steps", 1, "out"), ["a", "b"], "gives 1 tensors, got 2 names"),
                ((0, "steps", 1, "rtol"), del_, "expected, atol and rtol"), ((0, "steps", 1, "atol"), -1, "at least 0"),
                ((0, "steps", 1, "text"), "1", "text of a step must be of type list")]:
            with self.subTest(path):
                self.refused(replay, [self.written(changed(small(), path, to))], words)


class Streams(Cases):
    def run_module(self, module, word, redirection=""):
        command = ["sh", "-c", f'"$@" {redirection}', "sh", sys.executable, "-BXutf8", "-m", f"gradus.{module}", str(word)]
        return subprocess.run(command, capture_output=True, text=True)

    def test_a_closed_stream_is_one_line(self):
        for module, file in [("conform", FILES / "conform" / "errors.jsonl"), ("replay", FILES / "replay" / "example.json")]:
            run = self.run_module(module, file, ">&-")
            line = "gradus: [output] the standard output must be writable, got 'a closed file'.\n"
            self.assertEqual((run.returncode, run.stdout, run.stderr), (1, "", line))
            run = self.run_module(module, "-", "<&-")
            self.assertEqual((run.returncode, run.stderr), (2, f"gradus: [{module}] - must be a file of JSON, got Bad file descriptor.\n"))

    def test_words_that_the_output_cannot_hold_are_one_line(self):
        run = self.run_module("conform", self.written(changed(product_case() | {"id": "\ud800"}, ("outputs", 0, "data", 0), 1)))
        self.assertEqual((run.returncode, run.stderr.count("\n")), (1, 1), run.stderr)


class Program(unittest.TestCase):
    """The verbs of the program, where it is built."""

    def setUp(self):
        self.program = os.environ.get("GRADUS_PROGRAM", "")
        if not os.access(self.program, os.X_OK):
            self.skipTest("needs the program, in GRADUS_PROGRAM")

    def run_program(self, *words, **environment):
        return subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, env={**os.environ, **environment})

    def test_python_does_them(self):
        run = self.run_program("replay", FILES / "replay" / "example.json", "--quiet")
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "1 cases passed, 0 failed; 13 checks passed, 0 failed\n", ""))
        run = self.run_program("conform", FILES / "conform" / "errors.jsonl", "--json")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(self.run_program("conform", "none").returncode, 2)

    def test_without_python_they_say_what_to_install(self):
        run = self.run_program("replay", "x.json", PATH="/nowhere")
        self.assertEqual(run.returncode, 2)
        self.assertIn("apt-get install python3-gradus", run.stderr)


if __name__ == "__main__":
    unittest.main()
