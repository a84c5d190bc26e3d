#include "gradus/python/object.hpp"

#include <structmember.h>

#include <unordered_map>
#include <utility>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/graph/node.hpp"

namespace gradus::python {
namespace {

constexpr const char* kNoCast =
    "a function that gradus calls must return what its description says, such as a tensor, got another type";

// The objects of leaves that require gradients.
std::unordered_map<const void*, TensorObject*>& leaves() {
  static auto* const all = new std::unordered_map<const void*, TensorObject*>;  // it outlives static objects
  return *all;
}

bool is_leaf(const Tensor& x) { return x.impl()->node && x.impl()->node->is_leaf(); }

void register_leaf(TensorObject* object) {
  const void* const key = object->tensor.impl();
  if (!object->leaf && is_leaf(object->tensor) && leaves().emplace(key, object).second) object->leaf = key;
}

PyObject* new_object(PyTypeObject* type, Tensor tensor) {
  auto* const object = reinterpret_cast<TensorObject*>(type->tp_alloc(type, 0));
  if (!object) throw py::error_already_set();
  if (autograd::anomaly_mode) [[unlikely]]
    note_line(tensor);
  new (&object->tensor) Tensor(std::move(tensor));
  new (&object->views) std::vector<TensorObject*>();
  register_leaf(object);
  return reinterpret_cast<PyObject*>(object);
}

// Tensor(x): another object on the same values, outside the graph; for classes that derive from it.
// Tensor(data), Tensor(2, 3): float32.
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* const data = PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : nullptr;
  if (data && is_tensor(data)) return new_object(type, tensor_of(data).detach());
  return PyObject_CallObject(registered().float_tensor, args);
}

void tensor_dealloc(PyObject* self) {
  auto* const object = reinterpret_cast<TensorObject*>(self);
  PyTypeObject* const type = Py_TYPE(self);
  if (object->weak_references) PyObject_ClearWeakRefs(self);
  forget_leaf(object);
  forget_views(object);
  object->views.~vector();
  object->tensor.~Tensor();
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(tensor_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(tensor_dealloc)},
                       {Py_tp_members, members},
                       {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                       {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                       {0, nullptr}};
PyType_Spec spec = {"gradus.Tensor", sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                    slots};

void set_error(const Error& e) {
  const Registered& all = registered();
  PyErr_SetString(dynamic_cast<const RunError*>(&e)     ? all.run_error
                  : dynamic_cast<const PlaceError*>(&e) ? all.place_error
                  : dynamic_cast<const InputError*>(&e) ? all.input_error
                                                        : all.error,
                  e.what());
}

}  // namespace

Registered& registered() {
  static Registered all;
  return all;
}

PyObject* wrap(Tensor tensor, PyTypeObject* type) {
  if (!tensor.defined()) return Py_NewRef(Py_None);
  if (is_leaf(tensor)) {
    const auto found = leaves().find(tensor.impl());
    if (found != leaves().end()) return Py_NewRef(reinterpret_cast<PyObject*>(found->second));
  }
  return new_object(type, std::move(tensor));
}

void set_requires_grad(PyObject* self, bool on) {
  tensor_of(self).requires_grad_(on);
  register_leaf(reinterpret_cast<TensorObject*>(self));
}

void forget_leaf(TensorObject* object) {
  if (object->leaf) leaves().erase(std::exchange(object->leaf, nullptr));
}

void set_python_error() noexcept {
  try {
    throw;
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (const py::cast_error&) {
    PyErr_SetString(PyExc_TypeError, kNoCast);
  } catch (const py::builtin_exception& e) {
    e.set_error();
  } catch (const Error& e) {
    set_error(e);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

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
  const bool failed = number == -1 && PyErr_Occurred();
  PyErr_Clear();
  return !failed;
}

bool is_whole(PyObject* o) {
  if (PyLong_Check(o) || PyFloat_Check(o) || is_tensor(o) || !PyIndex_Check(o)) return PyLong_Check(o);
  const auto whole = py::reinterpret_steal<py::object>(PyNumber_Index(o));
  PyErr_Clear();
  return static_cast<bool>(whole);
}

void make_types(py::module_& m) {
  Registered& all = registered();
  const auto exception = [&m](const char* name, const char* doc, PyObject* base) {
    PyObject* const type = PyErr_NewExceptionWithDoc(name, doc, base, nullptr);
    m.attr(name + sizeof("gradus")) = py::handle(type);
    return type;
  };
  all.error = exception("gradus.Error", "An invalid request: wrong shapes, dtypes, values or files.",
                        PyExc_RuntimeError);
  all.run_error = exception(
      "gradus.RunError", "A valid request that failed: a loss that is not finite, a full disk.", all.error);
  const auto also = [&](PyObject* base) { return py::make_tuple(py::handle(all.error), py::handle(base)); };
  all.place_error =
      exception("gradus.PlaceError", "A place outside of a tensor.", also(PyExc_IndexError).ptr());
  all.input_error = exception("gradus.InputError", "An Error where PyTorch raises a ValueError.",
                              also(PyExc_ValueError).ptr());
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& e) {
      set_error(e);
    } catch (const py::cast_error&) {
      PyErr_SetString(PyExc_TypeError, kNoCast);
    }
  });
  all.tensor = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!all.tensor) throw py::error_already_set();
  py::setattr(reinterpret_cast<PyObject*>(all.tensor), "__module__", py::str("torch"));  // as it is printed
  m.attr("Tensor") = py::handle(reinterpret_cast<PyObject*>(all.tensor));
  m.def("register", [](const py::object& size, const py::object& make_tensor, const py::object& float_tensor,
                       const py::object& pair, const py::object& parameter, const py::list& dtypes) {
    Registered& known = registered();
    known.size = size.inc_ref().ptr();
    known.make_tensor = make_tensor.inc_ref().ptr();
    known.float_tensor = float_tensor.inc_ref().ptr();
    known.pair = pair.inc_ref().ptr();
    known.parameter = reinterpret_cast<PyTypeObject*>(parameter.inc_ref().ptr());
    for (const py::handle dtype : dtypes) known.dtypes.push_back(dtype.inc_ref().ptr());
  });
}

}  // namespace gradus::python
