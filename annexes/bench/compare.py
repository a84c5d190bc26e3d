"""Compares steps of gradus with the same steps of PyTorch (torch_twin.py), in turns.

    compare.py GRADUS WORKLOAD [FLAG...]

for example `python3 annexes/bench/compare.py ./gradus W1 --threads 1 --precision bf16`. Needs PyTorch in this Python. FLAGS are those
of `gradus bench`; --seconds is the measured time of each of five turns. Fails unless both compute the same losses and tokens.
"""

import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile


def bench(program, workload, flags):
    """The events of the machine and of the workload."""
    run = subprocess.run([program, "bench", "--workload", workload, "--json", *flags], stdout=subprocess.PIPE, check=True, text=True)
    events = {event["event"]: event for event in map(json.loads, run.stdout.splitlines())}
    return events["machine"], events["workload"]


def environment(machine, threads):
    """PyTorch's best: malloc keeps its memory, OpenBLAS has gradus's kernels, AVX-512 is used if there is any."""
    wishes = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "8589934592", "MALLOC_TOP_PAD_": "268435456"}
    if machine["blas"].endswith(" kernels"):
        wishes["OPENBLAS_CORETYPE"] = machine["blas"].split()[-2]
    if machine["level"].endswith("v4"):
        wishes["ATEN_CPU_CAPABILITY"] = "avx512"
    return {**wishes, **os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}


def answer(twin):
    return json.loads(twin.stdout.readline() or sys.exit("compare.py: torch_twin.py must answer, got its end"))


def ask(twin, line):
    twin.send_signal(signal.SIGCONT)
    twin.stdin.write(line + "\n")
    twin.stdin.flush()
    result = answer(twin)
    twin.send_signal(signal.SIGSTOP)  # its threads take no core while gradus runs
    return result


def check(ours, theirs):
    # In bfloat16 PyTorch also rounds the results of products, and AdamW's first step uses little more than the signs of gradients.
    rounded = ours["shape"].endswith(" bfloat16") and "tokens" not in ours
    bounds = (1e-3, 1e-3, math.inf) if rounded else (1e-4, 1e-4, 1e-3)
    near = all(abs(a - b) <= bound * abs(b) for a, b, bound in zip(ours["losses"], theirs["losses"], bounds))
    if not near or len(ours["losses"]) != len(theirs["losses"]) or ours.get("tokens") != theirs.get("tokens"):
        sys.exit(f"compare.py: gradus and PyTorch must compute the same, got {ours['losses']} and {theirs}")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, workload, *flags = sys.argv[1:]
    seconds = flags[flags.index("--seconds") + 1] if "--seconds" in flags else "5"
    with tempfile.TemporaryDirectory() as folder:
        weights = os.path.join(folder, "weights.safetensors")
        machine, ours = bench(program, workload, [*flags, "--save", weights])
        command = [sys.executable, os.path.join(sys.path[0], "torch_twin.py"), ours["shape"], str(ours["threads"]), weights]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        twin = subprocess.Popen(command, env=environment(machine, ours["threads"]), **pipes)
        try:
            check(ours, answer(twin))
            ask(twin, "memory")  # when it has chosen its threads
            pairs = [(bench(program, workload, flags)[1], ask(twin, f"run {seconds} 1000000")) for _ in range(5)]
            ratios = [theirs["ms_median"] / ours["ms_median"] for ours, theirs in pairs]
            print(f"{workload}: PyTorch takes {statistics.median(ratios):.2f} of gradus's time; by turn", *(f"{r:.2f}" for r in ratios))
            print(f"peak MiB: gradus {ours['peak_mib']:.0f}, PyTorch {ask(twin, 'memory')['peak_mib']:.0f}")
        finally:
            twin.kill()


main()
