// Tensor's views, contiguous() and to().
#include <algorithm>
#include <optional>
#include <utility>

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

Tensor permuted(OpName op, const Tensor& x, const Shape& order) {
  Shape shape = x.shape(), strides = x.shape(), inverse = order;
  for (int d = 0; d < x.dim(); ++d) {
    const int from = static_cast<int>(order[d]);
    shape[d] = x.shape()[from];
    strides[d] = x.strides()[from];
    inverse[from] = d;
  }
  autograd::trace_attributes(order);
  return record(op, view_of(x, shape, strides, x.impl()->offset),
                {{x, [op, inverse](const Tensor& gy) { return permuted(op, gy, inverse); }}});
}

// Strides with which x's storage has `shape`, if there are any. Dimensions of x that one stride walks form
// runs; each run must hold a whole number of the new dimensions.
std::optional<Shape> strides_as(const Tensor& x, const Shape& shape) {
  if (x.is_contiguous() || x.numel() == 0) return contiguous_strides(shape);
  Shape strides = shape;
  int to = shape.size() - 1;
  int64_t run = 1;    // elements of x's current run
  int64_t taken = 1;  // elements of it given to new dimensions
  int64_t stride = x.strides()[x.dim() - 1];
  for (int from = x.dim() - 1; from >= 0; --from) {
    run *= x.shape()[from];
    const bool run_ends = from == 0 || (x.shape()[from - 1] != 1 && x.strides()[from - 1] != run * stride);
    if (!run_ends) continue;
    while (to >= 0 && (taken < run || shape[to] == 1)) {
      strides[to] = taken * stride;
      taken *= shape[to--];
    }
    if (taken != run) return std::nullopt;
    if (from > 0) stride = x.strides()[from - 1];
    run = taken = 1;
  }
  return strides;
}

// A part of x that `part(x)` selects, with the gradient rule `place`. Several parts of one tensor (q, k, v of
// a projection) share one buffer instead of adding padded copies.
template <class Place, class Part>
Tensor part_view(OpName op, const Tensor& x, Tensor view, Place place, Part part) {
  const auto add_to = [full = x.shape(), part](const Tensor& gy, Tensor& total) {
    if (!total.defined()) total = zeros(full, gy.dtype());
    Tensor target = part(total);
    raw::add_into(target, gy);
  };
  return record(op, std::move(view), {{x, place, add_to}});
}

Tensor reshaped_view(OpName op, const Tensor& x, const Shape& shape, const Shape& strides) {
  return record(op, view_of(x, shape, strides, x.impl()->offset),
                {{x, [shape = x.shape()](const Tensor& gy) { return gy.reshape(shape); }}});
}

}  // namespace

Tensor Tensor::permute(const std::vector<int64_t>& dims) const {
  check_defined("permute", *this);
  Shape order(dims);
  bool seen[kMaxDims] = {}, all_once = order.size() == dim();
  for (int d = 0; all_once && d < order.size(); ++d) {
    order[d] = wrap_dim("permute", order[d], dim());
    all_once = !std::exchange(seen[order[d]], true);
  }
  if (!all_once) fail("permute", "needs all ", dim(), " dims of ", shape(), " once, got ", Shape(dims), ".");
  return permuted("permute", *this, order);
}

Tensor Tensor::transpose(int64_t dim0, int64_t dim1) const {
  check_defined("transpose", *this);
  const int a = wrap_dim("transpose", dim0, dim()), b = wrap_dim("transpose", dim1, dim());
  Shape order = shape();
  for (int d = 0; d < dim(); ++d) order[d] = d;
  if (dim() > 0) std::swap(order[a], order[b]);
  return permuted("transpose", *this, order);
}

Tensor Tensor::reshape(Shape to) const {
  check_defined("reshape", *this);
  int unknown = -1;
  Shape sizes = to;
  for (int d = 0; d < to.size(); ++d) {
    if (to[d] >= 0) continue;
    if (to[d] != -1 || unknown != -1)
      fail("reshape", "sizes must not be negative (but for one -1), got ", to, ".");
    unknown = d;
    sizes[d] = 1;
  }
  check_sizes("reshape", sizes);
  const int64_t known = sizes.numel();
  const bool fits = unknown == -1 ? known == numel() : known > 0 && numel() % known == 0;
  if (!fits) fail("reshape", "shape ", shape(), " holds ", numel(), " elements and cannot become ", to, ".");
  if (unknown != -1) to[unknown] = numel() / known;
  const std::optional<Shape> strides = strides_as(*this, to);
  if (!strides) return contiguous().reshape(to);
  return reshaped_view("reshape", *this, to, *strides);
}

Tensor Tensor::flatten(int64_t start_dim, int64_t end_dim) const {
  check_defined("flatten", *this);
  const int first = wrap_dim("flatten", start_dim, dim()), last = wrap_dim("flatten", end_dim, dim());
  if (first > last)
    fail("flatten", "start_dim must not come after end_dim, got ", start_dim, " and ", end_dim, " for ",
         shape(), ".");
  if (dim() == 0) return reshape({1});
  Shape to(shape().begin(), shape().begin() + first + 1);
  for (int d = first + 1; d < dim(); ++d)
    d <= last ? void(to[first] *= shape()[d]) : to.push_back(shape()[d]);
  return reshape(to);
}

Tensor Tensor::expand(Shape to) const {
  check_defined("expand", *this);
  const int lead = to.size() - dim();
  Shape strides = to;
  bool fits = lead >= 0;
  for (int d = 0; fits && d < to.size(); ++d) {
    const int64_t size = d < lead ? 1 : shape()[d - lead];
    if (to[d] == -1 && d >= lead) to[d] = size;
    strides[d] = d >= lead && to[d] == size ? this->strides()[d - lead] : 0;
    fits = to[d] == size || (to[d] >= 0 && size == 1);
  }
  if (!fits)
    fail("expand", "only new dimensions and those of size 1 can grow, got ", shape(), " to ", to, ".");
  check_sizes("expand", to);
  return record("expand", view_of(*this, to, strides, impl_->offset),
                {{*this, [](const Tensor& gy) { return gy; }}});
}

Tensor Tensor::squeeze(int64_t dim) const {
  check_defined("squeeze", *this);
  const int d = wrap_dim("squeeze", dim, this->dim());
  Shape to = shape(), new_strides = strides();
  if (this->dim() > 0 && to[d] == 1) {
    to.erase(d);
    new_strides.erase(d);
  }
  return reshaped_view("squeeze", *this, to, new_strides);
}

Tensor Tensor::squeeze() const {
  check_defined("squeeze", *this);
  Shape to, new_strides;
  for (int d = 0; d < dim(); ++d)
    if (shape()[d] != 1) {
      to.push_back(shape()[d]);
      new_strides.push_back(strides()[d]);
    }
  return reshaped_view("squeeze", *this, to, new_strides);
}

Tensor Tensor::unsqueeze(int64_t dim) const {
  check_defined("unsqueeze", *this);
  const int d = wrap_dim("unsqueeze", dim, this->dim() + 1);
  Shape to = shape(), new_strides = strides();
  new_strides.insert(d, d < this->dim() ? to[d] * new_strides[d] : 1);
  to.insert(d, 1);
  return reshaped_view("unsqueeze", *this, to, new_strides);
}

Tensor Tensor::slice(int64_t dim, int64_t start, int64_t end, int64_t step) const {
  check_defined("slice", *this);
  if (this->dim() == 0) fail("slice", "a scalar has no dimension to slice.");
  const int d = wrap_dim("slice", dim, this->dim());
  if (step < 1) fail<InputError>("slice", "step must be at least 1, got ", step, ".");
  const int64_t size = shape()[d];
  const auto bound = [size](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  start = bound(start);
  end = std::max(bound(end), start);
  Shape to = shape(), new_strides = strides();
  step = std::min(step, std::max<int64_t>(size, 1));  // as good as any larger one
  to[d] = (end - start + step - 1) / step;
  new_strides[d] = strides()[d] * step;
  const auto place = [d, size, start, step](const Tensor& gy) { return pad(gy, d, size, start, step); };
  const auto part = [d, start, end, step](const Tensor& x) { return x.slice(d, start, end, step); };
  autograd::trace_attributes(d, start, step);
  return part_view("slice", *this, view_of(*this, to, new_strides, impl_->offset + start * strides()[d]),
                   place, part);
}

Tensor Tensor::select(int64_t dim, int64_t index) const {
  check_defined("select", *this);
  if (this->dim() == 0) fail("select", "a scalar has no dimension to select from.");
  const int64_t n = size(dim);
  if (index < -n || index >= n)
    fail<PlaceError>("select", "index must be in [", -n, ", ", n - 1, "], got ", index, ".");
  const int64_t i = index < 0 ? index + n : index;
  const int d = wrap_dim("select", dim, this->dim());
  Shape to = shape(), new_strides = strides();
  to.erase(d);
  new_strides.erase(d);
  const auto place = [d, n, i](const Tensor& gy) { return pad(gy.unsqueeze(d), d, n, i); };
  const auto part = [d, i](const Tensor& x) { return x.select(d, i); };
  autograd::trace_attributes(d, i);
  return part_view("select", *this, view_of(*this, to, new_strides, impl_->offset + i * strides()[d]), place,
                   part);
}

std::vector<Tensor> Tensor::split(int64_t size, int64_t dim) const {
  check_defined("split", *this);
  if (size < 0 || (size == 0 && this->size(dim) > 0))
    fail("split", "size must be at least 1, got ", size, ".");
  std::vector<int64_t> sizes;
  int64_t left = this->size(dim);
  do {
    sizes.push_back(std::min(size, left));
    left -= sizes.back();
  } while (left > 0);
  return split(sizes, dim);
}

std::vector<Tensor> Tensor::split(const std::vector<int64_t>& sizes, int64_t dim) const {
  check_defined("split", *this);
  std::vector<Tensor> pieces;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    if (size < 0) fail("split", "sizes must not be negative, got ", size, ".");
    if (size > this->size(dim) - start)
      fail("split", "sizes must add up to ", this->size(dim), ", got ", size, " after ", start, ".");
    pieces.push_back(slice(dim, start, start + size));
    start += size;
  }
  if (start != size(dim)) fail("split", "sizes must add up to ", size(dim), ", got ", start, ".");
  return pieces;
}

std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim) const {
  check_defined("chunk", *this);
  if (chunks < 1) fail("chunk", "the number of pieces must be at least 1, got ", chunks, ".");
  const int64_t n = size(dim);
  if (n == 0) return split(std::vector<int64_t>(static_cast<size_t>(chunks), 0), dim);
  return split((n - 1) / chunks + 1, dim);
}

Tensor Tensor::contiguous() const {
  check_defined("contiguous", *this);
  if (is_contiguous()) return *this;
  return record("contiguous", raw::clone(*this), {{*this, [](const Tensor& gy) { return gy; }}});
}

Tensor Tensor::to(DType dtype) const {
  check_defined("to", *this);
  if (dtype == this->dtype()) return *this;
  Tensor out = raw::converted(*this, dtype);
  if (!is_floating(dtype)) return out;
  return record("to", std::move(out),
                {{*this, [from = this->dtype()](const Tensor& gy) { return gy.to(from); }}});
}

}  // namespace gradus
