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

// What a consumer of DLPack holds: the tensor, and its shape and strides.
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

// What a reader of the buffer holds: the tensor, which its object may have ceased to be, and its shape and
// strides.
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

Tensor shared_buffer(PyObject* o) {
  Buffer buffer(o, PyBUF_STRIDES | PyBUF_FORMAT);
  const std::optional<DType> dtype = same_dtype(buffer.letter(), (*buffer).itemsize);
  if (!dtype)
    fail("from_numpy", "shares float32, float64, int64 and bool, got format '",
         (*buffer).format ? (*buffer).format : "B", "'. Hint: gradus.tensor() copies and converts.");
  if ((*buffer).readonly)
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

float from_half(uint16_t half) {
  const int exponent = (half >> 10) & 31, fraction = half & 1023;
  const float size = exponent == 31  ? (fraction ? NAN : INFINITY)
                     : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                     : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return half & 0x8000 ? -size : size;
}

// Packed elements of type From as a tensor of T.
template <class From, class T, class F>
Tensor converted(const void* packed, const Shape& shape, const F& f) {
  Tensor x = empty(shape, dtype_of<T>);
  T* const to = x.mutable_data<T>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    From from;
    std::memcpy(&from, static_cast<const char*>(packed) + i * static_cast<int64_t>(sizeof from), sizeof from);
    to[i] = f(from);
  }
  return x;
}
template <class From, class T = int64_t>
Tensor converted(const void* packed, const Shape& shape) {
  return converted<From, T>(packed, shape, [](From x) { return static_cast<T>(x); });
}

Tensor copied_buffer(PyObject* o) {
  const Buffer buffer(o, PyBUF_FULL_RO);
  std::vector<char> packed(static_cast<size_t>((*buffer).len));
  if (PyBuffer_ToContiguous(packed.data(), &*buffer, (*buffer).len, 'C') != 0) throw py::error_already_set();
  const void* const data = packed.data();
  const Shape shape = buffer.shape();
  switch (buffer.letter()) {
    case 'f':
      return converted<float, float>(data, shape);
    case 'd':
      return converted<double, double>(data, shape);
    case 'e':
      return converted<uint16_t, float>(data, shape, from_half);
    case '?':
      return converted<bool, bool>(data, shape);
    case 'b':
      return converted<int8_t>(data, shape);
    case 'B':
      return converted<uint8_t>(data, shape);
    case 'h':
      return converted<int16_t>(data, shape);
    case 'H':
      return converted<uint16_t>(data, shape);
    case 'i':
      return converted<int32_t>(data, shape);
    case 'I':
      return converted<uint32_t>(data, shape);
    case 'l':
    case 'q':
      return converted<int64_t>(data, shape);
    default:
      fail("tensor", "takes arrays of numbers, got format '", (*buffer).format ? (*buffer).format : "B",
           "'. Hint: astype('float32') or astype('int64').");
  }
}

// -- nested lists

struct Lists {
  Shape shape{};
  std::vector<double> numbers{};
  std::vector<int64_t> wholes{};  // the same, where they are whole
  DType dtype = DType::boolean;   // the highest of those met

  void read(py::handle o, int depth) {
    if (PyList_Check(o.ptr()) || PyTuple_Check(o.ptr())) return read_all(o, depth);
    if (depth != shape.size()) fail("tensor", "lists must be nested to one depth, got others.");
    if (is_tensor(o.ptr())) {
      const Tensor& x = tensor_of(o.ptr());
      dtype = std::max(dtype, x.dtype(), by_rank);
      return add(x.item(), x.dtype() == DType::int64 ? *x.data<int64_t>() : 0);
    }
    if (PyBool_Check(o.ptr())) return add(o.ptr() == Py_True, o.ptr() == Py_True);
    if (PyLong_Check(o.ptr()) || (PyIndex_Check(o.ptr()) && !PyFloat_Check(o.ptr()))) {
      dtype = std::max(dtype, DType::int64, by_rank);
      const long long whole = o.cast<long long>();
      return add(static_cast<double>(whole), whole);
    }
    dtype = std::max(dtype, DType::float32, by_rank);
    double number = 0;
    if (!number_from(o.ptr(), number))
      fail("tensor", "takes numbers, nested lists of them, arrays and tensors, got ",
           std::string(py::str(py::type::handle_of(o).attr("__name__"))), ".");
    add(number, 0);
  }

 private:
  static bool by_rank(DType a, DType b) {
    constexpr int rank[] = {2, 3, 1, 0};  // float32, float64, int64, bool
    return rank[static_cast<int>(a)] < rank[static_cast<int>(b)];
  }
  void add(double number, int64_t whole) {
    numbers.push_back(number);
    wholes.push_back(whole);
  }
  void read_all(py::handle o, int depth) {
    const auto n = static_cast<int64_t>(py::len(o));
    if (depth == shape.size()) {
      if (!numbers.empty()) fail("tensor", "lists must be nested to one depth, got others.");
      shape.push_back(n);
    }
    if (shape[depth] != n)
      fail("tensor", "lists at one depth must be of one length, got ", shape[depth], " and ", n, ".");
    for (const py::handle item : o) {
      const bool is_array = !PyList_Check(item.ptr()) && !PyTuple_Check(item.ptr()) &&
                            (is_tensor(item.ptr()) ? tensor_of(item.ptr()).dim() > 0
                                                   : PyObject_HasAttrString(item.ptr(), "tolist") &&
                                                         py::hasattr(item, "__len__"));
      read(is_array ? py::object(item.attr("tolist")()) : py::reinterpret_borrow<py::object>(item),
           depth + 1);
    }
  }
};

}  // namespace

Tensor tensor_from(PyObject* data, std::optional<DType> dtype) {
  Tensor x;
  if (is_tensor(data)) {
    x = tensor_of(data).detach();
    x = view_of(x, x.shape(), x.strides(), x.impl()->offset);
    Tensor copy = empty(x.shape(), dtype.value_or(x.dtype()));
    copy.copy_(x);
    return copy;
  }
  if (PyObject_CheckBuffer(data) && !PyBytes_Check(data)) {
    x = copied_buffer(data);
  } else if (!PyList_Check(data) && !PyTuple_Check(data) && PyObject_HasAttrString(data, "__dlpack__")) {
    return tensor_from(
        py::reinterpret_steal<py::object>(wrap(from_dlpack(py::reinterpret_borrow<py::object>(data)))).ptr(),
        dtype);
  } else {
    Lists lists;
    if (PySequence_Check(data) && !PyList_Check(data) && !PyTuple_Check(data) && !PyUnicode_Check(data) &&
        py::hasattr(data, "__len__"))
      lists.read(py::list(py::reinterpret_borrow<py::object>(data)), 0);
    else
      lists.read(data, 0);
    if (lists.numbers.empty()) lists.dtype = DType::float32;
    if (dtype == DType::float64) lists.dtype = DType::float64;  // without rounding to float32 first
    switch (lists.dtype) {
      case DType::int64:
        x = tensor(lists.wholes, lists.shape);
        break;
      case DType::float64:
        x = tensor(lists.numbers, lists.shape);
        break;
      case DType::boolean:
        x = tensor(std::vector<bool>(lists.wholes.begin(), lists.wholes.end()), lists.shape);
        break;
      default:
        x = tensor(std::vector<float>(lists.numbers.begin(), lists.numbers.end()), lists.shape);
    }
  }
  return dtype ? x.to(*dtype) : x;
}

Tensor shared_from(PyObject* data) {
  if (is_tensor(data)) return tensor_of(data);
  if (PyObject_CheckBuffer(data)) return shared_buffer(data);
  return from_dlpack(py::reinterpret_borrow<py::object>(data));
}

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
      "tensor",
      [](py::handle data, std::optional<DType> dtype, bool requires_grad) {
        return tensor_from(data.ptr(), dtype).requires_grad_(requires_grad);
      },
      py::arg("data"), py::arg("dtype") = py::none(), py::arg("requires_grad") = false);
  m.def(
      "from_numpy", [](py::handle array) { return shared_buffer(array.ptr()); }, py::arg("array"));
  m.def("from_dlpack", &from_dlpack, py::arg("x"));
  m.def(
      "shared", [](py::handle data) { return shared_from(data.ptr()); }, py::arg("data"));
  m.def("to_dlpack", &to_dlpack, py::arg("x"));
}

}  // namespace gradus::python
