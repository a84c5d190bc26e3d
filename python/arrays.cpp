// Arrays in and out: Python's buffer protocol (NumPy, array, memoryview) and DLPack (NumPy, PyTorch, JAX).
// Neither needs a header of those packages, so one binary serves all their versions.
//
// What shares memory keeps its owner: a tensor holds the array that it borrows from until its storage is
// freed, and an array holds the tensor's object.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/python/casters.hpp"

namespace gradus::python {
namespace {

// -- DLPack, version 0 (github.com/dmlc/dlpack, dlpack.h)

struct DLDevice {
  int32_t type, id;  // 1, 0: the CPU
};
struct DLDataType {
  uint8_t code, bits;  // 0: int, 2: float, 6: bool
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // null: packed
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};

DLDataType dl_type(DType dtype) {
  const uint8_t code = is_floating(dtype) ? 2 : dtype == DType::int64 ? 0 : 6;
  return {code, static_cast<uint8_t>(8 * element_size(dtype)), 1};
}

const Tensor& check_shareable(const char* op, const Tensor& x) {
  if (is_storage(x.dtype()))
    fail(op, "needs values to compute with, got ", name(x.dtype()), ". Hint: to(gradus.float32).");
  return x;
}

// A tensor with its shape and strides, which a consumer of DLPack owns.
struct Exported {
  explicit Exported(const Tensor& x) : tensor(x) {
    managed.tensor = {
        const_cast<void*>(x.raw_data()), {1, 0}, x.dim(), dl_type(x.dtype()), shape, strides, 0};
    for (int i = 0; i < x.dim(); ++i) {
      shape[i] = x.shape()[i];
      strides[i] = x.strides()[i];
    }
    managed.context = this;
    managed.deleter = [](DLManagedTensor* m) {
      const py::gil_scoped_acquire lock;
      delete static_cast<Exported*>(m->context);
    };
  }
  Tensor tensor;
  int64_t shape[kMaxDims], strides[kMaxDims];
  DLManagedTensor managed;
};

py::object to_dlpack(const Tensor& x) {
  check_shareable("dlpack", x);
  if (x.requires_grad())
    fail("dlpack", "a tensor that requires a gradient is not shared. Hint: detach() it first.");
  auto* const exported = new Exported(x);
  PyObject* const capsule = PyCapsule_New(&exported->managed, "dltensor", [](PyObject* self) {
    if (!PyCapsule_IsValid(self, "dltensor")) return;  // a consumer has taken it
    auto* const m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(self, "dltensor"));
    m->deleter(m);
  });
  return py::reinterpret_steal<py::object>(capsule);
}

DType dtype_of_dl(const DLDataType& t) {
  for (const DType dtype : {DType::float32, DType::float64, DType::int64, DType::boolean}) {
    const DLDataType known = dl_type(dtype);
    if (t.code == known.code && t.bits == known.bits && t.lanes == 1) return dtype;
  }
  fail("from_dlpack", "shares float32, float64, int64 and bool, got code ", int{t.code}, " of ", int{t.bits},
       " bits. Hint: convert the values first.");
}

Tensor from_dlpack(const py::object& o) {
  const py::object capsule = py::hasattr(o, "__dlpack__") ? py::object(o.attr("__dlpack__")()) : o;
  if (!PyCapsule_IsValid(capsule.ptr(), "dltensor"))
    fail("from_dlpack", "needs an object with __dlpack__, or a capsule of one that nobody has taken.");
  auto* const m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  const DLTensor& t = m->tensor;
  if (t.device.type != 1) fail("from_dlpack", "needs values on the CPU, got device ", t.device.type, ".");
  const Shape shape(t.shape, t.shape + t.ndim);
  const Shape strides = t.strides ? Shape(t.strides, t.strides + t.ndim) : contiguous_strides(shape);
  const DType dtype = dtype_of_dl(t.dtype);
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  return borrowed(static_cast<char*>(t.data) + t.byte_offset, shape, strides, dtype, [m] {
    if (m->deleter && Py_IsInitialized()) {
      const py::gil_scoped_acquire lock;
      m->deleter(m);
    }
  });
}

// -- the buffer protocol

const char* format_of(DType dtype) {
  return dtype == DType::float32 ? "f" : dtype == DType::float64 ? "d" : dtype == DType::int64 ? "q" : "?";
}

// A tensor with its shape and strides, which a reader of the buffer owns: the Python object may have become
// another tensor since.
struct View {
  Tensor tensor;
  Py_ssize_t places[2 * kMaxDims];
};

// An array that is open for reading.
class Buffer {
 public:
  Buffer(PyObject* o, int flags) : view_(new Py_buffer) {
    if (PyObject_GetBuffer(o, view_, flags) == 0) return;
    delete view_;
    throw py::error_already_set();
  }
  ~Buffer() {
    if (view_) close(view_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const Py_buffer& operator*() const { return *view_; }
  Py_buffer* take() { return std::exchange(view_, nullptr); }
  static void close(Py_buffer* view) {
    PyBuffer_Release(view);
    delete view;
  }
  // The letter of the elements' type (struct's), native; 0 for others.
  char letter() const {
    const std::string format = view_->format ? view_->format : "B";
    if (format.size() == 1) return format[0];
    return format.size() == 2 && (format[0] == '<' || format[0] == '=' || format[0] == '@') ? format[1]
                                                                                            : '\0';
  }
  Shape shape() const { return {view_->shape, view_->shape + view_->ndim}; }

 private:
  Py_buffer* view_;
};

std::optional<DType> same_dtype(char letter, Py_ssize_t size) {
  if (letter == 'f') return DType::float32;
  if (letter == 'd') return DType::float64;
  if ((letter == 'q' || letter == 'l') && size == 8) return DType::int64;
  if (letter == '?') return DType::boolean;
  return {};
}

Tensor shared_buffer(PyObject* o, bool only_read) {
  Buffer buffer(o, PyBUF_STRIDES | PyBUF_FORMAT);
  const std::optional<DType> dtype = same_dtype(buffer.letter(), (*buffer).itemsize);
  if (!dtype)
    fail("from_numpy", "shares float32, float64, int64 and bool, got format '",
         (*buffer).format ? (*buffer).format : "B", "'. Hint: gradus.tensor() copies and converts.");
  if ((*buffer).readonly && !only_read)
    fail("from_numpy",
         "needs an array that may be written, got a read-only one. Hint: gradus.tensor() copies it.");
  Shape strides;
  for (int i = 0; i < (*buffer).ndim; ++i) {
    if ((*buffer).strides[i] % (*buffer).itemsize != 0)
      fail("from_numpy", "strides must be whole elements. Hint: gradus.tensor() copies the array.");
    strides.push_back((*buffer).strides[i] / (*buffer).itemsize);
  }
  const Shape shape = buffer.shape();
  void* const data = (*buffer).buf;
  const std::shared_ptr<Py_buffer> view(buffer.take(), [](Py_buffer* held) {
    if (!Py_IsInitialized()) return;
    const py::gil_scoped_acquire lock;
    Buffer::close(held);
  });
  return borrowed(data, shape, strides, *dtype, [view] {});
}

}  // namespace

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  try {
    const Tensor& x = check_shareable("buffer", tensor_of(self));
    const bool read_only = x.requires_grad();
    if ((flags & PyBUF_WRITABLE) && read_only)
      throw py::buffer_error("a tensor that requires a gradient is read-only; detach() it first");
    const bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    if (!strided && !x.is_contiguous()) throw py::buffer_error("the tensor is not contiguous");
    const int64_t size = element_size(x.dtype());
    auto* const exported = new View{x, {}};
    Py_ssize_t* const places = exported->places;
    for (int i = 0; i < x.dim(); ++i) {
      places[i] = x.shape()[i];
      places[kMaxDims + i] = x.strides()[i] * size;
    }
    *view = {const_cast<void*>(x.raw_data()),
             Py_NewRef(self),
             x.numel() * size,
             size,
             read_only,
             x.dim(),
             (flags & PyBUF_FORMAT) ? const_cast<char*>(format_of(x.dtype())) : nullptr,
             (flags & PyBUF_ND) ? places : nullptr,
             strided ? places + kMaxDims : nullptr,
             nullptr,
             exported};
    return 0;
  } catch (...) {
    set_python_error();
    if (!PyErr_ExceptionMatches(PyExc_BufferError)) {  // what the protocol raises
      const py::error_already_set error;
      PyErr_SetString(PyExc_BufferError, py::str(error.value()).cast<std::string>().c_str());
    }
    return -1;
  }
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<View*>(view->internal); }

void add_arrays(py::module_& m) {
  m.def(
      "from_numpy", [](py::handle array) { return shared_buffer(array.ptr(), false); }, py::arg("array"));
  // Also takes read-only memory, which the caller copies at once.
  m.def(
      "readable", [](py::handle array) { return shared_buffer(array.ptr(), true); }, py::arg("array"));
  m.def("from_dlpack", &from_dlpack, py::arg("x"));
  m.def("to_dlpack", &to_dlpack, py::arg("x"));
}

}  // namespace gradus::python
