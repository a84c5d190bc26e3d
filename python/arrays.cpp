// Arrays in and out: Python's buffer protocol (NumPy, array, memoryview) and DLPack (NumPy, PyTorch, JAX).
// Neither needs a header of those packages, so one binary serves all their versions.
//
// What shares memory keeps its owner: a tensor holds the array that it borrows from until its storage is
// freed, and an array holds the tensor's object.
#include <numeric>
#include <utility>

#include "gradus/python/operation.hpp"

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

py::object to_dlpack(const Tensor& x) {
  if (is_storage(x.dtype()))
    fail("dlpack", "needs values to compute with, got ", name(x.dtype()), ". Hint: to(gradus.float32).");
  if (x.requires_grad())
    fail("dlpack", "a tensor that requires a gradient is not shared. Hint: detach() it first.");
  auto* const held = new Tensor(x);  // its shape and strides are those of the description
  auto* const shape = const_cast<int64_t*>(held->shape().begin());
  auto* const strides = const_cast<int64_t*>(held->strides().begin());
  const DLTensor view{
      const_cast<void*>(x.raw_data()), {1, 0}, x.dim(), dl_type(x.dtype()), shape, strides, 0};
  auto* const exported = new DLManagedTensor{view, held, [](DLManagedTensor* m) {
                                               const py::gil_scoped_acquire lock;
                                               delete static_cast<Tensor*>(m->context);
                                               delete m;
                                             }};
  PyObject* const capsule = PyCapsule_New(exported, "dltensor", [](PyObject* self) {
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
  const Tensor x = borrowed(static_cast<char*>(t.data) + t.byte_offset, shape, strides, dtype, [m] {
    if (m->deleter && Py_IsInitialized()) {
      const py::gil_scoped_acquire lock;
      m->deleter(m);
    }
  });
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  return x;
}

// -- the buffer protocol

const char* format_of(DType dtype) {
  return dtype == DType::float32 ? "f" : dtype == DType::float64 ? "d" : dtype == DType::int64 ? "l" : "?";
}

// A tensor with its shape and strides, which a reader of the buffer owns: the Python object may have become
// another tensor since.
struct View {
  Tensor tensor;
  Py_ssize_t places[2 * kMaxDims];
};

std::optional<DType> dtype_of(const py::buffer_info& array) {
  const std::string& format = array.format;
  if (format.size() > 2 || (format.size() == 2 && std::string("<=@").find(format[0]) == std::string::npos))
    return {};
  const char letter = format.back() == 'q' ? 'l' : format.back();
  for (const DType dtype : {DType::float32, DType::float64, DType::int64, DType::boolean})
    if (*format_of(dtype) == letter && element_size(dtype) == array.itemsize) return dtype;
  return {};
}

Tensor shared_buffer(const py::buffer& o, bool only_read) {
  const std::shared_ptr<py::buffer_info> array(new py::buffer_info(o.request()), [](py::buffer_info* held) {
    const py::gil_scoped_acquire lock;
    delete held;
  });
  const std::optional<DType> dtype = dtype_of(*array);
  if (!dtype)
    fail("from_numpy", "shares float32, float64, int64 and bool, got format '", array->format,
         "'. Hint: gradus.tensor() copies and converts.");
  if (array->readonly && !only_read)
    fail("from_numpy",
         "needs an array that may be written, got a read-only one. Hint: gradus.tensor() copies it.");
  Shape strides;
  for (const py::ssize_t stride : array->strides) {
    if (stride % array->itemsize != 0)
      fail("from_numpy", "strides must be whole elements. Hint: gradus.tensor() copies the array.");
    strides.push_back(stride / array->itemsize);
  }
  return borrowed(array->ptr, Shape(array->shape), strides, *dtype, [array] {});
}

// Whether x has the order in memory that a request asks for.
bool has_order(const Tensor& x, int flags) {
  const auto asks = [flags](int what) { return (flags & what) == what; };
  const auto is_reversed = [&x] {
    std::vector<int64_t> dims(static_cast<size_t>(x.dim()));
    std::iota(dims.rbegin(), dims.rend(), 0);
    return x.detach().permute(dims).is_contiguous();
  };
  if (!asks(PyBUF_STRIDES) || asks(PyBUF_C_CONTIGUOUS)) return x.is_contiguous();
  if (asks(PyBUF_F_CONTIGUOUS)) return is_reversed();
  return !asks(PyBUF_ANY_CONTIGUOUS) || x.is_contiguous() || is_reversed();
}

}  // namespace

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  const Tensor& x = tensor_of(self);
  const bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  const char* const refused = is_storage(x.dtype()) ? "such values are only stored; convert them with to()"
                              : (flags & PyBUF_WRITABLE) && x.requires_grad()
                                  ? "a tensor that requires a gradient is read-only; detach() it first"
                              : !has_order(x, flags) ? "the tensor has not this order in memory"
                                                     : nullptr;
  if (refused) {
    PyErr_SetString(PyExc_BufferError, refused);
    return -1;
  }
  const int64_t size = element_size(x.dtype());
  auto* const exported = new View{x, {}};
  Py_ssize_t* const places = exported->places;
  for (int i = 0; i < x.dim(); ++i) {
    places[i] = x.shape()[i];
    places[kMaxDims + i] = x.strides()[i] * size;
  }
  void* const values = const_cast<void*>(x.raw_data());
  char* const format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format_of(x.dtype())) : nullptr;
  Py_ssize_t* const shape = (flags & PyBUF_ND) ? places : nullptr;
  Py_ssize_t* const strides = strided ? places + kMaxDims : nullptr;
  *view = {values, Py_NewRef(self), x.numel() * size, size,    x.requires_grad(), shape ? x.dim() : 1,
           format, shape,           strides,          nullptr, exported};
  return 0;
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<View*>(view->internal); }

void add_arrays(Table& t) {
  t(":from_numpy(array)", [](const py::buffer& array) { return shared_buffer(array, false); });
  // Also takes read-only memory, which the caller copies at once.
  t(":_readable(array)", [](const py::buffer& array) { return shared_buffer(array, true); });
  t(":from_dlpack(x)", of<from_dlpack>);
  t(".__dlpack__(input, stream=None)", [](const Tensor& x, const py::object&) { return to_dlpack(x); });
}

}  // namespace gradus::python
