"""Times: what an operation of Python costs, in microseconds. `ctest -C soak -R python.overhead`."""
import time
import unittest

import gradus


def microseconds(operation, x, count=1000, repeats=200):
    """The least time of one operation in a chain of `count`."""
    best = float("inf")
    for _ in range(repeats):
        y = x
        begin = time.perf_counter()
        for _ in range(count):
            y = operation(y)
        best = min(best, time.perf_counter() - begin)
    return best / count * 1e6


class Overhead(unittest.TestCase):
    def test_chains(self):
        x = gradus.ones(8)
        w = gradus.ones(8, requires_grad=True)
        for name, operation, start in (
                ("x + x", lambda y: y + x, x), ("x.tanh()", lambda y: y.tanh(), x), ("x * 1.0", lambda y: y * 1.0, x),
                ("softmax(x, dim=0)", lambda y: gradus.softmax(y, dim=0), x), ("w * x, recorded", lambda y: y * x, w)):
            with self.subTest(name=name):
                took = microseconds(operation, start)
                print(f"{name:20} {took:.2f} us")
                self.assertLess(took, 1.0)  # with the operation itself


if __name__ == "__main__":
    unittest.main()
