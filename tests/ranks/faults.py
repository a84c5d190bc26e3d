#!/usr/bin/env python3
"""faults.py PROGRAM MPIRUN [MOMENTS [SEED]]: what training on several ranks does when something fails.

A rank is killed at so many random moments; each rank is stopped; the disk of rank 0 is full; mpirun gets SIGINT and SIGTERM;
the network between two machines is cut. Each time all processes must end in time, the last checkpoint must be whole, and the
run that is resumed with another number of ranks must end with the bits of an undisturbed run. Exit code 77: there is no MPIRUN.
"""
import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from two_machines import Skipped, TwoMachines  # noqa: E402

MARK = f"GRADUS_FAULTS={os.getpid()}"  # in the environment of each process of a run
RESULTS = ["model.safetensors", "last/optimizer.safetensors"]
MARGIN = 3  # seconds
LONG = ["--text", "a.txt", "--preset", "tiny", "--batch", "8", "--micro", "8", "--dropout", "0.1", "--threads", "1"]
RUN = [*LONG, "--steps", "40", "--eval-every", "8", "--quiet"]
LONG += ["--steps", "100000", "--eval-every", "100000", "--save-every", "100000"]


class Failure(Exception):
    pass


def members():
    """The processes of a run: the rank of each, None for those of the launcher."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
        except (OSError, NotADirectoryError):
            continue
        if MARK not in environment:
            continue
        ranks = [word.split("=")[1] for word in environment if word.startswith(("OMPI_COMM_WORLD_RANK=", "PMI_RANK="))]
        found[int(entry.name)] = int(ranks[0]) if ranks else None
    return found


def pid_of(rank):
    return next((pid for pid, of in members().items() if of == rank), None)


class Faults:
    def __init__(self, program, mpirun, seed):
        self.program = program
        self.mpirun = [mpirun]
        self.kill_seconds = {True: 0, False: 0}  # that the launcher may need to end the ranks, by --ranks or not
        if mpirun.endswith("openmpi"):  # the flags make this time shorter
            self.mpirun += ["--oversubscribe", "--bind-to", "none", "--mca", "odls_base_sigkill_timeout", "1"]
            self.kill_seconds = {True: 10, False: 2}
        self.random = random.Random(seed)
        Path("a.txt").write_text("".join(f"line {i} of a text, and {i * i % 97} more\n" for i in range(400)))
        self.seconds = {}
        for ranks in (1, 2, 3):
            start = time.monotonic()
            self.must_end(self.start("whole", ranks, "--save-every", "4", "--overwrite"))
            self.seconds[ranks] = time.monotonic() - start
        self.wanted = [Path("whole", file).read_bytes() for file in RESULTS]

    def start(self, out, ranks, *more, run=RUN, timeout=30, by=(), popen=subprocess.Popen):
        os.environ["GRADUS_MPI_TIMEOUT"] = str(timeout)
        words = [*by, self.program, "train", "--out", out, *run, *more]
        if ranks > 1 and not by:
            words += ["--ranks", str(ranks)]
        with open("error.txt", "w") as error:
            return popen(words, stdin=subprocess.DEVNULL, stdout=error, stderr=error, start_new_session=True)

    @staticmethod
    def wait_gone(process, limit, launcher=True):
        """Waits until no process of the run, or no rank, is left. Returns the exit code, and the seconds that it took."""
        start = time.monotonic()
        while any(launcher or rank is not None for rank in members().values()) or launcher and process.poll() is None:
            if time.monotonic() - start > limit:
                left = members()
                for pid in left:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                raise Failure(f"processes {left} are left after {limit} s")
            time.sleep(0.02)
        return process.returncode, time.monotonic() - start

    def must_end(self, process):
        code = self.wait_gone(process, 120)[0]
        if code != 0:
            raise Failure(f"the run must succeed, got exit code {code}")

    @staticmethod
    def steps(out):
        """The number of steps in the log."""
        log = Path(out, "metrics.jsonl")
        return log.read_bytes().count(b'"lr"') if log.exists() else 0

    def wait_steps(self, out, steps, process):
        while self.steps(out) < steps:
            if process.poll() is not None:
                raise Failure("the run ended before its fault")
            time.sleep(0.01)

    def recover(self, out, ranks):
        """Resumes the run, or begins it anew if nothing was saved. Returns whether it was saved."""
        saved = Path(out, "last").exists()
        self.must_end(self.start(out, ranks, "--resume" if saved else "--overwrite"))
        self.compare(out, self.wanted)
        return saved

    @staticmethod
    def compare(out, wanted):
        for file, expected in zip(RESULTS, wanted):
            if Path(out, file).read_bytes() != expected:
                raise Failure(f"{file} must be that of an undisturbed run")
        shutil.rmtree(out)

    def other(self, ranks):
        return self.random.choice([count for count in (1, 2, 3) if count != ranks])

    def kill(self):
        ranks = self.random.choice((2, 3))
        victim, at = self.random.randrange(ranks), self.random.uniform(0, 1.1 * self.seconds[ranks])
        process = self.start("killed", ranks, "--save-every", "2", by=[*self.mpirun, "-n", str(ranks)])
        time.sleep(at)
        pid = pid_of(victim)
        while pid is None and process.poll() is None:
            pid = pid_of(victim)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
        code, seconds = self.wait_gone(process, self.kill_seconds[False] + MARGIN)
        steps = self.steps("killed")
        saved = self.recover("killed", self.other(ranks))
        return f"rank {victim} of {ranks} after {at:.2f} s, {steps} steps, {'' if saved else 'not '}saved; " \
               f"exit code {code} after {seconds:.1f} s"

    def stop(self, rank):
        process = self.start("stopped", 3, "--save-every", "4", timeout=3)
        self.wait_steps("stopped", 5, process)
        os.kill(pid_of(rank), signal.SIGSTOP)
        code, seconds = self.wait_gone(process, 3 + self.kill_seconds[True] + MARGIN)
        line = f"rank {rank} on {socket.gethostname()} must answer, got nothing for 3 s"
        if code == 0 or line not in Path("error.txt").read_text():
            raise Failure(f"the run must end with an error and '{line}', got exit code {code}")
        self.recover("stopped", self.other(3))
        return f"{seconds:.1f} s"

    def interrupt(self, number):
        process = self.start("ended", 2, run=LONG)
        self.wait_steps("ended", 5, process)
        process.send_signal(number)
        code, seconds = self.wait_gone(process, self.kill_seconds[True] + MARGIN)
        steps = self.steps("ended")
        if Path("error.txt").read_text().count(f"stopped after step {steps} and saved") != 1:
            raise Failure(f"the run must save once, after step {steps}")
        until = ["--stop-after", str(steps + 10)]
        self.must_end(self.start("ended", self.other(2), "--resume", *until, run=LONG))
        self.must_end(self.start("undisturbed", 1, *until, run=LONG))
        self.compare("ended", [Path("undisturbed", file).read_bytes() for file in RESULTS])
        shutil.rmtree("undisturbed")
        return f"exit code {code} after {seconds:.1f} s and {steps} steps"

    def fill_disk(self, share):
        """Runs on a disk that has room for a share of what a run writes."""
        size = sum(file.stat().st_size for file in Path("whole").rglob("*"))
        os.mkdir("disk")
        mount = ["mount", "-t", "tmpfs", "-o", f"size={int(share * size)}", "none", "disk"]
        if subprocess.run(mount, capture_output=True).returncode != 0:
            os.rmdir("disk")
            return "skipped: no tmpfs can be mounted here"
        try:
            code, seconds = self.wait_gone(self.start("disk/full", 2, "--save-every", "4"), 60)
            text = Path("error.txt").read_text()
            if code != 0 and "No space left" not in text:
                raise Failure("the message must say that the disk is full")
            subprocess.run(["mount", "-o", "remount,size=100m", "disk"], check=True)
            saved = self.recover("disk/full", self.other(2))
            return f"exit code {code}, {'' if saved else 'not '}saved"
        finally:
            subprocess.run(["umount", "disk"], check=True)
            os.rmdir("disk")

    def cut(self):
        """Cuts the network between two machines: the ranks end."""
        try:
            with TwoMachines(rate=0, delay=0.1, mpirun=self.mpirun[0]) as machines:
                process = self.start("cut", 1, "--save-every", "4", timeout=3, popen=machines.start)
                self.wait_steps("cut", 5, process)
                machines.cut()
                seconds = self.wait_gone(process, 3 + MARGIN, launcher=False)[1]
            process.wait()  # mpirun waits for the other machine as long as TCP does, and was killed
        except Skipped as why:
            return f"skipped: {why}"
        line = "rank 1 on machine1 must answer, got nothing for 3 s"
        if line not in Path("error.txt").read_text():
            raise Failure(f"the run must end with '{line}'")
        self.recover("cut", self.other(2))
        return f"{seconds:.1f} s"


def main(program, mpirun, moments=30, seed=1):
    if not shutil.which(mpirun):
        print(f"skipped: there is no {mpirun}")
        return 77
    program, moments, seed = os.path.abspath(program), int(moments), int(seed)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        name, value = MARK.split("=")
        os.environ.update({name: value, "GRADUS_MPIRUN": mpirun, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        faults = Faults(program, mpirun, seed)
        cases = [(f"stopped rank {rank}", lambda rank=rank: faults.stop(rank)) for rank in range(3)]
        cases += [(f"{number.name} at mpirun", lambda number=number: faults.interrupt(number))
                  for number in (signal.SIGINT, signal.SIGTERM)]
        cases += [(f"disk of {share} runs", lambda share=share: faults.fill_disk(share))
                  for share in (0.2, 0.5, 0.8, 1.1, 1.4, 1.7)]
        cases.append(("cut network", faults.cut))
        cases += [(f"kill {i + 1}", faults.kill) for i in range(moments)]
        try:
            for name, case in cases:
                print(f"{name}: ", end="", flush=True)
                print(case(), flush=True)
        except Failure as failure:
            print(f"FAILED: {failure}. The output was:\n{Path('error.txt').read_text()}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
