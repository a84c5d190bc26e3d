#!/usr/bin/env python3
"""The speed run: the seconds that training takes until the loss on the validation part of tiny Shakespeare is at the target.

    speedrun.py TEXT LOG [--seeds N] [--gradus PROGRAM] -- COMMAND...   # trains with seeds 1 to N, evaluates, adds lines to LOG
    speedrun.py LOG                                    # the mean loss and time of a log, and whether it is a record

In COMMAND, {train} is replaced by the file of the first nine tenths of TEXT, {seed} by the seed and {out} by a folder for the
model. The seconds are those of the whole command: reading the text, learning a tokenizer, warming up and training. It does not
see the last tenth, on which `PROGRAM eval` then measures the loss (default: the program of COMMAND). Other programs write the log themselves. A line is
{"seed": 1, "seconds": 31.4, "nats_per_byte": 1.497}.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TRACKS = {"short": 1.50, "long": 1.43}  # nats a byte
# One-sided 1 % points of Student's t for 1 to 19 degrees of freedom.
T_POINTS = (31.82, 6.965, 4.541, 3.747, 3.365, 3.143, 2.998, 2.896, 2.821, 2.764, 2.718, 2.681, 2.650, 2.624, 2.602, 2.583, 2.567,
            2.552, 2.539)


def parts(text, folder):
    """The files of the first nine tenths and of the last, cut before a character."""
    data = open(text, "rb").read()
    cut = len(data) * 9 // 10
    while data[cut] & 0xC0 == 0x80:
        cut -= 1
    names = [os.path.join(folder, name) for name in ("train.txt", "val.txt")]
    for name, part in zip(names, (data[:cut], data[cut:])):
        with open(name, "wb") as file:
            file.write(part)
    return names


def run(text, log, seeds, gradus, command):
    with tempfile.TemporaryDirectory() as folder:
        train, val = parts(text, folder)
        out = os.path.join(folder, "out")
        for seed in range(1, seeds + 1):
            shutil.rmtree(out, ignore_errors=True)
            words = [word.format(train=train, seed=seed, out=out) for word in command]
            start = time.monotonic()
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            seconds = time.monotonic() - start
            answer = subprocess.run([gradus, "eval", out, "--text", val, "--json"], check=True, capture_output=True, text=True)
            loss = json.loads(answer.stdout)["bits_per_byte"] * 0.6931471805599453
            with open(log, "a") as file:
                file.write(json.dumps({"seed": seed, "seconds": round(seconds, 2), "nats_per_byte": round(loss, 5)}) + "\n")


def report(log):
    runs = [json.loads(line) for line in open(log)]
    losses, seconds = ([run[key] for run in runs] for key in ("nats_per_byte", "seconds"))
    mean, deviation = statistics.mean(losses), statistics.stdev(losses)
    print(f"{len(runs)} runs: {mean:.4f} nats a byte (standard deviation {deviation:.4f}) in {statistics.mean(seconds):.1f} s")
    point = T_POINTS[min(len(runs) - 1, len(T_POINTS)) - 1]
    for track, target in TRACKS.items():
        is_below = mean < target and (target - mean) / (deviation / len(runs) ** 0.5) > point
        print(f"{track} track, at most {target:.2f}: {'yes, p < 0.01' if is_below else 'no'}")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        report(sys.argv[1])
    elif "--" in sys.argv:
        at = sys.argv.index("--")
        options = sys.argv[1:at]
        option = lambda name, default: options[options.index(name) + 1] if name in options else default
        run(options[0], options[1], int(option("--seeds", 10)), option("--gradus", sys.argv[at + 1]), sys.argv[at + 1:])
        report(options[1])
    else:
        sys.exit(__doc__)
