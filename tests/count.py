#!/usr/bin/env python3
"""Counts what the tests hold, so that shortening them loses nothing unseen.

    python3 tests/count.py                     # the work tree, by room
    python3 tests/count.py --against HEAD~20   # before and after, and the decimal literals that are gone
"""
import argparse
import re
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (".cpp", ".hpp", ".py", ".sh", ".awk", "CMakeLists.txt")  # whose lines are counted
GOLDEN = (".json", ".jsonl", ".txt")
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
PATTERNS = {
    "test cases": re.compile(r"^ *(?:TEST_CASE|TEMPLATE_TEST_CASE|SCENARIO)\w* ?\(", re.M),
    "sections": re.compile(r"^ *(?:DYNAMIC_)?SECTION ?\(", re.M),
    "assertions": re.compile(r"\b(?:CHECK|REQUIRE)(?:_[A-Z_]+)? ?\(|\bmust\(|^\s*(?:assert\b|self\.assert\w+\()", re.M),
}


def git(*arguments):
    return subprocess.run(("git", "-C", str(ROOT), *arguments), check=True, stdout=subprocess.PIPE).stdout


def files(commit):
    """Path and text of each file in tests/, of the commit or, without one, of the work tree."""
    listed = ("ls-tree", "-r", "-z", "--name-only", commit, "tests") if commit else ("ls-files", "-z", "tests")
    for path in git(*listed).decode().split("\0"):
        if path.endswith(SOURCES + GOLDEN) and (commit or (ROOT / path).exists()):
            data = git("show", f"{commit}:{path}") if commit else (ROOT / path).read_bytes()
            yield path, data.decode(errors="replace")


def count(commit):
    """Counts by room, and how often each decimal literal stands in sources."""
    rooms, literals = {}, Counter()
    for path, text in files(commit):
        name = path.split("/")
        room = rooms.setdefault(name[1] if len(name) > 2 else ".", Counter())
        if path == "tests/mutate/planted.txt" or path == "tests/mutate/equivalent.txt":
            room["planted" if "planted" in path else "equivalent"] += len(re.findall(r"^\+ ", text, re.M))
        elif path.endswith(SOURCES):
            kind = next(kind for kind in SOURCES if path.endswith(kind))
            room["lines"] += text.count("\n")
            room[kind.strip(".").replace("CMakeLists.txt", "cmake")] += text.count("\n")
            for what, pattern in PATTERNS.items():
                room[what] += len(pattern.findall(text))
            numbers = NUMBER.findall(text)
            decimals = [number.lstrip("+-") for number in numbers if re.search("[.eE]", number)]
            literals.update(decimals)
            room["literals"] += len(numbers)
            room["decimals"] += len(decimals)
        else:
            room["golden"] += len(NUMBER.findall(text))
    return rooms, literals


COLUMNS = ("lines", "cpp", "hpp", "py", "sh", "awk", "cmake", "test cases", "sections", "assertions", "literals", "decimals",
           "golden", "planted", "equivalent")


def table(rooms):
    rows = sorted(rooms.items()) + [("all", sum(rooms.values(), Counter()))]
    print(" " * 12 + "".join(f"{column:>{max(len(column), 5) + 2}}" for column in COLUMNS))
    for room, counts in rows:
        print(f"{room:12}" + "".join(f"{counts[column]:>{max(len(column), 5) + 2}}" for column in COLUMNS))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="COMMIT", help="count there, too, and say what is gone")
    commit = parser.parse_args().against
    rooms, literals = count(None)
    if commit:
        before, theirs = count(commit)
        print(f"{commit}:")
        table(before)
        print("\nnow:")
    table(rooms)
    if commit:
        print("\ndecimal literals that stood there and are gone:", *sorted(theirs.keys() - literals.keys(), key=float))


if __name__ == "__main__":
    main()
