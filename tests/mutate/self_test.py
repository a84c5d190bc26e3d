#!/usr/bin/env python3
"""Tests of mutate.py itself, with a project that exists on paper only. Needs no compiler and takes a second."""
import shutil
import signal
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import mutate  # noqa: E402
import operators  # noqa: E402

SOURCE = '''#include <vector>
namespace gradus {
using T = int;

// a < b && c in a comment
int f(int a, int b) {
  const char* s = "a < b && !c";  // 1 + 2
  if (a < b) return 0;
  int sum = a + 10;
  sum += b;
  g(a, b);
  return a > 0 ? a : b;
}
bool g(std::vector<int> x) { return !x.empty() && x[0] == '<'; }
}  // namespace gradus
'''


def changes(source=SOURCE):
    return {(m.line, m.new) for m in operators.mutants_of("nn/f.cpp", source)}


class Operators(unittest.TestCase):
    def test_what_is_changed(self):
        wanted = {(8, "if (a <= b) return 0;"), (8, "if (!(a < b)) return 0;"), (8, "if (a < b) return 1;"),
                  (9, "int sum = a - 10;"), (9, "int sum = a + 11;"), (10, "sum -= b;"), (10, ";"), (11, "g(b, a);"),
                  (11, ";"), (12, "return a >= 0 ? a : b;"), (12, "return a > 1 ? a : b;"), (12, "return a > 0 ? b : a;"),
                  (14, "bool g(std::vector<int> x) { return x.empty() && x[0] == '<'; }"),
                  (14, "bool g(std::vector<int> x) { return !x.empty() || x[0] == '<'; }"),
                  (14, "bool g(std::vector<int> x) { return !x.empty() && x[1] == '<'; }"),
                  (14, "bool g(std::vector<int> x) { return !x.empty() && x[0] != '<'; }")}
        self.assertEqual(changes(), wanted)

    def test_equal_lines_are_told_apart(self):
        twice = "void f() {\n  a = 1;\n  b();\n  a = 1;\n}"
        dropped = [m for m in operators.mutants_of("x.cpp", twice) if m.new == ";" and m.old == "a = 1;"]
        self.assertEqual([(m.line, m.nth) for m in dropped], [(2, 1), (4, 2)])
        self.assertEqual(operators.apply(dropped[1], twice), twice[::-1].replace(";1 = a", ";", 1)[::-1])
        self.assertEqual(len({m.id for m in dropped}), 2)
        moved = "\n\n" + twice  # an id does not depend on what stands above
        self.assertEqual({m.id for m in operators.mutants_of("x.cpp", moved)},
                         {m.id for m in operators.mutants_of("x.cpp", twice)})

    def test_lists(self):
        listed = operators.parse_list("# why\n# so\nnn/f.cpp @2\n- a = 1;\n+ a = 2;\n\nnn/f.cpp\n- b();\n+", "l", "planted")
        self.assertEqual([(m.file, m.nth, m.old, m.new, why) for m, why in listed],
                         [("nn/f.cpp", 2, "a = 1;", "a = 2;", "why so"), ("nn/f.cpp", 1, "b();", ";", "")])
        for wrong in ("nn/f.cpp\n- a", "nn/f.cpp\n+ a\n- b"):
            self.assertRaises(ValueError, operators.parse_list, wrong, "l", "planted")

    def test_the_lists_say_why_and_fit_the_sources(self):
        for name in ("planted.txt", "equivalent.txt"):
            for mutant, comment in mutate.read_list(name, name):
                with self.subTest(f"{name}: {mutant.file}: {mutant.old}"):
                    self.assertTrue(comment, "needs a comment that says why")
                    self.assertIsNotNone(mutate.room_of(mutant.file))
                    operators.apply(mutant, (mutate.ROOT / mutant.file).read_text())


class Choice(unittest.TestCase):
    def test_a_seed_always_chooses_the_same(self):
        ids = lambda seed: [m.id for m in mutate.choose(mutate.ROOT, 150, seed, None)]
        self.assertEqual(ids("1"), ids("1"))
        self.assertNotEqual(ids("1"), ids("2"))
        self.assertEqual(len(set(ids("1"))), 150)

    def test_a_changed_line_takes_only_its_own_mutants_out(self):
        before = {m.id for m in mutate.choose(mutate.ROOT, 200, "1", ["data/*"]) if m.kind != "planted"}
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "data"
            shutil.copytree(mutate.ROOT / "data", copy, ignore=shutil.ignore_patterns("cache"))
            changed = copy / "text.cpp"
            changed.write_text(changed.read_text() + "int f(int a, int b) { return a < b ? a + 1 : b; }\n")
            after = {m.id for m in mutate.choose(Path(folder), 200, "1", ["data/*"]) if m.kind != "planted"}
        self.assertLess(len(before - after), 10)

    def test_every_room_has_its_share(self):
        chosen = [m for m in mutate.choose(mutate.ROOT, 100, "1", None) if m.kind != "planted"]
        rooms = [mutate.room_of(m.file) for m in chosen]
        for room in mutate.SAMPLED:
            self.assertGreaterEqual(rooms.count(room), len(rooms) // len(mutate.SAMPLED))

    def test_only(self):
        chosen = mutate.choose(mutate.ROOT, 10, "1", ["data/*"])
        self.assertEqual({mutate.room_of(m.file) for m in chosen}, {"data"})

    def test_the_kernels_of_one_level_are_found(self):
        for file in ("autograd/kernels/CMakeLists.txt", "autograd/kernels/isa/isa.hpp"):
            text = (mutate.ROOT / file).read_bytes()
            self.assertNotEqual(mutate.Project.one_level(file, text), text)


class Paper(mutate.Project):
    """Its tests fail as the mutant's new line says."""

    def __init__(self, root):
        super().__init__(root, 1)
        (self.tree / "nn").mkdir(parents=True)
        self.write("nn/f.cpp", b"a\nb\n")
        self.ran = []

    def text(self):
        return (self.tree / "nn/f.cpp").read_text()

    def build(self, *targets):
        return "error" if "broken" in self.text() else None

    def objects(self, file):
        return self.text().replace("same", "a")

    def stages(self, file):
        return [("nn", "[#test_f]"), ("nn", "~[soak]"), ("models", "~[soak]")]

    def run(self, room, spec):
        self.ran.append((room, spec))
        words = self.text().split()[0].split("_")  # seen in a room, with a code
        if words[0] == room:
            return int(words[1]), "test_f.cpp:3" if int(words[1]) > 0 else "", 0.1
        return 0, "", 0.1


class Verdicts(unittest.TestCase):
    def judge(self, new):
        with tempfile.TemporaryDirectory() as folder:
            project = Paper(Path(folder))
            verdict = project.judge(operators.Mutant("nn/f.cpp", 1, "a", new, 1, "planted"))
            self.assertEqual(project.text(), "a\nb\n")  # the original is back
            return (*verdict, len(project.ran))

    def test_all(self):
        self.assertEqual(self.judge("broken"), ("did not compile", "", 0))
        self.assertEqual(self.judge("same"), ("same program", "", 0))
        self.assertEqual(self.judge("nn_42"), ("killed", "test_f.cpp:3", 1))
        self.assertEqual(self.judge("models_1"), ("killed", "test_f.cpp:3", 3))
        self.assertEqual(self.judge(f"nn_-{int(signal.SIGXCPU)}"), ("timeout", "tests of nn", 1))
        self.assertEqual(self.judge(f"nn_-{int(signal.SIGSEGV)}"), ("crashed", "tests of nn (SIGSEGV)", 1))
        self.assertEqual(self.judge("unseen"), ("survived", "", 3))

    def test_a_stopped_run_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            results = mutate.Results(Path(folder) / "results.tsv")
            first = operators.Mutant("nn/f.cpp", 1, "a", "nn_1", 1, "planted")
            results.add(first, "killed", "test_f.cpp:3")
            again = mutate.Results(results.path)
            self.assertEqual(again.verdicts, {first.id: ("killed", "test_f.cpp:3")})
            project = Paper(Path(folder))
            second = operators.Mutant("nn/f.cpp", 2, "b", "unseen", 1, "planted")
            mutate.run(project, [first, second], again, set())
            self.assertEqual(again.verdicts[second.id][0], "survived")
            self.assertEqual(len(project.ran), 3)
            self.assertEqual(mutate.report([first, second], again.verdicts, set()), 1)
            self.assertEqual(mutate.report([first, second], again.verdicts, {second.key}), 0)


if __name__ == "__main__":
    sys.stdout = open("/dev/null", "w")  # what the script prints; unittest writes to the other stream
    unittest.main()
