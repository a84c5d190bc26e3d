// Tensor::index(): views where they suffice, else index_select.

#include <algorithm>
#include <limits>

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

// A dimension from which a tensor selects.
struct Pick {
  int dim;
  Tensor index;  // int64, any shape; negative values count from the end
};

// The view that the subscripts without tensors give, and the tensors that index it.
struct Selection {
  Tensor view;
  int dim = 0;  // of the view: where the next subscript applies
  std::vector<Pick> picks;
};

const Tensor* as_tensor(const TensorIndex& subscript) { return std::get_if<Tensor>(&subscript.value()); }

// How many dimensions of the indexed tensor a subscript consumes.
int dims_of(const TensorIndex& subscript) {
  const Tensor* t = as_tensor(subscript);
  if (!t)
    return std::holds_alternative<int64_t>(subscript.value()) ||
           std::holds_alternative<Slice>(subscript.value());
  check_defined("index", *t);
  if (t->dtype() != DType::int64 && t->dtype() != DType::boolean)
    fail<PlaceError>("index", "a tensor must be int64 or bool to be a subscript, got ", name(t->dtype()), " ",
                     t->shape(), ".");
  return t->dtype() == DType::int64 ? 1 : t->dim();
}

void apply_mask(Selection& at, const Tensor& mask) {
  if (mask.dim() == 0) {  // all or nothing, along a new dimension
    at.view = at.view.unsqueeze(at.dim);
    at.picks.push_back({at.dim++, zeros({mask.item() != 0 ? 1 : 0}, DType::int64)});
    return;
  }
  const Shape& shape = at.view.shape();
  const Shape covered(shape.begin() + at.dim, shape.begin() + at.dim + mask.dim());
  if (covered != mask.shape())
    fail<PlaceError>("index", "a mask must have the shape of the dimensions that it indexes, ", covered,
                     ", got ", mask.shape(), ".");
  const Tensor held = nonzero(mask);
  for (int d = 0; d < mask.dim(); ++d) at.picks.push_back({at.dim++, held.select(1, d)});
}

// `left`: how many dimensions an Ellipsis covers.
void apply(Selection& at, const TensorIndex& subscript, int left) {
  const TensorIndex::Value& value = subscript.value();
  if (const auto* i = std::get_if<int64_t>(&value)) {
    at.view = at.view.select(at.dim, *i);
  } else if (const auto* slice = std::get_if<Slice>(&value)) {
    at.view = at.view.slice(at.dim, slice->start.value_or(0),
                            slice->stop.value_or(std::numeric_limits<int64_t>::max()), slice->step);
    ++at.dim;
  } else if (std::holds_alternative<NewDim>(value)) {
    at.view = at.view.unsqueeze(at.dim++);
  } else if (std::holds_alternative<RemainingDims>(value)) {
    at.dim += left;
  } else if (const Tensor& t = *as_tensor(subscript); t.dtype() == DType::boolean) {
    apply_mask(at, t);
  } else if (t.dim() == 0) {
    at.view = at.view.select(at.dim, t.data<int64_t>()[0]);
  } else {
    at.picks.push_back({at.dim++, t});
  }
}

// The same index with its negative values counted from the front.
Tensor wrapped(const Tensor& index, int64_t size, int dim) {
  Tensor out = raw::clone(index);
  int64_t* values = out.mutable_data<int64_t>();
  for (int64_t i = 0, n = out.numel(); i < n; ++i) {
    if (values[i] < -size || values[i] >= size)
      fail<PlaceError>("index", "index ", values[i], " (element ", i, ") of dim ", dim, " is outside [",
                       -size, ", ", size - 1, "].");
    if (values[i] < 0) values[i] += size;
  }
  return out;
}

// Selects by all picks together: out[b, rest] = view[picks[b], rest]. The dimensions of b replace those of
// the picks, or come first if there are others between these.
Tensor take(const Selection& at) {
  const Tensor& view = at.view;
  Shape shape;
  for (const Pick& pick : at.picks) shape = broadcast_shapes("index", shape, pick.index.shape());

  // The picked dimensions go in front and become one, in which `row` selects the element.
  Tensor row = zeros(shape, DType::int64);
  std::vector<int64_t> order;
  int64_t rows = 1;
  for (const auto& [dim, index] : at.picks) {
    const int64_t size = view.shape()[dim];
    row = row * full({}, static_cast<double>(size), DType::int64) + wrapped(index, size, dim);
    order.push_back(dim);
    rows *= size;
  }
  const auto picked = static_cast<int>(order.size());
  Shape table{rows};
  for (int d = 0; d < view.dim(); ++d)
    if (std::find(order.begin(), order.end(), d) == order.end()) {
      order.push_back(d);
      table.push_back(view.shape()[d]);
    }
  Tensor out = index_select(view.permute(order).reshape(table), 0, row.reshape({row.numel()}));
  for (int d = 1; d < table.size(); ++d) shape.push_back(table[d]);
  out = out.reshape(shape);

  const int first = at.picks.front().dim, last = at.picks.back().dim;
  if (last - first + 1 != picked || first == 0) return out;
  const int taken = shape.size() - (table.size() - 1);
  std::vector<int64_t> back;
  for (int d = 0; d < first; ++d) back.push_back(taken + d);
  for (int d = 0; d < taken; ++d) back.push_back(d);
  for (int d = taken + first; d < shape.size(); ++d) back.push_back(d);
  return out.permute(back);
}

}  // namespace

Tensor Tensor::index(const std::vector<TensorIndex>& subscripts) const {
  check_defined("index", *this);
  int named = 0, ellipses = 0;
  for (const TensorIndex& subscript : subscripts) {
    named += dims_of(subscript);
    ellipses += std::holds_alternative<RemainingDims>(subscript.value()) ? 1 : 0;
  }
  if (named > dim())
    fail<PlaceError>("index", "the subscripts must index at most the ", dim(), " dimensions of ", shape(),
                     ", got ", named, ".");
  if (ellipses > 1) fail("index", "there must be at most one Ellipsis, got ", ellipses, ".");
  Selection at{*this, 0, {}};
  for (const TensorIndex& subscript : subscripts) apply(at, subscript, dim() - named);
  if (!at.picks.empty()) return take(at);
  if (at.view.impl() != impl()) return at.view;
  return record("alias", detach(), {{*this, [](const Tensor& gy) { return gy; }}});
}

}  // namespace gradus
