"""descriptions.py OUT TEXTS HEADER...: writes the descriptions of names for docstrings, as rows of a C++ array {"name", "description"}.

A description is the comment of a function or class in a header, before it as /// or behind it as ///<. TEXTS has lines "name: description"
for names that Python alone has; these come first.
"""
import json
import re
import sys

DECLARED = re.compile(r"^\s*(?:template <.*> )?(?:inline |static |explicit |virtual |\[\[nodiscard\]\] )*(?:class (?P<type>\w+)|[\w:<>, ]+[&*]? [&*]?(?P<name>\w+)\()")


def described(path):
    """(name, comment) of each declaration of a header."""
    before, open_name, last = [], "", ""
    for line in open(path, encoding="utf-8"):
        comment = re.match(r"^\s*///(?!<) ?(.*)$", line)
        behind = re.match(r"^(.*?)\s*///<\s*(.*)$", line)
        if comment:
            before.append(comment[1].strip())
            continue
        found = DECLARED.match(line)
        name = (found["type"] or found["name"]) if found else open_name
        text = " ".join(before) or (behind[2] if behind else "")
        if name and text and name != "return":
            yield name, text
        open_name = name if not line.rstrip().endswith((";", "}", "{")) else ""
        before = []


def main(out, texts, headers):
    rows = dict(line.rstrip("\n").split(": ", 1) for line in open(texts, encoding="utf-8") if re.match(r"\w+: ", line))
    for path in headers:
        for name, text in described(path):
            rows.setdefault(name, re.sub(r"\bundefined\b", "None", text.replace("Throws", "Raises")))
    with open(out, "w", encoding="utf-8") as file:
        for name, text in sorted(rows.items()):
            print(f"{{{json.dumps(name)}, {json.dumps(text, ensure_ascii=False)}}},", file=file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
