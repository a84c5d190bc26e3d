#!/usr/bin/env python3
"""Plants one fault at a time in a copy of gradus and looks whether the tests notice.

    python3 tests/mutate/mutate.py                      # 300 mutants, chosen by seed 1
    python3 tests/mutate/mutate.py --count 50 --seed 7 --only 'train/*'
    python3 tests/mutate/mutate.py --again survived     # after new tests
    python3 tests/mutate/mutate.py --list --only autograd/random/random.cpp

Only the file that was changed is compiled again; then run the test file of its name, the room's other tests, and
those of the rooms above, until one fails. Results are kept in the work folder, so
that a run that was stopped goes on. planted.txt holds mutants written by hand, which come first; equivalent.txt those
that no test can tell from the original, each with the reason. Exit code: 0 if none survived, 3 if one did.
"""
import argparse
import fnmatch
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import operators  # noqa: E402

# Where mutants are planted, and the rooms whose tests see each: their own first.
ROOMS = {
    "annexes/fast": ("annexes", "autograd", "nn", "models", "train", "cli"),
    "annexes": ("annexes", "cli"),
    "cli": ("cli", "annexes"),
    "train": ("train", "cli"),
    "models": ("models", "train", "cli", "annexes"),
    "nn": ("nn", "models", "train", "cli", "annexes"),
    "data": ("data", "train", "cli"),
    "files": ("files", "data", "nn", "models", "train", "cli"),
    "autograd/kernels": ("autograd", "nn", "models", "train", "cli", "annexes"),
    "autograd": ("autograd", "nn", "models", "train", "cli", "annexes"),
}
SAMPLED = ("annexes", "annexes/fast", "cli", "train", "models", "nn", "data", "files", "autograd/kernels")
# What measures or checks the library and is no part of what it computes.
LEFT_OUT = ("annexes/bench/*", "autograd/kernels/machine_peak.cpp", "autograd/gradcheck/cases/*", "annexes/layers/cases/*", "annexes/teach/*")
KILLED, ALIVE = ("killed", "crashed", "timeout"), ("survived",)
MEMORY = 12 << 30  # bytes that a test may take
POLL, STUCK = 5, 90  # seconds: a test that computes nothing for so long waits for ever


def room_of(file):
    return next((room for room in sorted(ROOMS, key=len, reverse=True) if file.startswith(room + "/")), None)


def files_of(root):
    """All files but what was built or made: without asking git, which may not be there."""
    found = []
    for folder, inner, files in os.walk(root):
        inner[:] = [d for d in inner if d not in (".git", "out", "cache", "__pycache__") and not d.startswith("build")]
        found += [str((Path(folder) / file).relative_to(root)) for file in files]
    return sorted(found)


def sources(root):
    """The files to plant in: sources, and the headers that a single source includes."""
    code = [f for f in files_of(root) if f.endswith(".cpp") or fnmatch.fnmatch(f, "*/loops/*.hpp")]
    return [f for f in code if room_of(f) and not any(fnmatch.fnmatch(f, pattern) for pattern in LEFT_OUT)]


def read_list(name, kind):
    return operators.parse_list((HERE / name).read_text(), name, kind)


def choose(root, count, seed, only):
    """The planted mutants, then a sample with as many of each room. A mutant's place in it depends on the seed and on
    itself alone: a line that changes takes its own mutants out of the sample and no other."""
    wanted = lambda file: not only or any(fnmatch.fnmatch(file, glob) for glob in only)
    planted = [m for m, _ in read_list("planted.txt", "planted") if wanted(m.file)]
    by_room = {room: [] for room in (ROOMS if only else SAMPLED)}
    known = {(m.file, m.old, m.new) for m in planted}  # What is planted may be what a sample would draw.
    for file in sources(root):
        if wanted(file) and room_of(file) in by_room:
            by_room[room_of(file)] += [m for m in operators.mutants_of(file, (root / file).read_text())
                                       if (m.file, m.old, m.new) not in known]
    for all_of_it in by_room.values():
        all_of_it.sort(key=lambda mutant: hashlib.sha256(f"{seed} {mutant.id}".encode()).digest())
    chosen = []
    left = max(0, count - len(planted))
    while len(chosen) < left and any(by_room.values()):
        for all_of_it in by_room.values():
            if all_of_it and len(chosen) < left:
                chosen.append(all_of_it.pop())
    return planted + chosen


def group_seconds(group):
    """CPU time of the living processes of a group."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def stop_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Project:
    """A copy of the sources with a build of its own."""

    def __init__(self, work, jobs, own_room=False):
        self.tree, self.build_folder, self.jobs = work / "tree", work / "tree" / "build", jobs
        self.work, self.own_room, self.costs = work, own_room, {}

    def copy(self):
        """Brings the copy up to date; files that did not change keep their times."""
        wanted = files_of(ROOT)
        for old in self.tree.rglob("*"):
            if old.is_file() and self.build_folder not in old.parents and str(old.relative_to(self.tree)) not in wanted:
                old.unlink()
        for file in wanted:
            self.write(file, self.one_level(file, (ROOT / file).read_bytes()))
            shutil.copymode(ROOT / file, self.tree / file)

    @staticmethod
    def one_level(file, data):
        """The kernels are compiled for one level only: all are made of the same lines."""
        level = b"v3" if "avx2" in Path("/proc/cpuinfo").read_text() else b"v2"
        for name, old, new in ((b"autograd/kernels/CMakeLists.txt", b"set(levels v2 v3 v4)", b"set(levels %s)" % level),
                               (b"autograd/kernels/isa/isa.hpp", b"X(v4) X(v3) X(v2)", b"X(%s)" % level)):
            if file.encode() == name:
                assert old in data, f"{file} has no {old.decode()}"
                data = data.replace(old, new)
        return data

    def write(self, file, data):
        path = self.tree / file
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def configure(self):
        command = ["cmake", "-S", str(self.tree), "-B", str(self.build_folder), "-G", "Ninja",
                   "-DCMAKE_BUILD_TYPE=Release", "-DGRADUS_INSTALL=OFF"]
        if shutil.which("ccache"):
            command.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def build(self, *targets):
        """The compiler's words if it refuses, else None."""
        done = subprocess.run(["ninja", "-C", str(self.build_folder), "-j", str(self.jobs), *targets], text=True,
                              capture_output=True)
        return done.stdout + done.stderr if done.returncode else None

    @staticmethod
    def target(file):
        if file.startswith("annexes/fast/"):  # Part of this library.
            return "gradus_autograd"
        return "gradus_cli" if file.startswith(("cli/", "annexes/")) else "gradus_" + room_of(file).split("/")[0]

    def objects(self, file):
        """What a file is compiled to, to see whether a mutant is the same program."""
        source = "unity_0_cxx.cxx" if "/loops/" in file else Path(file).name
        folder = "autograd" if file.startswith("annexes/fast/") else file.split("/")[0]
        found = sorted((self.build_folder / folder).rglob(f"*.dir/**/{source}.o"))
        return [hashlib.sha256(path.read_bytes()).hexdigest() for path in found]

    def build_tests(self, room):
        return self.build(f"gradus_tests_{room}", *(["gradus_cli"] if room in ("cli", "annexes") else []))

    def rooms(self, file):
        rooms = ROOMS[room_of(file)]
        return rooms[:1] if self.own_room else rooms

    def stages(self, file):
        """[(program, Catch2 test spec)]: the file's own tests, its room's, those of the rooms above."""
        own, *above = self.rooms(file)
        folder = self.tree / "tests" / own
        stem = Path(file).stem
        near = sorted(p.stem for p in folder.rglob("test_*.cpp") if re.fullmatch(f"test_{stem}(_.*)?", p.stem))
        specs = [(own, ",".join(f"[#{name}]~[soak]" for name in near))] if near else []
        return specs + [(room, "~[soak]") for room in (own, *above)]

    def run(self, room, spec):
        """(exit code or -signal, where it failed first, CPU seconds) of a test program, stopped at a failure."""
        program = self.build_folder / "bin" / f"gradus_tests_{room}"
        limit = int(2 * self.costs.get(room, 300) + 20)

        def bounded():
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            os.setpgid(0, 0)

        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        child = subprocess.Popen([program, "--abort", "--reporter", "compact", "--filenames-as-tags", spec],
                                 cwd=self.build_folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 errors="replace", preexec_fn=bounded, stdin=subprocess.DEVNULL)
        out, idle, last = None, 0, -1.0
        while out is None:
            try:
                out, _ = child.communicate(timeout=POLL)
            except subprocess.TimeoutExpired:
                now = group_seconds(child.pid)
                idle, last = (idle + POLL if now == last else 0), now
                if idle >= STUCK:
                    out = ""
        if child.returncode is None:
            stop_group(child.pid)
            child.wait()
            child.returncode = -signal.SIGXCPU
        stop_group(child.pid)  # whatever it started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = sum(getattr(after, t) - getattr(before, t) for t in ("ru_utime", "ru_stime"))
        failed = re.search(r"([\w/.]*\.[ch]pp:\d+): (?:failed|FAILED)", out)
        return child.returncode, failed[1].split("tests/")[-1] if failed else "", seconds

    def prepare(self, files):
        """Copies, builds and tests the original, which has to pass the tests that these files need."""
        self.copy()
        self.configure()
        digest = hashlib.sha256(b"".join((self.tree / file).read_bytes() for file in files_of(self.tree))).hexdigest()
        known = self.work / "original.json"
        if known.exists() and json.loads(known.read_text())["digest"] == digest:
            self.costs = json.loads(known.read_text())["costs"]
        for room in sorted({room for file in files for room in self.rooms(file)}):
            error = self.build_tests(room)
            if error:
                raise SystemExit(f"[mutate] the original does not build:\n{error[-3000:]}")
            if room in self.costs:
                continue
            code, where, self.costs[room] = self.run(room, "~[soak]")
            if code != 0:
                raise SystemExit(f"[mutate] the original fails tests of {room}, at {where or f'exit code {code}'}.")
            print(f"original  tests of {room}: {self.costs[room]:.0f} s of CPU", flush=True)
            known.write_text(json.dumps({"digest": digest, "costs": self.costs}))

    def judge(self, mutant):
        """(verdict, by what)."""
        original = (self.tree / mutant.file).read_bytes()
        target = self.target(mutant.file)
        self.build(target)
        objects = self.objects(mutant.file)
        try:
            self.write(mutant.file, operators.apply(mutant, original.decode()).encode())
            if self.build(target):
                return "did not compile", ""
            if self.objects(mutant.file) == objects:
                return "same program", ""
            for room, spec in self.stages(mutant.file):
                if self.build_tests(room):
                    return "did not compile", f"tests of {room}"
                code, where, _ = self.run(room, spec)
                if code in (-signal.SIGXCPU, -signal.SIGKILL):
                    return "timeout", f"tests of {room}"
                if code < 0:
                    return "crashed", f"{where or f'tests of {room}'} ({signal.Signals(-code).name})"
                if code > 0:
                    return "killed", where or f"tests of {room}"
            return "survived", ""
        finally:
            self.write(mutant.file, original)


class Results:
    """What is known already, a line a mutant: id, verdict, by what, place, old and new line."""

    def __init__(self, path):
        self.path, self.verdicts = path, {}
        if path.exists():
            for row in path.read_text().splitlines():
                fields = row.split("\t")
                self.verdicts[fields[0]] = (fields[1], fields[2])

    def add(self, mutant, verdict, by):
        self.verdicts[mutant.id] = (verdict, by)
        with self.path.open("a") as out:
            out.write("\t".join((mutant.id, verdict, by, f"{mutant.file}:{mutant.line}", mutant.old, mutant.new)) + "\n")


def report(mutants, verdicts, equivalent):
    """Prints the totals by room and what survived; returns how many did."""
    table, alive = {}, []
    for mutant in mutants:
        verdict, by = verdicts.get(mutant.id, ("not run", ""))
        if mutant.key in equivalent and verdict in ("survived", "timeout", "not run"):
            verdict = "equivalent"
        if verdict == "survived":
            alive.append(mutant)
        table.setdefault(room_of(mutant.file), Counter())[verdict] += 1
    columns = ["killed", "crashed", "timeout", "survived", "equivalent", "same program", "did not compile", "not run"]
    print(f"\n{'room':18}" + "".join(f"{c:>16}" for c in columns))
    for room, counts in [*table.items(), ("all", sum(table.values(), Counter()))]:
        print(f"{room:18}" + "".join(f"{counts[c]:16}" for c in columns))
    for mutant in alive:
        print(f"\nsurvived {mutant.id} {mutant.kind}, {mutant.file}:{mutant.line}\n- {mutant.old}\n+ {mutant.new}")
    return len(alive)


def run(project, mutants, results, equivalent, again=()):
    """Judges what is not known yet; `again`: verdicts that are asked for anew."""
    todo = [m for m in mutants if results.verdicts.get(m.id, ("",))[0] in ("", *again)
            and (m.key not in equivalent or m.key[0] in again)]
    for i, mutant in enumerate(todo, 1):
        start = time.monotonic()
        verdict, by = project.judge(mutant)
        results.add(mutant, verdict, by)
        print(f"{i:4}/{len(todo)}  {verdict:15} {time.monotonic() - start:5.0f} s  {mutant.file}:{mutant.line}  "
              f"{mutant.old}  ->  {mutant.new}{'  by ' + by if by else ''}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="how many mutants (300)")
    parser.add_argument("--seed", default="1", help="another seed, another sample (1)")
    parser.add_argument("--only", action="append", metavar="GLOB", help="only files that match; may be repeated")
    parser.add_argument("--again", action="append", default=[], metavar="VERDICT",
                        help="judge those with this verdict once more: survived, timeout, killed, ...")
    parser.add_argument("--work", type=Path, default=ROOT / "build-mutate", help="work folder (build-mutate)")
    parser.add_argument("--jobs", type=int, default=1, help="compilers at a time (1)")
    parser.add_argument("--own-room", action="store_true", help="ask the tests of the file's own room only: sooner done")
    parser.add_argument("--list", action="store_true", help="only print the mutants")
    parser.add_argument("--table", action="store_true", help="only print what is known")
    arguments = parser.parse_args()

    mutants = choose(ROOT, arguments.count, arguments.seed, arguments.only)
    equivalent = {m.key for m, _ in read_list("equivalent.txt", "equivalent")}
    if arguments.list:
        for m in mutants:
            print(f"{m.id}  {m.file}:{m.line}  {m.kind}\n- {m.old}\n+ {m.new}\n")
        return 0
    arguments.work.mkdir(parents=True, exist_ok=True)
    results = Results(arguments.work / "results.tsv")
    if not arguments.table:
        project = Project(arguments.work.resolve(), arguments.jobs, arguments.own_room)
        project.prepare({m.file for m in mutants})
        run(project, mutants, results, equivalent, arguments.again)
    return 3 if report(mutants, results.verdicts, equivalent) else 0


if __name__ == "__main__":
    sys.exit(main())
