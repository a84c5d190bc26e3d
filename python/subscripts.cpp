// Subscripts as NumPy and PyTorch read them.
#include <cmath>
#include <variant>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/python/casters.hpp"
#include "gradus/python/object.hpp"

namespace gradus::python {
namespace {

Tensor tensor_made_of(PyObject* data) {
  return tensor_of(py::handle(registered().make_tensor)(py::handle(data)).ptr());
}

TensorIndex subscript_from(PyObject* o) {
  if (is_tensor(o)) return tensor_of(o);
  if (PyBool_Check(o)) return full({}, o == Py_True ? 1.0 : 0.0, DType::boolean);
  if (o == Py_None) return None;
  if (o == Py_Ellipsis) return Ellipsis;
  if (PySlice_Check(o)) {
    Py_ssize_t start = 0, stop = 0, step = 0;
    if (PySlice_Unpack(o, &start, &stop, &step) != 0) throw py::error_already_set();
    return Slice(start, stop, step);
  }
  if (PyIndex_Check(o) && (!PyObject_CheckBuffer(o) || !PyObject_HasAttrString(o, "__len__"))) {
    const Py_ssize_t place = PyNumber_AsSsize_t(o, PyExc_IndexError);
    if (place == -1 && PyErr_Occurred()) throw py::error_already_set();
    return place;
  }
  const Tensor list = tensor_made_of(o);
  return list.numel() == 0 ? list.to(DType::int64) : list;
}

struct Key {
  explicit Key(PyObject* key) {
    const Py_ssize_t n = PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1;
    for (Py_ssize_t i = 0; i < n; ++i) {
      subscripts.push_back(subscript_from(PyTuple_Check(key) ? PyTuple_GET_ITEM(key, i) : key));
      has_tensors = has_tensors || std::holds_alternative<Tensor>(subscripts.back().value());
    }
  }
  std::vector<TensorIndex> subscripts;
  bool has_tensors = false;
};

Tensor value_from(PyObject* value, DType dtype) {
  if (is_tensor(value)) return tensor_of(value);
  double number = 0;
  if (!number_from(value, number)) return tensor_made_of(value).to(dtype);
  if (dtype == DType::int64 && number != std::floor(number))
    fail("setitem", "an int64 tensor takes whole numbers, got ", number, ".");
  const auto operand = py::cast<Operand>(py::handle(value));  // which has a tensor for large whole numbers
  return operand.tensor.defined() ? operand.tensor : full({}, number, dtype);
}

// The value without dimensions of one element in front of those of the places.
Tensor fitted(const Tensor& value, const Tensor& places) {
  return value.dim() > places.dim() && value.size(0) == 1 ? fitted(value.select(0, 0), places) : value;
}

// x with `value` at the places of the key; recorded if gradients flow to one of them.
Tensor with_values(const Tensor& x, const Key& key, const Tensor& value) {
  const Tensor places = arange(0, static_cast<double>(x.numel())).reshape(x.shape()).index(key.subscripts);
  const Tensor source = fitted(value, places).to(x.dtype()).expand(places.shape()).reshape({-1});
  return scatter(x.reshape({-1}), 0, places.reshape({-1}), source).reshape(x.shape());
}

}  // namespace

Tensor get_item(const Tensor& x, PyObject* key) { return x.index(Key(key).subscripts); }

void set_item(PyObject* self, PyObject* key, PyObject* value) {
  const Key at(key);
  Tensor& x = tensor_of(self);
  const Tensor given = value_from(value, x.dtype());
  const bool is_recorded = grad_enabled() && (x.requires_grad() || given.requires_grad());
  if (!is_recorded && !at.has_tensors) {
    Tensor part = x.detach().index(at.subscripts);
    part.copy_(fitted(given, part));
    return;
  }
  become(self, with_values(x, at, given), "setitem", /*is_written=*/true);
  if (is_recorded && !reinterpret_cast<TensorObject*>(self)->base)
    reinterpret_cast<TensorObject*>(self)->grad_fn = at.has_tensors ? "IndexPutBackward0" : "CopySlices";
}

}  // namespace gradus::python
