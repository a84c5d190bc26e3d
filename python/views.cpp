// Views, and writes that are recorded. The graph has no writes: after one, the base of the tensor is a new
// tensor with the values of the result in their places, and the views of the base are made anew on it.
#include <utility>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/python/object.hpp"

namespace gradus::python {
namespace {

bool is_trained_leaf(const Tensor& x) { return x.requires_grad() && x.impl()->node->is_leaf(); }

// The place of a view's first element in its base, from the base's first element on.
int64_t first_place(const Tensor& view, const Tensor& base) {
  return view.impl()->offset - base.impl()->offset;
}

// The places of a view's elements in the memory of its base.
Tensor places(const Shape& shape, const Shape& strides, int64_t first, int64_t count) {
  return view_of(arange(0, static_cast<double>(count)), shape, strides, first).reshape({-1});
}

// The view of `values`, which are the memory of a base, that `old` was of the base.
Tensor view_again(const Tensor& values, const Tensor& old, int64_t first) {
  const Tensor view = view_of(values, old.shape(), old.strides(), values.impl()->offset + first);
  const auto rule = [shape = old.shape(), strides = old.strides(), first,
                     count = values.numel()](const Tensor& gy) {
    return scatter_add(zeros({count}, gy.dtype()), 0, places(shape, strides, first, count), gy.reshape({-1}));
  };
  return record(OpName::custom("as_strided"), view, {{values, rule}});
}

// Whether several of its elements are one in memory.
bool is_expanded(const Tensor& x) {
  for (int d = 0; d < x.dim(); ++d)
    if (x.strides()[d] == 0 && x.shape()[d] > 1) return true;
  return false;
}

}  // namespace

void note_view(PyObject* view, PyObject* base, bool is_detached) {
  if (view == base || !is_tensor(view) || !is_tensor(base)) return;
  if (tensor_of(view).impl()->storage != tensor_of(base).impl()->storage) return;
  auto* const object = reinterpret_cast<TensorObject*>(view);
  auto* const from = reinterpret_cast<TensorObject*>(base);
  if (object->base || !object->views.empty()) return;
  object->base = from->base ? from->base : from;
  object->is_detached = is_detached || from->is_detached || !grad_enabled();
  if (!object->is_detached) Py_INCREF(object->base);  // a detached view does not keep the graph
  object->place = object->base->views.size();
  object->base->views.push_back(object);
}

void forget_views(TensorObject* object) {
  for (TensorObject* const view : object->views) view->base = nullptr;
  object->views.clear();
  if (!object->base) return;
  std::vector<TensorObject*>& others = object->base->views;
  others.back()->place = object->place;
  others[object->place] = others.back();
  others.pop_back();
  PyObject* const base = reinterpret_cast<PyObject*>(std::exchange(object->base, nullptr));
  if (!object->is_detached) Py_DECREF(base);
}

void become(PyObject* self, const Tensor& computed, const char* op, bool is_written) {
  auto* const object = reinterpret_cast<TensorObject*>(self);
  Tensor& x = object->tensor;
  const bool is_converted = is_floating(x.dtype()) && is_floating(computed.dtype());
  const Tensor result = is_converted ? computed.to(x.dtype()) : computed;
  if (result.shape() != x.shape() || result.dtype() != x.dtype())
    fail(op, "the result must be ", name(x.dtype()), " ", x.shape(),
         " as the tensor that it is written into, got ", name(result.dtype()), " ", result.shape(), ".");
  if (!grad_enabled() || (!x.requires_grad() && !result.requires_grad())) return x.copy_(result);
  const bool shares_values = !x.requires_grad();  // with whoever has its memory, as of x.data and of arrays
  if (object->is_detached && shares_values) {
    if (object->base && x.shape() != object->base->tensor.shape() && result.requires_grad())
      fail(op,
           "a view of a detached tensor takes no values that require a gradient, which this tensor would not "
           "have. Hint: write into that tensor, x[i] = y, or detach() the values.");
    x.detach().copy_(result.detach());
    x = record(OpName::custom(op), x.detach(), {{result, [](const Tensor& gy) { return gy; }}});
    return;
  }
  TensorObject* const base = object->base ? object->base : object;
  if (is_trained_leaf(x) || is_trained_leaf(base->tensor))
    fail(op,
         "a leaf that requires a gradient must not change in place. Hint: with gradus.no_grad(), or detach() "
         "it.");
  if (!object->base && object->views.empty()) {
    if (shares_values && is_written) x.detach().copy_(result.detach());
    forget_leaf(object);
    object->grad_fn = nullptr;
    x = result;
    return;
  }
  const Tensor old = base->tensor;
  if (object->is_detached || is_expanded(x) || !old.is_contiguous())
    fail(op,
         "while gradients are recorded, a detached or expanded view must not change in place, nor a tensor "
         "that has views and is not packed. Hint: clone() it, or write to the tensor that it is a view of.");
  Tensor values = result.reshape({-1});
  if (object != base)
    values = scatter(old.reshape({-1}), 0, places(x.shape(), x.strides(), first_place(x, old), old.numel()),
                     values);
  std::vector<py::object> kept;  // what frees old graphs may drop the last references to views
  for (TensorObject* const view : base->views)
    kept.push_back(py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(view)));
  forget_leaf(base);
  base->tensor = object == base && result.is_contiguous() ? result : values.reshape(old.shape());
  base->grad_fn = object == base ? nullptr : "CopySlices";
  for (const py::object& one : kept) {
    auto* const view = reinterpret_cast<TensorObject*>(one.ptr());
    if (view->leaf) continue;  // what detach().requires_grad_() made stays what it is
    view->tensor = view_again(view->is_detached ? values.detach() : values, view->tensor,
                              first_place(view->tensor, old));
    view->grad_fn = nullptr;
  }
}

}  // namespace gradus::python
