"""Mutants of C++ source: one small change to one line each, as a slip of the hand would make it.

The operators work on text. clang-format puts spaces around operators of two operands and none inside template
brackets, which is what tells them apart here; what is in strings, comments and the preprocessor's lines is left
alone. Whatever does not compile is sorted out by the compiler.
"""
import functools
import hashlib
import re
from dataclasses import dataclass

# Each operator: what it looks for in a line and what it writes in its place (a text or a function of the match).
_SWAPS = [
    ("compare", r" < ", " <= "),
    ("compare", r" <= ", " < "),
    ("compare", r" > ", " >= "),
    ("compare", r" >= ", " > "),
    ("compare", r" == ", " != "),
    ("compare", r" != ", " == "),
    ("arithmetic", r" \+ ", " - "),
    ("arithmetic", r" - ", " + "),
    ("arithmetic", r" \* ", " / "),
    ("arithmetic", r" / ", " * "),
    ("arithmetic", r" % ", " / "),
    ("arithmetic", r" \+= ", " -= "),
    ("arithmetic", r" -= ", " += "),
    ("arithmetic", r" \*= ", " /= "),
    ("arithmetic", r" /= ", " *= "),
    ("logic", r" && ", " || "),
    ("logic", r" \|\| ", " && "),
    ("logic", r"(?<=[( ])!(?=[\w(])", ""),
    ("logic", r"\btrue\b", "false"),
    ("logic", r"\bfalse\b", "true"),
    ("choice", r"\bstd::max\b", "std::min"),
    ("choice", r"\bstd::min\b", "std::max"),
    ("choice", r"\bbreak;", "continue;"),
    ("choice", r" \? (?P<a>[\w.:\[\]()]+) : (?P<b>[\w.:\[\]()]+)(?=[;,)])", lambda m: f" ? {m['b']} : {m['a']}"),
    ("constant", r"(?<![\w.])0(?![\w.])", "1"),
    ("constant", r"(?<![\w.])[1-9]\d*(?![\w.])", lambda m: str(int(m[0]) + 1)),
    ("constant", r"(?<![\w.])\d+\.\d+(?:e-?\d+)?(?!\w)", lambda m: f"({m[0]} + 0.5)"),
    ("arguments", r"(?<=\()(?P<a>\w+), (?P<b>\w+)(?=\))", lambda m: f"{m['b']}, {m['a']}"),
]
_OPERATORS = [(kind, re.compile(pattern), replacement) for kind, pattern, replacement in _SWAPS]

_CONDITION = re.compile(r"^(\s*(?:\} else )?if \()(.*)(\)(?: \{| return\b.*| continue;| break;)?)$")
# A statement that is all of its line: a call, or an assignment to something that exists.
_STATEMENT = re.compile(r"^(?!return\b|throw\b|using\b|delete\b|goto\b|case\b|default\b|co_)"
                        r"(?:\+\+|--)?[\w:.\->\[\]*() ]*?(?:\(.*\)| [-+*/|&^]?= .*|\+\+|--);$")
_DECLARATION = re.compile(r"^(?:const |static |constexpr |auto |[\w:<>]+[&*]? [&*]?\w+(?:\(| = |;))")
_NOT_CODE = re.compile(r"^\s*(?:#|using |namespace |template |static_assert|extern |friend |typedef )")


@dataclass(frozen=True)
class Mutant:
    """`line` (from 1) of `file` becomes `new`; `old` and `new` are without blanks around them."""
    file: str
    line: int
    old: str
    new: str
    nth: int  # which of the file's lines that read `old` it is, from 1
    kind: str

    @property
    def key(self):
        return self.file, self.nth, self.old, self.new

    @property
    def id(self):
        return hashlib.sha1("\0".join(map(str, self.key)).encode()).hexdigest()[:10]


def mask(text):
    """The text with a blank for each character of comments, strings and character literals."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", "\x01", m[0]), text)


def _variants(line, masked):
    """(kind, new line) of each change to one line."""
    for kind, pattern, replacement in _OPERATORS:
        for m in pattern.finditer(masked):
            end = replacement(m) if callable(replacement) else replacement
            yield kind, line[:m.start()] + end + line[m.end():]
    m = _CONDITION.match(masked)
    if m and m[2].count("(") == m[2].count(")"):
        a, b = m.span(2)
        yield "negate", f"{line[:a]}!({line[a:b]}){line[b:]}"
    code = masked.lstrip()
    if _STATEMENT.match(code) and not _DECLARATION.match(code):
        yield "drop", ";"


@functools.cache
def mutants_of(file, text):
    """All mutants of a source file, in the order of its lines."""
    found, seen, count = [], set(), {}
    lines, masked = text.split("\n"), mask(text).split("\n")
    for number, (line, code) in enumerate(zip(lines, masked), 1):
        old = line.strip()
        count[old] = nth = count.get(old, 0) + 1
        if _NOT_CODE.match(code) or not code.strip("\x01 "):
            continue
        for kind, new in _variants(line, code):
            mutant = Mutant(file, number, old, new.strip(), nth, kind)
            if mutant.new != old and mutant.key not in seen:
                seen.add(mutant.key)
                found.append(mutant)
    return tuple(found)


def apply(mutant, text):
    """The text with the mutant in it; ValueError if its line is not there."""
    lines = text.split("\n")
    places = [i for i, line in enumerate(lines) if line.strip() == mutant.old]
    if len(places) < mutant.nth:
        raise ValueError(f"{mutant.file}: no line reads `{mutant.old}`" +
                         (f" {mutant.nth} times" if mutant.nth > 1 else ""))
    i = places[mutant.nth - 1]
    indent = lines[i][:len(lines[i]) - len(lines[i].lstrip())]
    lines[i] = indent + mutant.new
    return "\n".join(lines)


def parse_list(text, name, kind):
    """Mutants written by hand, with the comment above each: [(Mutant, comment)].

    Blocks with an empty line between them: comments after `#`, then the file, with ` @2` behind it for the second
    line of that text, then the line after `- ` and what it becomes after `+ `.
    """
    listed = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        rows = block.split("\n")
        comment = " ".join(row[1:].strip() for row in rows if row.startswith("#"))
        rows = [row for row in rows if not row.startswith("#")]
        if not rows:
            continue
        if len(rows) != 3 or not rows[1].startswith("- ") or not rows[2].startswith("+"):
            raise ValueError(f"{name}: a block must be a file, `- line` and `+ line`, got\n{block}")
        file, _, nth = rows[0].partition(" @")
        listed.append((Mutant(file, 0, rows[1][2:].strip(), rows[2][1:].strip() or ";", int(nth or 1), kind), comment))
    return listed
