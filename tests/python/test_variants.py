"""Programs written for PyTorch, in the idioms of notebooks on attention, print the same with GRADUS_AS_TORCH as with PyTorch 1.13."""
import os
import pathlib
import subprocess
import sys
import unittest

import gradus
from test_torch import pytorch

FOLDER = pathlib.Path(__file__).parent / "variants"
PACKAGE = pathlib.Path(gradus.__file__).parent
CPU = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
# gradus chooses the kernels of OpenBLAS by the processor's instructions, PyTorch by its model, which OpenBLAS may not know: they
# add in another order. With the same ones both have the same bits.
KERNELS = {"OPENBLAS_CORETYPE": "SkylakeX" if " avx512f" in CPU else "Haswell"} if " avx2" in CPU else {}


def printed(program, path):
    run = subprocess.run([sys.executable, "-B", program], capture_output=True, text=True,
                         env={**KERNELS, **os.environ, "PYTHONPATH": os.pathsep.join(path), "GRADUS_AS_TORCH": "1"})
    return run.stdout + run.stderr


@unittest.skipIf(pytorch is None, "needs PyTorch 1.13 without MKL")
class Variants(unittest.TestCase):
    def test_they_print_the_same(self):
        programs = sorted(FOLDER.glob("*.py"))
        self.assertGreater(len(programs), 4)
        for program in programs:
            with self.subTest(program.stem):
                want = printed(program, [])
                self.assertGreater(want.count("\n"), 40)
                self.assertEqual(printed(program, [str(PACKAGE / "as_torch"), str(PACKAGE.parent)]), want)


if __name__ == "__main__":
    unittest.main()
