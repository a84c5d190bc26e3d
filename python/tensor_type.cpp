// gradus.Tensor as a type of CPython. Operators and most methods come from the table of operations.
#include <pybind11/pybind11.h>
#include <structmember.h>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/python/casters.hpp"

namespace gradus::python {
namespace {

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

using Comparison = Tensor (*)(const Tensor&, const Tensor&);
using NumberComparison = Tensor (*)(const Tensor&, double);

PyObject* compare(PyObject* a, PyObject* b, int op) {
  static constexpr Comparison tensors[] = {lt, le, eq, ne, gt, ge};  // in the order of Py_LT, ...
  static constexpr NumberComparison numbers[] = {lt, le, eq, ne, gt, ge};
  return guarded([&]() -> PyObject* {
    Operand y;
    if (is_tensor(b))
      y.tensor = tensor_of(b);
    else if (!number_from(b, y.number))
      return Py_NewRef(Py_NotImplemented);
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
                       GRADUS_SLOT(Py_nb_bool, truth),
                       GRADUS_SLOT(Py_nb_float, as_float),
                       GRADUS_SLOT(Py_nb_int, as_int),
                       GRADUS_SLOT(Py_nb_index, as_index),
                       {0, nullptr}};
#undef GRADUS_SLOT
PyType_Spec spec = {"gradus.Tensor", sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                    slots};

}  // namespace

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
