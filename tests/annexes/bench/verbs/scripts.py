#!/usr/bin/env python3
"""The numbers of `sweep` and `plan`, against tables and what was computed by hand."""
import math
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

ANNEXES = Path(__file__).resolve().parents[4] / "annexes"


def script(path):
    """The names of a script, which begins with tools.py; it does not run its verb."""
    sys.argv[1:] = ["verb", "gradus", "table.toml", "out"]
    names = {"__name__": "script"}
    exec(compile((ANNEXES / "bench/tools.py").read_text() + (ANNEXES / path).read_text(), path, "exec"), names)
    return SimpleNamespace(**names)


sweep, plan = script("sweep/sweep.py"), script("bench/plan.py")


class Sweep(unittest.TestCase):
    def test_p_of_students_t_has_the_values_of_its_tables(self):
        for degrees, t, p in ((1, 12.706, 0.05), (2, 4.303, 0.05), (3, 3.182, 0.05), (4, 2.776, 0.05), (9, 2.262, 0.05),
                              (9, 3.250, 0.01), (10, 2.228, 0.05), (30, 2.042, 0.05), (5, 0, 1)):
            self.assertAlmostEqual(sweep.two_sided_p(t, degrees), p, delta=1e-3 * p, msg=f"{degrees} degrees")
            self.assertEqual(sweep.two_sided_p(-t, degrees), sweep.two_sided_p(t, degrees))

    def test_pairs_of_runs_have_a_difference_its_error_its_p_and_the_seeds_that_they_need(self):
        # The error is 0.01 / sqrt(3), t = 3.464 with 2 degrees; (2.8 * 0.01 / 0.005)^2 = 31.4, for 0.02 it is 1.96.
        first = {1: 1.50, 2: 1.52, 3: 1.51, 4: 9}
        self.assertEqual(sweep.comparison(first, {1: 1.49, 2: 1.50, 3: 1.48, 5: 2}), ["-0.0200 +- 0.0058", "0.074", str(2 + 32)])
        self.assertEqual(sweep.comparison({1: 1, 2: 2}, {1: 1, 2: 2}), ["+0.0000 +- 0.0000", "1.000", "2"])
        self.assertEqual(sweep.comparison({1: 1, 2: 2}, {1: 2, 2: 3}), ["+1.0000 +- 0.0000", "<0.001", "2"])
        self.assertEqual(sweep.comparison(first, {1: 1.49}), ["", "", ""])
        self.assertEqual(sweep.mean_text([1.25], 1), "1.2")

    def test_durations(self):
        self.assertEqual([sweep.duration(s) for s in (7, 59.6, 185, 7620)], ["7 s", "1 min 00 s", "3 min 05 s", "2 h 07 min"])


def work_of(machines, early=(0, 0, 0), first=100, **other):
    """Two parameters of 100 and one of 50 values; on two machines the first owns 100, the other 150."""
    parts = zip((first, 100, 50), (9, 5, 4), early, (0, 1, 1 if machines == 2 else 2))
    return {"machines": machines, "micro": 1, "passes": 2, "pass": 4, "update": 3, "parts": list(parts) if machines > 1 else [],
            "value_bytes": 4, "busy_cores": 0, "memory": (1000, 10), **other}


def time_of(work, network=(1000, 0.5)):  # bytes a second, and seconds of a message
    time, received = plan.step_time(work, *network)
    return {**time, "received": received, "total": sum(time.values())}


MESSAGES = 6 * 90e-6 + 2000 * 0.4e-9  # a gradient and a parameter for each of the three, 1,000 bytes in each direction


class Plan(unittest.TestCase):
    def test_the_times_of_a_step(self):
        for why, time, expected in (
                ("one machine sends nothing", time_of(work_of(1)), {"total": 11, "compute": 8, "update": 3, "received": 0}),
                ("a network without limits", time_of(work_of(4), (math.inf, 0)), {"total": 11}),
                # 150 values of 4 bytes, and back; order, losses, norms, gradients, parameters.
                ("all gradients are there at the end of backward", time_of(work_of(2, update=0)),
                 {"gradients": 0.6, "parameters": 0.6, "latency": 2.5, "received": 600}),
                # 100 values of 2 machines.
                ("an owner receives one from each other", time_of(work_of(3)), {"gradients": 0.8, "parameters": 0.8, "received": 800}),
                # The second is sent at -5, done at -4.6; the third at -0.1, done at 0.1; the first the other way at -0.3, done at 0.1.
                ("what is sent early is hidden, in order", time_of(work_of(2, (0.3, 5, 0.1))), {"gradients": 0.1}),
                ("and no more than that", time_of(work_of(2, (5, 5, 5))), {"gradients": 0}),
                # 9 of 9 at the end; on the other owner 5 of 9 before it.
                ("a parameter is sent while its owner updates the next", time_of(work_of(2)), {"parameters": 0.4, "messages": 0}),
                ("bfloat16 halves bytes", time_of(work_of(2, value_bytes=2)), {"gradients": 0.3, "parameters": 0.2, "received": 300}),
                ("sums are sent apart", time_of(work_of(2, passes=7)), {"gradients": 1.8, "parameters": 0.4, "received": 1800}),
                ("long messages wait for an answer first", time_of(work_of(2, first=20000)), {"latency": 4.5}),
                ("messages take processor time", time_of(work_of(2, busy_cores=1)), {"messages": MESSAGES}),
                ("of several cores", time_of(work_of(2, busy_cores=4)), {"messages": MESSAGES / 4})):
            for name, value in expected.items():
                self.assertAlmostEqual(time[name], value, places=9, msg=f"{why}: {name}")

    def test_memory_has_sums_of_earlier_micro_batches_and_gradients_of_others(self):
        self.assertEqual(plan.memory_of(work_of(1), 0), 1000)
        self.assertEqual(plan.memory_of(work_of(1, micro=5, passes=5), 0), 1020)
        self.assertEqual(plan.memory_of(work_of(2, micro=2, passes=1), 7), 1007 + 25e6)

    def test_networks_have_names_or_a_rate_and_a_delay(self):
        for text, bandwidth, latency in (("10GbE", 0.94 * 1.25e9, 130e-6), ("200Mbit,1.5ms", 25e6, 1.5e-3)):
            self.assertAlmostEqual(plan.network_from(text)[0], bandwidth)
            self.assertAlmostEqual(plan.network_from(text)[1], latency)
        plan.network_from.__globals__["fail"] = refuse
        for wrong in ("", "10", "200Mbit", "200Mbit,1", "0Mbit,1ms", "200Mbit,-1ms", "200Mbit,1ms "):
            self.assertRaises(ValueError, plan.network_from, wrong)


def refuse(message):
    raise ValueError(message)


unittest.main(argv=sys.argv[:1])
