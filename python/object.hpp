// The Python object of a tensor, and what the other files of the module share: errors, dtypes, references.
//
// gradus.Tensor is a type of CPython's own making, not one of pybind11: an operation then costs a tenth. A
// leaf that requires gradients has one object as long as Python holds it, so that `layer.weight is
// layer.weight`; a result has one for each time it is returned. All functions are called with the
// interpreter's lock (GIL).
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::python {

namespace py = pybind11;

/// A gradus.Tensor, or an instance of a class that Python derives from it.
struct TensorObject {
  PyObject_HEAD Tensor tensor;       ///< defined
  PyObject* weak_references;         ///< for CPython
  const void* leaf;                  ///< the impl under which it is registered; null: it is not
  const char* grad_fn;               ///< PyTorch's name for what recorded it; null: that of the graph
  uint64_t retained;                 ///< the sequence of its vertex if that keeps its gradient; else another
  TensorObject* base;                ///< that it is a view of, itself without one; null: none, or it has gone
  size_t place;                      ///< in base->views
  std::vector<TensorObject*> views;  ///< which are there
  bool is_detached;                  ///< gradients do not reach this view, and it does not own its base
};

/// Python objects that the module knows; those without a value in make_tensor_type() come from register().
struct Registered {
  PyTypeObject* tensor = nullptr;     ///< gradus.Tensor
  PyTypeObject* parameter = nullptr;  ///< gradus.nn.Parameter
  PyObject* size = nullptr;           ///< gradus.Size, a tuple
  PyObject* make_tensor = nullptr;    ///< gradus.tensor
  PyObject* float_tensor = nullptr;   ///< of data, or of sizes without values
  PyObject* pair = nullptr;           ///< the namedtuple (values, indices)
  std::vector<PyObject*> dtypes{};    ///< gradus.float32, ..., in the order of DType
  PyObject* error = nullptr;          ///< gradus.Error
  PyObject* run_error = nullptr;      ///< gradus.RunError
  PyObject* place_error = nullptr;    ///< an Error that is an IndexError, too
  PyObject* input_error = nullptr;    ///< an Error that is a ValueError, too
};
/// The one of this process.
Registered& registered();

/// Whether it is a gradus.Tensor.
inline bool is_tensor(PyObject* o) {
  return Py_TYPE(o) == registered().tensor || PyType_IsSubtype(Py_TYPE(o), registered().tensor) != 0;
}
/// The tensor of an object for which is_tensor() holds.
inline Tensor& tensor_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->tensor; }
/// A new reference to the object of a tensor, made as `type` if it has none yet; to None for an undefined
/// one.
PyObject* wrap(Tensor tensor, PyTypeObject* type = registered().tensor);
/// Makes a leaf, or freezes it: Tensor::requires_grad_().
void set_requires_grad(PyObject* self, bool on);
/// Makes `self` the result of an operation in place. Values are overwritten if nothing is recorded. Else the
/// object becomes that of the result; its base gets the values, too, and its views, and those of its base,
/// are made anew. A detached tensor's memory takes the values, as that of one without gradients does if it
/// `is_written`, by an operation whose rule does not need the old values. Throws Error for a leaf that
/// requires gradients, for another shape or dtype, and for a view that gradients cannot follow.
void become(PyObject* self, const Tensor& result, const char* op, bool is_written = false);
/// Makes `view` one of `base` if both are tensors that share their storage. Gradients reach it unless it is
/// detached, or nothing is recorded now.
void note_view(PyObject* view, PyObject* base, bool is_detached);
/// Before the object goes: it is no view of its base any more, and its views have no base.
void forget_views(TensorObject* object);
/// Before the object of a leaf goes, or becomes another tensor's.
void forget_leaf(TensorObject* object);
/// Under anomaly detection: remembers the Python line that is running as the one that recorded this result.
void note_line(const Tensor& result);

/// The Python exception for what is being caught: call it in catch (...).
void set_python_error() noexcept;
/// The dtype that an object names: gradus.float32, "float32", or the types float, int and bool. Returns false
/// for others.
bool dtype_from(PyObject* o, DType& dtype);
/// A number: int, float, bool or what converts to one, such as NumPy's. Returns false for others.
bool number_from(PyObject* o, double& number);
/// Whether it is a whole number: an int, a bool, or what has __index__, such as NumPy's.
bool is_whole(PyObject* o);

/// Makes gradus.Tensor, gradus.Error and gradus.RunError. Called once, first.
void make_types(py::module_& m);
/// Subscripts: x[key] and x[key] = value.
Tensor get_item(const Tensor& x, PyObject* key);
void set_item(PyObject* self, PyObject* key, PyObject* value);
/// For the type: the buffer protocol.
int get_buffer(PyObject* self, Py_buffer* view, int flags);
void release_buffer(PyObject* self, Py_buffer* view);

class Table;                          // of operations: operation.hpp
void add_operations(Table& table);    ///< operations on tensors, but for those of the next two
void add_arithmetic(Table& table);    ///< element by element, and reductions
void add_pytorch_bits(Table& table);  ///< what orders, rounds and draws as PyTorch does
void add_arrays(Table& table);        ///< DLPack's functions and those of the buffer protocol
void add_autograd(Table& table);      ///< backward, grad, hooks, modes, gradcheck
void add_layers(Table& table);        ///< the C++ layers
void add_training(Table& table);      ///< optimizers, fit
void add_models(Table& table);        ///< decoders, tokenizers, files of tensors, watches

}  // namespace gradus::python
