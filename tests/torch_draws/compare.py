#!/usr/bin/env python3
"""Draws from PyTorch and from gradus, and requires the same bits of both.

    compare.py PROGRAM

PROGRAM reads draws and prints bits: see draws.cpp. Exits 77 where the PyTorch that is followed is not installed,
neither for this Python nor for /usr/bin/python3: 1.13 without MKL, on a processor with AVX2. What it computes in float64
with the C library's log, sin and cos may differ by 1e-14.
"""
import collections
import math
import os
import pathlib
import struct
import subprocess
import sys

SYSTEM_PYTHON = "/usr/bin/python3"


def other_python(reason):
    """Goes on as SYSTEM_PYTHON if that is another one, else ends the test as skipped."""
    if os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON) and os.path.exists(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
    print(f"skipped: {reason}")
    sys.exit(77)


cpuinfo = pathlib.Path("/proc/cpuinfo")
if not cpuinfo.exists() or " avx2 " not in cpuinfo.read_text():
    print("skipped: PyTorch rounds as gradus does on processors with AVX2, which this one lacks")
    sys.exit(77)
os.environ["ATEN_CPU_CAPABILITY"] = "avx2"  # read when torch is loaded; wider registers have kernels of their own
try:
    import torch
except ImportError:
    other_python("torch is not installed")
if not torch.__version__.startswith("1.13") or torch.backends.mkl.is_available():
    other_python(f"needs torch 1.13 without MKL, found {torch.__version__}")

SEEDS = [*range(100), -1, -2**31, -2**63, 2**31, 2**32 - 1, 2**32, 2**32 + 2024, 2**63 - 1, 123456789]
SIZES = [0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 257]
RANGES = [(0, 1), (0, 2), (-5, 60), (0, 2**31), (0, 2**32 - 1), (-7, 2**32 - 7), (0, 2**33 + 1), (0, 3 * 2**61),
          (-2**63, 2**63 - 1)]
DTYPES = {"f32": torch.float32, "f64": torch.float64}
AS_INTEGER = {torch.float32: torch.int32, torch.float64: torch.int64}
LIBRARY_TOLERANCE = 1e-14


def draws(seed):
    """The draws made from one seed, one after the other; which ones stand side by side changes with the seed."""
    yield f"seed {seed}"
    for i, n in enumerate(SIZES):
        k = SIZES[(i + seed) % len(SIZES)]
        for dtype in DTYPES:
            yield f"normal {dtype} {n} 0 1"
            yield f"rand {dtype} {k}"
            yield f"normal {dtype} {k} -0.3 0.02"
            yield f"uniform {dtype} {n} -0.37 {0.9 + seed % 7}"
            yield f"exponential {dtype} {k}"
            yield f"bernoulli {dtype} {n}"
            yield f"dropout {dtype} {n} {(0.5, 0.1, 0.2, 0.9, 0.0, 1.0)[(i + seed) % 6]}"
            yield f"kaiming {dtype} {n % 7 + 1} {k + 1}"
            yield f"xavier {dtype} {k + 1} {n % 7 + 1}"
            if n:
                yield f"multinomial {dtype} {n % 5 + 1} {n} 1 0"
                yield f"multinomial {dtype} {n % 3} {n} {(n + 1) // 2} 0"
                yield f"multinomial {dtype} {n % 5 + 1} {n} {k + 1} 1"
        low, high = RANGES[(i + seed) % len(RANGES)]
        yield f"randint {low} {high} {n}"
        yield f"randperm {n}"
        yield f"linear {n + 1} {k % 6 + 1}"
        yield f"embedding {n + 1} {k % 5 + 1}"


def one_of_torch(line):
    """The tensors that PyTorch draws for a line."""
    kind, *args = line.split()
    if kind == "seed":
        torch.manual_seed(int(args[0]))
        return []
    if kind == "randint":
        low, high, n = map(int, args)
        return [torch.randint(low, high, (n,))]
    if kind == "randperm":
        return [torch.randperm(int(args[0]))]
    if kind == "linear":
        layer = torch.nn.Linear(int(args[0]), int(args[1]))
        return [layer.weight, layer.bias]
    if kind == "embedding":
        return [torch.nn.Embedding(int(args[0]), int(args[1])).weight]
    dtype, n, args = DTYPES[args[0]], int(args[1]), args[2:]
    if kind == "multinomial":
        weights = torch.rand(n, int(args[0]), dtype=dtype)
        return [torch.multinomial(weights, int(args[1]), replacement=args[2] != "0")]
    if kind in ("kaiming", "xavier"):
        init = {"kaiming": torch.nn.init.kaiming_uniform_, "xavier": torch.nn.init.xavier_uniform_}[kind]
        return [init(torch.empty(n, int(args[0]), dtype=dtype))]
    if kind == "rand":
        return [torch.rand(n, dtype=dtype)]
    if kind == "bernoulli":
        return [torch.bernoulli(torch.rand(n, dtype=dtype))]
    if kind == "dropout":
        return [torch.nn.functional.dropout(torch.rand(n, dtype=dtype) - 0.5, float(args[0]))]
    return [getattr(torch.empty(n, dtype=dtype), kind + "_")(*map(float, args))]


def bits(tensor):
    """The elements of a tensor as unsigned integers."""
    flat = tensor.detach().reshape(-1)
    flat = flat.view(AS_INTEGER.get(flat.dtype, flat.dtype))
    return [x % 2 ** (8 * flat.element_size()) for x in flat.tolist()]


def float64(word):
    return struct.unpack("d", struct.pack("Q", word))[0]


def differs(line, got, expected):
    if got == expected:
        return False
    if not line.startswith(("normal f64", "exponential f64")) or len(got) != len(expected):
        return True
    return not all(math.isclose(float64(g), float64(e), rel_tol=0, abs_tol=LIBRARY_TOLERANCE)
                   for g, e in zip(got, expected))


def main():
    program = sys.argv[1]
    torch.set_num_threads(1)
    lines = [line for seed in SEEDS for line in draws(seed)]
    answer = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    answers = answer.stdout.split("\n")[:-1]
    if len(answers) != len(lines):
        sys.exit(f"asked for {len(lines)} draws, got {len(answers)}")

    compared, values, wrong, seed = collections.Counter(), 0, 0, ""
    for line, text in zip(lines, answers):
        kind = " ".join(word for word in line.split()[:2] if word.isalpha() or word in DTYPES)
        seed = line if kind == "seed" else seed
        got = [int(word, 16) for word in text.split()]
        expected = [word for tensor in one_of_torch(line) for word in bits(tensor)]
        compared[kind] += 1
        values += len(expected)
        if differs(line, got, expected):
            wrong += 1
            if wrong <= 10:
                print(f"{seed}: {line}\n  gradus {[hex(w) for w in got[:8]]}\n  torch  {[hex(w) for w in expected[:8]]}")
    print(f"torch {torch.__version__}: {values} values of {len(lines)} draws, {wrong} draws differ")
    print(", ".join(f"{kind} {count}" for kind, count in sorted(compared.items())))
    sys.exit(1 if wrong else 0)


main()
