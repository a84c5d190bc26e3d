// Tensor::index(): subscripts of every kind, as views where they suffice, else as rows taken by number.

#include <algorithm>
#include <limits>

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

/// A dimension of which a tensor says the elements to take.
struct Pick {
  int dim;
  Tensor index;  ///< int64, any shape; negative values count from the end
};

/// The view that the subscripts without tensors make, and the tensors that select from it.
struct Walk {
  Tensor view;
  int dim = 0;  ///< of the view: where the next subscript applies
  std::vector<Pick> picks;
};

const Tensor* as_tensor(const TensorIndex& subscript) { return std::get_if<Tensor>(&subscript.value()); }

// How many dimensions of the indexed tensor a subscript stands for.
int dims_of(const TensorIndex& subscript) {
  const Tensor* t = as_tensor(subscript);
  if (!t)
    return std::holds_alternative<int64_t>(subscript.value()) ||
           std::holds_alternative<Slice>(subscript.value());
  check_defined("index", *t);
  if (t->dtype() != DType::int64 && t->dtype() != DType::boolean)
    fail("index", "a tensor must be int64 or bool to be a subscript, got ", name(t->dtype()), " ", t->shape(),
         ".");
  return t->dtype() == DType::int64 ? 1 : t->dim();
}

// The places where the mask holds, one vector of coordinates a dimension.
std::vector<Tensor> coordinates(const Tensor& mask) {
  const std::vector<bool> flags = mask.to_vector<bool>();
  const auto count = static_cast<int64_t>(std::count(flags.begin(), flags.end(), true));
  std::vector<Tensor> list;
  const Shape strides = contiguous_strides(mask.shape());
  for (int d = 0; d < mask.dim(); ++d) {
    Tensor along = empty({count}, DType::int64);
    int64_t* next = along.mutable_data<int64_t>();
    for (size_t i = 0; i < flags.size(); ++i)
      if (flags[i]) *next++ = static_cast<int64_t>(i) / strides[d] % mask.shape()[d];
    list.push_back(along);
  }
  return list;
}

void apply_mask(Walk& walk, const Tensor& mask) {
  if (mask.dim() == 0) {  // all or nothing, along a new dimension
    walk.view = walk.view.unsqueeze(walk.dim);
    walk.picks.push_back({walk.dim++, zeros({mask.item() != 0 ? 1 : 0}, DType::int64)});
    return;
  }
  const Shape& shape = walk.view.shape();
  const Shape covered(shape.begin() + walk.dim, shape.begin() + walk.dim + mask.dim());
  if (covered != mask.shape())
    fail("index", "a mask must have the shape of the dimensions it stands for, ", covered, ", got ",
         mask.shape(), ".");
  for (const Tensor& along : coordinates(mask)) walk.picks.push_back({walk.dim++, along});
}

// `left`: how many dimensions an Ellipsis stands for.
void apply(Walk& walk, const TensorIndex& subscript, int left) {
  const TensorIndex::Value& value = subscript.value();
  if (const auto* i = std::get_if<int64_t>(&value)) {
    walk.view = walk.view.select(walk.dim, *i);
  } else if (const auto* slice = std::get_if<Slice>(&value)) {
    walk.view = walk.view.slice(walk.dim, slice->start.value_or(0),
                                slice->stop.value_or(std::numeric_limits<int64_t>::max()), slice->step);
    ++walk.dim;
  } else if (std::holds_alternative<NewDim>(value)) {
    walk.view = walk.view.unsqueeze(walk.dim++);
  } else if (std::holds_alternative<RemainingDims>(value)) {
    walk.dim += left;
  } else if (const Tensor& t = *as_tensor(subscript); t.dtype() == DType::boolean) {
    apply_mask(walk, t);
  } else if (t.dim() == 0) {
    walk.view = walk.view.select(walk.dim, t.data<int64_t>()[0]);
  } else {
    walk.picks.push_back({walk.dim++, t});
  }
}

// The same index with its negative values counted from the front.
Tensor wrapped(const Tensor& index, int64_t size, int dim) {
  Tensor out = raw::clone(index);
  int64_t* values = out.mutable_data<int64_t>();
  for (int64_t i = 0, n = out.numel(); i < n; ++i) {
    if (values[i] < -size || values[i] >= size)
      fail("index", "index ", values[i], " (element ", i, ") of dim ", dim, " is outside [", -size, ", ",
           size - 1, "].");
    if (values[i] < 0) values[i] += size;
  }
  return out;
}

// Selects by all picks together: out[b, rest] = view[picks[b], rest]. The dimensions of b
// stand where those of the picks stood, or in front if there are others between these.
Tensor take(const Walk& walk) {
  const Tensor& view = walk.view;
  Shape shape;
  for (const Pick& pick : walk.picks) shape = broadcast_shapes("index", shape, pick.index.shape());

  // The picked dimensions go in front and become one, of which `row` says the element.
  Tensor row = zeros(shape, DType::int64);
  std::vector<int64_t> order;
  int64_t rows = 1;
  for (const auto& [dim, index] : walk.picks) {
    const int64_t size = view.shape()[dim];
    row = row * full({}, static_cast<double>(size), DType::int64) + wrapped(index, size, dim);
    order.push_back(dim);
    rows *= size;
  }
  const auto picked = static_cast<int>(order.size());
  Shape table{rows};
  for (int d = 0; d < view.dim(); ++d)
    if (std::find(order.begin(), order.begin() + picked, d) == order.begin() + picked) {
      order.push_back(d);
      table.push_back(view.shape()[d]);
    }
  Tensor out = index_select(view.permute(order).reshape(table), 0, row.reshape({row.numel()}));
  for (int d = 1; d < table.size(); ++d) shape.push_back(table[d]);
  out = out.reshape(shape);

  const int first = walk.picks.front().dim, last = walk.picks.back().dim;
  if (last - first + 1 != picked || first == 0) return out;
  const int taken = shape.size() - (table.size() - 1);
  std::vector<int64_t> back;
  for (int d = 0; d < first; ++d) back.push_back(taken + d);
  for (int d = 0; d < taken; ++d) back.push_back(d);
  for (int d = taken + first; d < shape.size(); ++d) back.push_back(d);
  return out.permute(back);
}

Tensor alias(const Tensor& x) {
  return record("alias", x.detach(), {{x, [](const Tensor& gy) { return gy; }}});
}

}  // namespace

Tensor Tensor::index(const std::vector<TensorIndex>& subscripts) const {
  int named = 0, ellipses = 0;
  for (const TensorIndex& subscript : subscripts) {
    named += dims_of(subscript);
    ellipses += std::holds_alternative<RemainingDims>(subscript.value()) ? 1 : 0;
  }
  if (named > dim())
    fail("index", "the subscripts must stand for at most the ", dim(), " dimensions of ", shape(), ", got ",
         named, ".");
  if (ellipses > 1) fail("index", "there must be at most one Ellipsis, got ", ellipses, ".");
  Walk walk{*this, 0, {}};
  for (const TensorIndex& subscript : subscripts) apply(walk, subscript, dim() - named);
  if (!walk.picks.empty()) return take(walk);
  return walk.view.impl() == impl() ? alias(*this) : walk.view;
}

}  // namespace gradus
