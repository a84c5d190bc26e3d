#include "gradus/python/object.hpp"

#include <cmath>
#include <unordered_map>
#include <utility>

#include "gradus/autograd/graph/node.hpp"

namespace gradus::python {
namespace {

// The objects of leaves that require gradients.
std::unordered_map<const void*, TensorObject*>& leaves() {
  static auto* const all = new std::unordered_map<const void*, TensorObject*>;  // it outlives static objects
  return *all;
}

bool is_leaf(const Tensor& x) { return x.impl()->node && x.impl()->node->is_leaf(); }

void register_leaf(TensorObject* object) {
  const void* const key = object->tensor.impl();
  if (object->leaf || !is_leaf(object->tensor)) return;
  if (leaves().emplace(key, object).second) object->leaf = key;
}

PyObject* wrap_as(PyTypeObject* type, Tensor tensor) {
  if (!tensor.defined()) return Py_NewRef(Py_None);
  if (is_leaf(tensor)) {
    const auto found = leaves().find(tensor.impl());
    if (found != leaves().end()) return Py_NewRef(reinterpret_cast<PyObject*>(found->second));
  }
  return new_object(type, std::move(tensor));
}

}  // namespace

void forget_leaf(TensorObject* object) {
  if (object->leaf) leaves().erase(std::exchange(object->leaf, nullptr));
}

PyObject* new_object(PyTypeObject* type, Tensor tensor) {
  auto* const object = reinterpret_cast<TensorObject*>(type->tp_alloc(type, 0));
  if (!object) throw py::error_already_set();
  if (autograd::anomaly_mode) [[unlikely]]
    note_line(tensor);
  new (&object->tensor) Tensor(std::move(tensor));
  register_leaf(object);
  return reinterpret_cast<PyObject*>(object);
}

Registered& registered() {
  static Registered all;
  return all;
}

PyObject* wrap(Tensor tensor) { return wrap_as(registered().tensor, std::move(tensor)); }

PyObject* wrap_parameter(const Tensor& tensor) {
  PyTypeObject* const parameter = registered().parameter;
  return wrap_as(parameter ? parameter : registered().tensor, tensor);
}

void set_requires_grad(PyObject* self, bool on) {
  tensor_of(self).requires_grad_(on);
  register_leaf(reinterpret_cast<TensorObject*>(self));
}

void become(PyObject* self, const Tensor& result, const char* op) {
  Tensor& x = tensor_of(self);
  if (result.shape() != x.shape() || result.dtype() != x.dtype())
    fail(op, "the result must be ", name(x.dtype()), " ", x.shape(),
         " as the tensor that it is written into, got ", name(result.dtype()), " ", result.shape(), ".");
  if (!grad_enabled() || (!x.requires_grad() && !result.requires_grad())) return x.copy_(result);
  if (x.requires_grad() && is_leaf(x))
    fail(op,
         "a leaf that requires a gradient must not change in place. Hint: with gradus.no_grad(), or detach() "
         "it.");
  forget_leaf(reinterpret_cast<TensorObject*>(self));
  x = result;
}

void set_python_error() noexcept {
  try {
    throw;
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (const py::builtin_exception& e) {
    e.set_error();
  } catch (const RunError& e) {
    PyErr_SetString(registered().run_error, e.what());
  } catch (const Error& e) {
    PyErr_SetString(registered().error, e.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

PyObject* dtype_object(DType dtype) { return registered().dtypes[static_cast<size_t>(dtype)]; }

bool dtype_from(PyObject* o, DType& dtype) {
  const std::vector<PyObject*>& all = registered().dtypes;
  for (size_t i = 0; i < all.size(); ++i) {
    dtype = static_cast<DType>(i);
    if (o == all[i]) return true;
    if (PyUnicode_Check(o) && PyUnicode_CompareWithASCIIString(o, std::string(name(dtype)).c_str()) == 0)
      return true;
  }
  const auto* const type = reinterpret_cast<PyTypeObject*>(o);
  dtype = type == &PyFloat_Type ? DType::float64 : type == &PyLong_Type ? DType::int64 : DType::boolean;
  return type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type;
}

PyObject* size_object(const Shape& shape) {
  PyObject* const tuple = PyTuple_New(shape.size());
  for (int i = 0; i < shape.size(); ++i) PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(shape[i]));
  PyObject* const size = PyObject_CallOneArg(registered().size, tuple);
  Py_DECREF(tuple);
  if (!size) throw py::error_already_set();
  return size;
}

bool number_from(PyObject* o, double& number) {
  if (PyFloat_CheckExact(o)) {
    number = PyFloat_AS_DOUBLE(o);
    return true;
  }
  const PyNumberMethods* const methods = Py_TYPE(o)->tp_as_number;
  if (is_tensor(o) || !methods || (!methods->nb_float && !methods->nb_index)) return false;
  // Arrays have nb_float too, but also a length.
  if (!PyLong_Check(o) && !PyFloat_Check(o) && PyObject_HasAttrString(o, "__len__") && PyObject_Size(o) >= 0)
    return false;
  PyErr_Clear();
  number = PyFloat_AsDouble(o);
  if (number == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    return false;
  }
  return true;
}

std::shared_ptr<PyObject> shared_reference(PyObject* o) {
  return {Py_NewRef(o), [](PyObject* held) {
            if (!Py_IsInitialized()) return;
            const py::gil_scoped_acquire lock;
            Py_DECREF(held);
          }};
}

}  // namespace gradus::python
