# What the verbs in Python share. The program puts this text before that of the verb.
import ctypes
import json
import math
import os
import signal
import subprocess
import sys

VERB, PROGRAM, *WORDS = sys.argv[1:]


def plain(text):
    """The text with escapes for characters that control a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def in_quotes(text):
    return f"'{plain(text[:60])}" + ("...'" if len(text) > 60 else "'")


def fail(message, code=2, op=VERB):
    """Ends the program: with 2 for wrong input, with 1 for a run that failed."""
    print(f"gradus: [{op}] {plain(message)}", file=sys.stderr, flush=True)
    os._exit(code)


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def before_start():
    """Runs in the process that answer() starts. The process gets SIGTERM when this program ends, and then saves its state."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def answer(words):
    """Runs this program with these words. Returns its exit code and output. Passes SIGINT and SIGTERM on, and then ends by the signal."""
    child, got = None, []

    def pass_on(number, _):
        got.append(number)
        if child:
            child.send_signal(number)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    child = subprocess.Popen([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=before_start)
    if got:  # before it was there
        child.send_signal(got[0])
    output, _ = child.communicate()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    code = child.returncode if child.returncode >= 0 else 128 - child.returncode
    if got or code == 128 + signal.SIGINT:
        os.kill(os.getpid(), got[0] if got else signal.SIGINT)
    return code, output.splitlines()


def table(rows, right):
    """Columns as wide as their widest cells; those whose numbers are in `right` are aligned right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    padded = [[c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths))] for row in rows]
    return "".join("  ".join(row).rstrip(" ") + "\n" for row in padded) + "\n"


def run_verb(verb):
    """Calls verb() with what the program hands over; reports what the system refuses."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        verb(json.load(sys.stdin))
    except OSError as error:
        if error.filename is None:
            fail("the standard output must be writable, got an error.", 1, "output")
        fail(f"{error.filename} must be within reach, got '{error.strerror}'.", 2, "file")
