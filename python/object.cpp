#include "gradus/python/object.hpp"

#include <structmember.h>

#include <cmath>
#include <unordered_map>
#include <utility>

#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/python/operation.hpp"

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

PyObject* wrap_as(PyTypeObject* type, Tensor tensor) {
  if (!tensor.defined()) return Py_NewRef(Py_None);
  if (is_leaf(tensor)) {
    const auto found = leaves().find(tensor.impl());
    if (found != leaves().end()) return Py_NewRef(reinterpret_cast<PyObject*>(found->second));
  }
  return new_object(type, std::move(tensor));
}

// What a slot returns: the result of f, or null with a Python error.
template <class F>
PyObject* guarded(const F& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// Tensor(data): another object on the same values, outside the graph; for classes that derive from it.
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (PyTuple_GET_SIZE(args) != 1 || !is_tensor(PyTuple_GET_ITEM(args, 0)))
      throw py::type_error(
          "Tensor(data) takes one tensor. Hint: gradus.tensor([1.0, 2.0]) makes one of numbers.");
    return new_object(type, tensor_of(PyTuple_GET_ITEM(args, 0)).detach());
  });
}

void tensor_dealloc(PyObject* self) {
  auto* const object = reinterpret_cast<TensorObject*>(self);
  PyTypeObject* const type = Py_TYPE(self);
  if (object->weak_references) PyObject_ClearWeakRefs(self);
  forget_leaf(object);
  object->tensor.~Tensor();
  type->tp_free(self);
  Py_DECREF(type);
}

// -- operators: a slot is called with a tensor on either side

using Binary = Tensor (*)(const Operand&, const Operand&);

bool operand_from(PyObject* o, Operand& operand) {
  if (!is_tensor(o)) return number_from(o, operand.number);
  operand.tensor = tensor_of(o);
  return true;
}

template <Binary f>
PyObject* binary(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    Operand x, y;
    if (!operand_from(a, x) || !operand_from(b, y)) return Py_NewRef(Py_NotImplemented);
    const auto result = [&] {
      const Unlocked unlocked(is_large(x) || is_large(y));
      return f(x, y);
    };
    return wrap(result());
  });
}

template <Binary f>
PyObject* binary_in_place(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    Operand x, y;
    if (!operand_from(a, x) || !operand_from(b, y)) return Py_NewRef(Py_NotImplemented);
    become(a, f(x, y), "in place");
    return Py_NewRef(a);
  });
}

template <Tensor (*f)(const Tensor&)>
PyObject* unary(PyObject* self) {
  return guarded([&] { return wrap(f(tensor_of(self))); });
}

// a op b with a number on one side: the library's own rules for dtypes.
#define GRADUS_BINARY(name, op)                                              \
  Tensor name##_of(const Operand& a, const Operand& b) {                     \
    if (!b.tensor.defined()) return a.tensor op b.number;                    \
    return a.tensor.defined() ? a.tensor op b.tensor : a.number op b.tensor; \
  }
GRADUS_BINARY(add, +)
GRADUS_BINARY(sub, -)
GRADUS_BINARY(mul, *)
GRADUS_BINARY(div, /)
#undef GRADUS_BINARY

Tensor pow_of(const Operand& a, const Operand& b) {
  if (!b.tensor.defined()) return pow(a.tensor, b.number);
  return pow(a.tensor.defined() ? a.tensor : full({}, a.number, b.tensor.dtype()), b.tensor);
}

PyObject* power(PyObject* a, PyObject* b, PyObject*) { return binary<pow_of>(a, b); }
PyObject* power_in_place(PyObject* a, PyObject* b, PyObject*) { return binary_in_place<pow_of>(a, b); }

PyObject* product(PyObject* a, PyObject* b) {
  if (!is_tensor(a) || !is_tensor(b)) return Py_NewRef(Py_NotImplemented);
  return guarded([&] {
    const auto result = [&] {
      const Unlocked unlocked(is_large(tensor_of(a)) || is_large(tensor_of(b)));
      return matmul(tensor_of(a), tensor_of(b));
    };
    return wrap(result());
  });
}

using Comparison = Tensor (*)(const Tensor&, const Tensor&);
using NumberComparison = Tensor (*)(const Tensor&, double);

PyObject* compare(PyObject* a, PyObject* b, int op) {
  static constexpr Comparison tensors[] = {lt, le, eq, ne, gt, ge};  // in the order of Py_LT, ...
  static constexpr NumberComparison numbers[] = {lt, le, eq, ne, gt, ge};
  return guarded([&]() -> PyObject* {
    Operand y;
    if (!operand_from(b, y)) return Py_NewRef(Py_NotImplemented);
    const Tensor& x = tensor_of(a);
    return wrap(y.tensor.defined() ? tensors[op](x, y.tensor) : numbers[op](x, y.number));
  });
}

Py_hash_t hash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(tensor_of(self).impl()) >> 4);
}

PyObject* repr(PyObject* self) {
  return guarded([&] { return py::str(torch_string(tensor_of(self))).release().ptr(); });
}

int truth(PyObject* self) {
  PyObject* const value = guarded([&] {
    if (tensor_of(self).numel() != 1)
      fail("bool", "the truth of a tensor is that of its only element, got shape ", tensor_of(self).shape(),
           ". Hint: any() or all() makes one of several.");
    return PyBool_FromLong(tensor_of(self).item() != 0);
  });
  if (!value) return -1;
  Py_DECREF(value);
  return value == Py_True;
}

PyObject* as_float(PyObject* self) {
  return guarded([&] { return PyFloat_FromDouble(tensor_of(self).item()); });
}

PyObject* as_int(PyObject* self) {
  const auto item = py::reinterpret_steal<py::object>(PyObject_CallMethod(self, "item", nullptr));
  return item ? PyNumber_Long(item.ptr()) : nullptr;
}

PyObject* as_index(PyObject* self) {
  if (!is_floating(tensor_of(self).dtype())) return as_int(self);
  PyErr_SetString(PyExc_TypeError, "only a tensor of one integer can be an index");
  return nullptr;
}

Py_ssize_t length(PyObject* self) {
  if (tensor_of(self).dim() > 0) return tensor_of(self).shape()[0];
  PyErr_SetString(PyExc_TypeError, "len() of a tensor without dimensions");
  return -1;
}

PyObject* iterate(PyObject* self) {
  const Py_ssize_t n = length(self);
  if (n < 0) return nullptr;
  return guarded([&] {
    py::list rows;
    for (Py_ssize_t i = 0; i < n; ++i) rows.append(tensor_of(self).select(0, i));
    return PyObject_GetIter(rows.ptr());
  });
}

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

#define GRADUS_SLOT(id, f) \
  { id, reinterpret_cast<void*>(f) }
PyType_Slot slots[] = {GRADUS_SLOT(Py_tp_new, tensor_new),
                       GRADUS_SLOT(Py_tp_dealloc, tensor_dealloc),
                       GRADUS_SLOT(Py_tp_members, members),
                       GRADUS_SLOT(Py_tp_repr, repr),
                       GRADUS_SLOT(Py_tp_hash, hash),
                       GRADUS_SLOT(Py_tp_richcompare, compare),
                       GRADUS_SLOT(Py_tp_iter, iterate),
                       GRADUS_SLOT(Py_mp_length, length),
                       GRADUS_SLOT(Py_mp_subscript, get_item),
                       GRADUS_SLOT(Py_mp_ass_subscript, set_item),
                       GRADUS_SLOT(Py_bf_getbuffer, get_buffer),
                       GRADUS_SLOT(Py_bf_releasebuffer, release_buffer),
                       GRADUS_SLOT(Py_nb_add, binary<add_of>),
                       GRADUS_SLOT(Py_nb_subtract, binary<sub_of>),
                       GRADUS_SLOT(Py_nb_multiply, binary<mul_of>),
                       GRADUS_SLOT(Py_nb_true_divide, binary<div_of>),
                       GRADUS_SLOT(Py_nb_power, power),
                       GRADUS_SLOT(Py_nb_matrix_multiply, product),
                       GRADUS_SLOT(Py_nb_inplace_add, binary_in_place<add_of>),
                       GRADUS_SLOT(Py_nb_inplace_subtract, binary_in_place<sub_of>),
                       GRADUS_SLOT(Py_nb_inplace_multiply, binary_in_place<mul_of>),
                       GRADUS_SLOT(Py_nb_inplace_true_divide, binary_in_place<div_of>),
                       GRADUS_SLOT(Py_nb_inplace_power, power_in_place),
                       GRADUS_SLOT(Py_nb_negative, unary<neg>),
                       GRADUS_SLOT(Py_nb_absolute, unary<abs>),
                       GRADUS_SLOT(Py_nb_bool, truth),
                       GRADUS_SLOT(Py_nb_float, as_float),
                       GRADUS_SLOT(Py_nb_int, as_int),
                       GRADUS_SLOT(Py_nb_index, as_index),
                       {0, nullptr}};
#undef GRADUS_SLOT
PyType_Spec spec = {"gradus.Tensor", sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                    slots};

}  // namespace

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

void make_tensor_type(py::module_& m) {
  PyObject* const type = PyType_FromSpec(&spec);
  if (!type) throw py::error_already_set();
  registered().tensor = reinterpret_cast<PyTypeObject*>(type);
  py::setattr(type, "__module__", py::str("gradus"));
  m.attr("Tensor") = py::handle(type);
  m.def("register", [](const py::dict& given) {
    Registered& all = registered();
    all.size = py::object(given["Size"]).release().ptr();
    all.make_tensor = py::object(given["tensor"]).release().ptr();
    all.pair = py::object(given["pair"]).release().ptr();
    all.parameter = reinterpret_cast<PyTypeObject*>(py::object(given["Parameter"]).release().ptr());
    for (const py::handle dtype : given["dtypes"]) all.dtypes.push_back(dtype.inc_ref().ptr());
  });
}

}  // namespace gradus::python
