#!/usr/bin/env python3
"""Two machines on this one: two network namespaces with a link of a given rate and delay, and a rank of MPI in each.

    two_machines.py [--rate MBIT] [--delay MS] -- PROGRAM train ...     # mpirun runs on the first machine; needs root

Each machine has an address (10.98.0.1, 10.98.0.2), a host name and a core of its own. The link is a pair of TUN devices; a
process passes their packets on after the delay, which kernels without `tc netem` cannot do. `tc tbf` limits the rate in both
directions. Prints the measured round trip and rate. Ends with the command's exit code, or with 77 where it cannot run.
Other tests import TwoMachines, whose cut() stops the link without a word to either side, like a cable that was pulled.
"""
import argparse
import collections
import contextlib
import ctypes
import fcntl
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

MTU = 60000
LIBC = ctypes.CDLL(None, use_errno=True)


class Skipped(Exception):
    """This machine has no namespaces, TUN devices or MPI, or the user is not root."""


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, **options)


class TwoMachines:
    """A context manager. `rate` is in Mbit/s (0: no limit), `delay` in ms each way, `mpirun` Open MPI's or MPICH's."""

    def __init__(self, rate=1000, delay=1.0, mpirun="mpirun.openmpi"):
        self.rate, self.delay, self.mpirun = rate, delay / 1000, mpirun
        self.names = [f"gradus{os.getpid()}{end}" for end in "ab"]
        self.addresses = ["10.98.0.1", "10.98.0.2"]
        self.relay = 0

    def __enter__(self):
        tools = ["ip", "tc", "taskset", "unshare", self.mpirun]
        missing = [tool for tool in tools if not shutil.which(tool)]
        if os.geteuid() != 0 or missing:
            raise Skipped("this needs root" if not missing else f"there is no {missing[0]}")
        self.folder = tempfile.mkdtemp()
        try:
            self.ends = [self._machine(i) for i in range(2)]
            parent = os.getpid()
            self.relay = os.fork()
            if self.relay == 0:
                self._pass_on(parent)
            run("unshare", "--uts", "true", capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            raise Skipped(f"no namespaces, TUN devices or tbf here: {error}") from error
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.relay:
            os.kill(self.relay, signal.SIGKILL)
            os.waitpid(self.relay, 0)
        for name in self.names:
            pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout.split()
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def inside(self, i):
        """What this thread opens here belongs to machine i."""
        with open("/proc/thread-self/ns/net") as own, open(f"/run/netns/{self.names[i]}") as other:
            try:
                if LIBC.setns(other.fileno(), 0) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
                yield
            finally:
                LIBC.setns(own.fileno(), 0)

    def _machine(self, i):
        name = self.names[i]
        run("ip", "netns", "add", name, capture_output=True)
        with self.inside(i):
            end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(end, 0x400454CA, struct.pack("16sH22x", b"link0", 0x1001))  # TUNSETIFF: TUN without a header
        run("ip", "-n", name, "addr", "add", f"{self.addresses[i]}/24", "dev", "link0")
        run("ip", "-n", name, "link", "set", "link0", "mtu", MTU, "up")
        run("ip", "-n", name, "link", "set", "lo", "up")
        if self.rate:
            run("tc", "-n", name, "qdisc", "add", "dev", "link0", "root", "tbf", "rate", f"{self.rate}mbit",
                "burst", "128k", "latency", "200ms", capture_output=True)
        return end

    def _pass_on(self, parent):
        LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        waiting = [collections.deque(), collections.deque()]
        while os.getppid() == parent:
            due = min((queue[0][0] for queue in waiting if queue), default=time.monotonic() + 1)
            ready = select.select(self.ends, [], [], max(0, due - time.monotonic()))[0]
            now = time.monotonic()
            for i, queue in enumerate(waiting):
                with contextlib.suppress(BlockingIOError):
                    while self.ends[i] in ready:
                        queue.append((now + self.delay, os.read(self.ends[i], MTU)))
                while queue and queue[0][0] <= now:
                    with contextlib.suppress(OSError):  # a full device loses packets
                        os.write(self.ends[1 - i], queue.popleft()[1])
        os._exit(0)

    def cut(self):
        """Loses all packets from now on."""
        os.kill(self.relay, signal.SIGSTOP)

    def measure(self, size=40_000_000):
        """The median round trip in ms and the rate in Mbit/s of a connection of TCP."""
        with self.inside(1):
            listener = socket.create_server((self.addresses[1], 5555))
        with self.inside(0):
            near = socket.create_connection((self.addresses[1], 5555))
        far = listener.accept()[0]
        trips = []

        def answer():
            for _ in range(21):
                far.sendall(far.recv(1))
            left = size
            while left > 0:
                left -= len(far.recv(1 << 20))
            far.sendall(b"k")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(21):
            start = time.perf_counter()
            near.sendall(b"x")
            near.recv(1)
            trips.append(time.perf_counter() - start)
        start = time.perf_counter()
        near.sendall(bytes(size))
        near.recv(1)
        rate = 8e-6 * size / (time.perf_counter() - start)
        thread.join()
        for each in (near, far, listener):
            each.close()
        return 1000 * sorted(trips)[10], rate

    def _on(self, i):
        core = i % (os.cpu_count() or 1)
        return ["ip", "netns", "exec", self.names[i], "taskset", "-c", str(core), "unshare", "--uts", "sh", "-c",
                f'hostname machine{i}; exec "$@"', "sh"]

    def start(self, command, **options):
        """Starts the command on a rank on each machine; returns mpirun's subprocess.Popen."""
        agent = os.path.join(self.folder, "agent")
        with open(agent, "w") as file:  # its arguments are those of ssh: options, the host, the command
            words = " ".join(f"'{word}'" for word in self._on(1))
            file.write(f'#!/bin/sh\nwhile [ "${{1#-}}" != "$1" ]; do shift; done\nshift\nexec {words} sh -c "$*"\n')
        os.chmod(agent, 0o755)
        launch = [self.mpirun, "-n", "2"]
        if self.mpirun.endswith("mpich"):
            launch += ["-hosts", ",".join(self.addresses), "-launcher", "ssh", "-launcher-exec", agent, "-iface", "link0"]
        else:
            launch += ["--host", ",".join(f"{address}:1" for address in self.addresses), "--bind-to", "none"]
            for name, value in (("plm_rsh_agent", agent), ("btl", "tcp,self"), ("pml", "ob1"), ("btl_tcp_if_include", "link0"),
                                ("oob_tcp_if_include", "link0"), ("odls_base_sigkill_timeout", "5")):
                launch += ["--mca", name, value]
        more = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "link0"}  # MPICH's UCX; else it shares memory across namespaces
        return subprocess.Popen([*self._on(0), *launch, *command], env={**os.environ, **more}, **options)


def main():
    parser = argparse.ArgumentParser(description="Runs a command on two ranks of MPI on two machines made here.")
    parser.add_argument("--rate", type=float, default=1000, help="Mbit/s; 0: no limit [1000]")
    parser.add_argument("--delay", type=float, default=1, help="ms each way [1]")
    parser.add_argument("--mpirun", default="mpirun.openmpi", help="or mpirun.mpich [mpirun.openmpi]")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with TwoMachines(arguments.rate, arguments.delay, arguments.mpirun) as machines:
            print("two machines: round trip %.2f ms, %.0f Mbit/s" % machines.measure(), file=sys.stderr, flush=True)
            return machines.start(arguments.command).wait()
    except Skipped as why:
        print(f"skipped: {why}")
        return 77


if __name__ == "__main__":
    sys.exit(main())
