#!/usr/bin/env python3
"""The table of yardsticks: what compressors, gradus and PyTorch make of the last tenth of a text, of which they have read the rest.

    yardsticks.py TEXT [--gradus ./gradus] [--minutes 3] [--seeds 1337,1,2] [--stride 64] [--compress PROGRAM] [--torch STEPS]

Prints a table in Markdown. The last tenth of the characters is cut off before anything is learned. Losses are in nats a byte, in two
columns: "read" learned nothing from the tail, "learning" learned from that part of the tail which it had predicted. A row of gradus
is the mean over the seeds; its deviation is the largest distance from 1 of a sum of probabilities, as `gradus eval` prints it.
A compressor that is not installed is left out (Debian: xz-utils, bzip2, p7zip-full, zpaq). --compress names the example compress
(./gradus test builds build/bin/examples/compress): the last model compresses the tail and restores it. --torch STEPS adds PyTorch with
the recipe of pytorch.py and this number of steps for each seed.
"""
import argparse
import json
import math
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# The same contexts as method 5 of zpaq; its tables do not grow with the text.
ZPAQ = "-mx4,0w2c0,1010,255i1c256ci1,1,1,1,1,1,2ac0,2,0,255i1c0,3,0,0,255i1c0,4,0,0,0,255i1mm16ts19t0"
COMPRESSORS = (
    ("xz -9e", "xz -9e --stdout {text}"),
    ("bzip2 -9", "bzip2 -9 --stdout {text}"),
    ("7-Zip, PPMd of order 6", "7z a -bd -m0=PPMd:o=6:mem=1g {out} {text}"),
    ("7-Zip, PPMd of order 8", "7z a -bd -m0=PPMd:o=8:mem=1g {out} {text}"),
    ("7-Zip, PPMd of order 16", "7z a -bd -m0=PPMd:o=16:mem=1g {out} {text}"),
    ("zpaq, its largest model", "zpaq add {out} {text} " + ZPAQ),
)


def measured(command, folder):
    """(standard output, seconds, CPU seconds) of a command; ends the program with its errors if it fails."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr.decode()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, time.monotonic() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(name, trained, read, read_seconds, learning, learning_seconds, deviation=""):
    print(f"| {name} | {trained} | {read} | {read_seconds} | {learning} | {learning_seconds} | {deviation} |", flush=True)


def compressed(command, text, folder):
    """(bytes, CPU seconds) of a text."""
    Path(folder, "text").write_bytes(text)
    out = Path(folder, "out.zpaq" if command.startswith("zpaq") else "out.7z")
    out.unlink(missing_ok=True)
    output, _, seconds = measured(command.format(text="text", out=out.name).split(), folder)
    return out.stat().st_size if out.exists() else len(output), seconds


def ppmd_memory(text):
    """The bytes that 7-Zip gives to PPMd where it may take 1 GiB: a power of two, 16 times the size of the text or more."""
    return min(2**30, max(2**16, 2 ** (16 * len(text) - 1).bit_length()))


def compressors(text, head, folder):
    for name, command in COMPRESSORS:
        if "o=16" in command and ppmd_memory(text) != ppmd_memory(head):
            continue  # orders above 8 use all of the memory, so that the difference would be that of the memories
        if not shutil.which(command.split()[0]):
            print(f"skipped: {command.split()[0]} is not installed", file=sys.stderr)
            continue
        whole, seconds = compressed(command, text, folder)
        tail = whole - compressed(command, head, folder)[0]
        row(name, "", "", "", f"{tail * 8 * math.log(2) / (len(text) - len(head)):.3f}", f"{seconds:.1f}")


def losses(gradus, run, tail, flags):
    """(nats a byte, CPU seconds, largest deviation of a sum) of `gradus eval`."""
    answer, _, seconds = measured([gradus, "eval", run, "--text", tail, "--json", *flags], None)
    report = json.loads(answer)
    return report["bits_per_byte"] * math.log(2), seconds, report["largest_sum_deviation"]


def models(name, options, runs, trained, tail):
    """A row for windows of the context length, and one for overlapping windows."""
    for label, flags in ((name, []), (f"{name}, --stride {options.stride}", ["--stride", options.stride])):
        read, learning = ([losses(options.gradus, run, tail, flags + more) for run in runs] for more in ([], ["--adapt"]))
        mean = lambda values, i: statistics.mean(value[i] for value in values)
        row(label, f"{statistics.mean(trained):.0f}", f"{mean(read, 0):.3f}", f"{mean(read, 1):.1f}", f"{mean(learning, 0):.3f}",
            f"{mean(learning, 1):.1f}", f"{max(value[2] for value in read + learning):.0e}")


def coder(program, run, tail, folder):
    """The bytes of the example compress, after a proof that they restore the tail."""
    size = Path(tail).stat().st_size
    for label, flags in (("examples/compress", []), ("examples/compress --adapt", ["--adapt"])):
        packed, restored = Path(folder, "packed"), Path(folder, "restored")
        seconds = measured([program, *flags, run, tail, packed], None)[2]
        measured([program, *flags, "-d", run, packed, restored], None)
        if restored.read_bytes() != Path(tail).read_bytes():
            sys.exit(f"{label} does not restore the tail")
        loss = f"{packed.stat().st_size * 8 * math.log(2) / size:.3f}"
        row(f"{label}, {packed.stat().st_size:,} bytes", "", *(("", "", loss, f"{seconds:.1f}") if flags else (loss, f"{seconds:.1f}", "", "")))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("text")
    parser.add_argument("--gradus", default="./gradus")
    parser.add_argument("--minutes", default="3")
    parser.add_argument("--seeds", default="1337,1,2")
    parser.add_argument("--stride", default="64")
    parser.add_argument("--compress")
    parser.add_argument("--torch", metavar="STEPS")
    options = parser.parse_args()
    for file in (options.text, options.gradus, options.compress):
        if file and not Path(file).is_file():
            sys.exit(f"there must be a file {file}, got none")
    text = Path(options.text).read_bytes()
    if len(text) < 1000:
        sys.exit(f"the text must have at least 1,000 bytes, got {len(text)}")
    characters = text.decode(errors="surrogateescape")
    head = characters[: len(characters) - len(characters) // 10].encode(errors="surrogateescape")
    with tempfile.TemporaryDirectory() as folder:
        train, tail = Path(folder, "train.txt"), Path(folder, "tail.txt")
        train.write_bytes(head)
        tail.write_bytes(text[len(head):])
        row("entry", "seconds of training", "read", "CPU seconds", "learning", "CPU seconds", "largest deviation")
        row("---", "---:", "---:", "---:", "---:", "---:", "---:")
        compressors(text, head, folder)
        runs, trained = [], []
        for seed in options.seeds.split(","):
            runs.append(Path(folder, f"gradus-{seed}"))
            trained.append(measured([options.gradus, "train", "--text", train, "--val-fraction", "0", "--quiet", "--minutes",
                                     options.minutes, "--seed", seed, "--out", runs[-1]], None)[1])
        models(f"gradus, --minutes {options.minutes}", options, runs, trained, tail)
        if options.compress:
            coder(options.compress, runs[-1], tail, folder)
        if options.torch:
            runs, trained = [], []
            for seed in options.seeds.split(","):
                runs.append(Path(folder, f"torch-{seed}"))
                trained.append(measured([sys.executable, Path(__file__).with_name("pytorch.py"), options.gradus, train, seed, runs[-1],
                                         options.torch], None)[1])
            models(f"PyTorch, {options.torch} steps", options, runs, trained, tail)


if __name__ == "__main__":
    main()
