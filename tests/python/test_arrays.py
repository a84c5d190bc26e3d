"""Arrays in and out without copies, lifetimes, threads, memory."""
import array
import gc
import resource
import sys
import threading
import unittest
import weakref

import gradus
from gradus import Error, tensor

try:
    import numpy as np
except ImportError:
    np = None
try:
    import torch
except ImportError:
    torch = None


class Buffers(unittest.TestCase):
    def test_of_the_standard_library(self):
        values = array.array("d", [1, 2, 3])
        x = gradus.from_numpy(values)
        values[1] = 7
        self.assertEqual(x.tolist(), [1, 7, 3])
        with self.assertRaises(BufferError):
            values.append(4)  # the tensor holds it
        del x
        values.append(4)
        view = memoryview(gradus.ones(2, 3))
        self.assertEqual((view.shape, view.format, view.tolist()), ((2, 3), "f", [[1, 1, 1], [1, 1, 1]]))

    def test_a_view_outlives_what_its_object_becomes(self):
        x = gradus.ones(4, requires_grad=True) * 1
        view = memoryview(x)
        x.masked_fill_(tensor([True] * 4), 5)  # the object is that of the result
        gc.collect()
        self.assertEqual((view.tolist(), x.tolist()), ([1] * 4, [5] * 4))

    def test_read_only(self):
        x = gradus.ones(2, requires_grad=True)
        self.assertTrue(memoryview(x).readonly)
        with self.assertRaisesRegex(Error, "read-only"):
            gradus.from_numpy(memoryview(b"12345678").cast("d"))


@unittest.skipIf(np is None, "NumPy is not installed")
class NumPy(unittest.TestCase):
    DTYPES = ["float32", "float64", "int64", "bool"]

    def test_same_address(self):
        for dtype in self.DTYPES:
            for make in (lambda a: a, lambda a: a.T, lambda a: a[:, ::2], lambda a: a[1:, 0]):
                with self.subTest(dtype=dtype):
                    a = make(np.arange(12).reshape(3, 4).astype(dtype))
                    x = gradus.from_numpy(a)
                    self.assertEqual(x.data_ptr(), a.ctypes.data)
                    np.testing.assert_array_equal(np.asarray(x), a)
                    for b in (x.numpy(), np.asarray(x), np.array(x, copy=False), np.asarray(memoryview(x))):
                        self.assertEqual((b.ctypes.data, b.strides, b.dtype), (a.ctypes.data, a.strides, a.dtype))
                    self.assertEqual(gradus.as_tensor(a).data_ptr(), a.ctypes.data)
                    self.assertNotEqual(tensor(a).data_ptr(), a.ctypes.data)
                    if dtype != "bool" and hasattr(np, "from_dlpack"):
                        self.assertEqual(np.from_dlpack(x).ctypes.data, a.ctypes.data)
                        self.assertEqual(gradus.from_dlpack(a).data_ptr(), a.ctypes.data)

    def test_shared_values(self):
        a = np.zeros(3)
        x = gradus.from_numpy(a)
        a[0] = 1
        x[1] = 2
        x.numpy()[2] = 3
        self.assertEqual((a.tolist(), x.tolist()), ([1, 2, 3], [1, 2, 3]))

    def test_lifetimes(self):
        a = np.arange(1000.0)
        alive = weakref.ref(a)
        x = gradus.from_numpy(a)[10:20] * 1 + gradus.from_numpy(a)[10:20]
        view = gradus.from_numpy(a)[10:20]
        del a
        gc.collect()
        self.assertIsNotNone(alive())
        self.assertEqual(view.tolist(), list(range(10, 20)))
        del view
        gc.collect()
        self.assertIsNone(alive())
        self.assertEqual(x[0].item(), 20)

        x = gradus.arange(1000, dtype=gradus.float64)
        b, c = x.numpy(), np.from_dlpack(x)
        del x
        gc.collect()
        [gradus.zeros(1000, dtype=gradus.float64) for _ in range(10)]  # would use freed memory again
        self.assertEqual((b[999], c[999]), (999, 999))

    def test_freed_by_another_thread(self):
        a = np.ones(10)
        alive = weakref.ref(a)
        box = [gradus.from_numpy(a)]
        del a
        thread = threading.Thread(target=box.clear)
        thread.start()
        thread.join()
        gc.collect()
        self.assertIsNone(alive())

    def test_refusals(self):
        with self.assertRaisesRegex(Error, "shares float32, float64, int64 and bool, got format 'i'"):
            gradus.from_numpy(np.ones(2, dtype=np.int32))
        with self.assertRaisesRegex(Error, "strides must be at least 0"):
            gradus.from_numpy(np.arange(3.0)[::-1])
        with self.assertRaisesRegex(Error, "detach"):
            gradus.ones(2, requires_grad=True).numpy()
        with self.assertRaisesRegex(Error, "detach"):
            gradus.ones(2, requires_grad=True).__dlpack__()

    def test_conversions(self):
        for dtype, want in (("int8", "int64"), ("uint8", "int64"), ("int16", "int64"), ("uint16", "int64"), ("int32", "int64"),
                            ("uint32", "int64"), ("float16", "float32"), ("int64", "int64"), ("float64", "float64")):
            a = np.array([[1, 2], [3, 100]], dtype=dtype)[:, ::-1]
            x = tensor(a)
            self.assertEqual((x.dtype.name, x.tolist()), (want, a.tolist()))
        halves = np.array([0.1, -2.5, 6e-8, 65504, np.inf], dtype=np.float16)
        self.assertEqual(tensor(halves).tolist(), halves.astype(np.float32).tolist())
        self.assertEqual(tensor([np.float32(1.5), np.int64(2)]).tolist(), [1.5, 2])
        self.assertEqual(tensor([np.ones(2), np.zeros(2)]).tolist(), [[1, 1], [0, 0]])
        self.assertEqual((tensor([1.0]) * np.float32(2) + np.int64(1)).tolist(), [3])
        self.assertEqual((np.float64(2) * tensor([1.0])).tolist(), [2])


@unittest.skipIf(torch is None, "PyTorch is not installed")
class PyTorch(unittest.TestCase):
    def test_same_address(self):
        for dtype in ("float32", "float64", "int64"):
            t = torch.arange(12).reshape(3, 4).to(getattr(torch, dtype)).T
            x = gradus.from_dlpack(t)
            self.assertEqual((x.data_ptr(), x.tolist()), (t.data_ptr(), t.tolist()))
            self.assertEqual(gradus.as_tensor(t).data_ptr(), t.data_ptr())
            back = torch.from_dlpack(x)
            self.assertEqual((back.data_ptr(), back.stride()), (t.data_ptr(), t.stride()))

    def test_lifetimes(self):
        t = torch.arange(100.0)
        x = gradus.from_dlpack(t)
        del t
        gc.collect()
        [torch.zeros(100) for _ in range(10)]
        self.assertEqual(x.tolist(), list(range(100)))
        x = gradus.arange(100, dtype=gradus.float32)
        t = torch.from_dlpack(x)
        del x
        [gradus.zeros(100) for _ in range(10)]
        self.assertEqual(t.tolist(), list(range(100)))


class Memory(unittest.TestCase):
    def test_a_million_tensors(self):
        def work(count):
            w = gradus.ones(8, requires_grad=True)
            for i in range(count):
                y = (w * 2.0)[1:]
                if i % 100 == 0:
                    y.sum().backward()
                if np is not None and i % 10 == 0:
                    y = gradus.from_numpy(np.ones(3)).numpy()
                    np.from_dlpack(gradus.ones(3))
                    memoryview(gradus.ones(2))
                x = gradus.tensor([1.0])
                del x

        work(20_000)
        gc.collect()
        bytes_before, peak_before = gradus.memory_bytes(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        references = sys.gettotalrefcount() if hasattr(sys, "gettotalrefcount") else 0
        work(350_000)  # three tensors each
        gc.collect()
        self.assertEqual(gradus.memory_bytes(), bytes_before)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak_before, 2048)  # KiB
        if references:
            self.assertLess(sys.gettotalrefcount() - references, 1000)


class Threads(unittest.TestCase):
    def test_kernels_release_the_lock(self):
        count = [0]
        done = threading.Event()

        def work():
            a = gradus.ones(700, 700)
            for _ in range(5):
                a @ a
            done.set()
        thread = threading.Thread(target=work)
        thread.start()
        while not done.is_set():
            count[0] += 1
        thread.join()
        self.assertGreater(count[0], 0)

    def test_four_models(self):
        def train(seed, results):
            g = gradus.Generator(seed)
            x, w = gradus.randn(256, 32, generator=g), gradus.randn(32, 1, generator=g)
            y = x @ w
            a = (gradus.randn(32, 64, generator=g) * 0.1).requires_grad_()
            b = (gradus.randn(64, 1, generator=g) * 0.1).requires_grad_()
            losses = []
            for _ in range(60):
                loss = gradus.mse_loss((x @ a).tanh() @ b, y)
                a.grad = b.grad = None
                loss.backward()
                with gradus.no_grad():
                    a -= 0.1 * a.grad
                    b -= 0.1 * b.grad
                losses.append(loss.item())
            results[seed] = losses

        alone, together = {}, {}
        for seed in range(4):
            train(seed, alone)
        threads = [threading.Thread(target=train, args=(seed, together)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(alone, together)
        self.assertLess(alone[0][-1], 0.5 * alone[0][0])


if __name__ == "__main__":
    unittest.main()
