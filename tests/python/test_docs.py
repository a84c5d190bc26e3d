"""The blocks of docs/python.md: each runs, in order, and prints what the page says.

    python3 test_docs.py write     writes what they print into the page
"""
import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.M | re.S)


def outputs(text):
    """(line, what the page says, what the block prints) of each block."""
    names = {"__name__": "page"}
    for block in BLOCK.finditer(text):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block[1], f"{PAGE.name}:{text.count(chr(10), 0, block.start()) + 2}", "exec"), names)
        yield block, out.getvalue()


class Page(unittest.TestCase):
    def test_blocks(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            found = list(outputs(PAGE.read_text()))
            os.chdir("/")
        self.assertGreater(len(found), 8)
        for block, printed in found:
            with self.subTest(block=block[1]):
                self.assertEqual(printed, block[2] or "")


if __name__ == "__main__":
    if sys.argv[1:] == ["write"]:
        text = PAGE.read_text()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for block, printed in reversed(list(outputs(text))):
                if block[2] is not None:
                    text = text[:block.start(2)] + printed + text[block.end(2):]
        PAGE.write_text(text)
    else:
        unittest.main()
