#!/usr/bin/env python3
"""What general compressors make of the last tenth of a text, after they have read the rest.

    python3 docs/speedrun/compressors.py shakespeare.txt

Prints a row of a Markdown table for each compressor that is installed (Debian: xz-utils, bzip2, p7zip-full, zpaq): the bytes
that the last tenth of the characters adds to the compressed text, the same in nats a byte, and the CPU seconds for all of it.
A compressor goes on learning while it reads the tail.
"""
import math
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# The same contexts as method 5 of zpaq; its tables do not grow with the text.
ZPAQ = "-mx4,0w2c0,1010,255i1c256ci1,1,1,1,1,1,2ac0,2,0,255i1c0,3,0,0,255i1c0,4,0,0,0,255i1mm16ts19t0"
COMPRESSORS = (
    ("xz -9e", "xz -9e --stdout {text}"),
    ("bzip2 -9", "bzip2 -9 --stdout {text}"),
    ("7-Zip, PPMd of order 6", "7z a -bd -m0=PPMd:o=6:mem=256m {out} {text}"),
    ("7-Zip, PPMd of order 8", "7z a -bd -m0=PPMd:o=8:mem=256m {out} {text}"),
    ("zpaq, its largest model", "zpaq add {out} {text} " + ZPAQ),
)


def compressed(command, text):
    """(bytes, CPU seconds) of a text."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / ("out.zpaq" if command.startswith("zpaq") else "out.7z")
        (Path(folder) / "text").write_bytes(text)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command.format(text="text", out=out.name).split(), cwd=folder, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return out.stat().st_size if out.exists() else len(done.stdout), seconds


def main(path):
    text = Path(path).read_bytes()
    characters = text.decode()
    begun = characters[: len(characters) - len(characters) // 10].encode()
    for name, command in COMPRESSORS:
        if not shutil.which(command.split()[0]):
            print(f"skipped: {command.split()[0]} is not installed", file=sys.stderr)
            continue
        whole, seconds = compressed(command, text)
        tail = whole - compressed(command, begun)[0]
        print(f"| {name} | {tail:,} | {tail * 8 * math.log(2) / (len(text) - len(begun)):.3f} | {seconds:.1f} |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
