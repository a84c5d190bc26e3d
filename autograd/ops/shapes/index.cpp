#include "gradus/autograd/kernels/elementwise/index.hpp"

#include <algorithm>
#include <iterator>

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

// x; a scalar as a vector of one element.
Tensor as_vector(std::string_view op, const Tensor& x) {
  check_defined(op, x);
  return x.dim() == 0 ? x.reshape({1}) : x;
}

// total[:, index, :] += source, in place.
void add_at(Tensor& total, int d, const Tensor& index, const Tensor& source) {
  const Sides sides(total.shape(), d);
  const Tensor i = raw::contiguous(index), s = raw::contiguous(source);
  dispatch_number("index_add", total.dtype(), [&]<class T>() {
    kernels::index_add(sides.outer, sides.size, sides.inner, i.numel(), total.mutable_data<T>(),
                       i.data<int64_t>(), s.data<T>());
  });
}

// gather and scatter_add allow an index smaller than x in the other dimensions: the part of x that it covers.
Tensor covered(const Tensor& x, const Shape& index, int d) {
  Tensor part = x;
  for (int k = 0; k < x.dim(); ++k)
    if (k != d && index[k] != x.shape()[k]) part = part.slice(k, 0, index[k]);
  return part;
}

void check_covers(std::string_view op, const Tensor& x, const Tensor& index, int d) {
  bool fits = index.dim() == x.dim();
  for (int k = 0; fits && k < x.dim(); ++k) fits = k == d || index.shape()[k] <= x.shape()[k];
  if (!fits)
    fail(op, "the index must have x's dimensions and be no larger than x but along dim ", d, ", got index ",
         index.shape(), " and x ", x.shape(), ".");
}

// The part of a source that an index of that shape reads.
Tensor used_of(std::string_view op, const Tensor& source, const Shape& index) {
  bool enough = source.dim() == index.size();
  for (int k = 0; enough && k < index.size(); ++k) enough = source.shape()[k] >= index[k];
  if (!enough)
    fail(op, "the source must be at least as large as the index, got ", source.shape(), " and ", index, ".");
  return covered(source, index, -1);
}

Tensor triangle(OpName op, bool lower, const Tensor& x, int64_t diagonal) {
  check_defined(op.name, x);
  if (x.dim() < 2) fail(op.name, "needs at least two dimensions, got ", x.shape(), ".");
  const Tensor packed = raw::contiguous(x);
  const int64_t rows = x.size(-2), cols = x.size(-1);
  diagonal = std::clamp(diagonal, -rows, cols);  // beyond these, all diagonals give the same
  Tensor out = empty(x.shape(), x.dtype());
  dispatch_any(x.dtype(), [&]<class T>() {
    if (x.numel() > 0)
      kernels::triangle(lower, x.numel() / (rows * cols), rows, cols, out.mutable_data<T>(), packed.data<T>(),
                        diagonal);
  });
  autograd::trace_attributes(diagonal);
  return record(op, std::move(out),
                {{x, [op, lower, diagonal](const Tensor& gy) { return triangle(op, lower, gy, diagonal); }}});
}

}  // namespace

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  check_defined("index_select", x);
  const int d = wrap_dim("index_select", dim, x.dim());
  check_index("index_select", index, x.dim() == 0 ? 1 : x.shape()[d]);
  if (index.dim() > 1) fail("index_select", "the index must have one dimension, got ", index.shape(), ".");
  if (x.dim() == 0) {
    if (index.numel() != 1)
      fail("index_select", "a scalar takes an index of one element, got ", index.shape(), ".");
    return index_select(x.reshape({1}), 0, index).reshape({});
  }
  const Tensor packed = raw::contiguous(x), i = raw::contiguous(index.reshape({index.numel()}));
  const Sides sides(x.shape(), d);
  Tensor out = empty(resized(x.shape(), d, i.numel()), x.dtype());
  dispatch_any(x.dtype(), [&]<class T>() {
    kernels::index_select(sides.outer, sides.size, sides.inner, i.numel(), out.mutable_data<T>(),
                          packed.data<T>(), i.data<int64_t>());
  });
  const auto spread = [d, shape = x.shape(), i = Saved(i)](const Tensor& gy) {
    return index_add(zeros(shape, gy.dtype()), d, i, gy);
  };
  const auto add_to = [d, shape = x.shape(), i = Saved(i)](const Tensor& gy, Tensor& total) {
    if (!total.defined()) total = zeros(shape, gy.dtype());
    add_at(total, d, i, gy);
  };
  autograd::trace_attributes(d, i);
  return record("index_select", std::move(out), {{x, spread, add_to}});
}

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  check_same_dtype("index_add", x, source);
  const int d = wrap_dim("index_add", dim, x.dim());
  check_index("index_add", index, x.dim() == 0 ? 1 : x.shape()[d]);
  if (x.dim() == 0 || (source.dim() == 0 && x.dim() == 1) || index.dim() == 0)
    return index_add(as_vector("index_add", x), d, as_vector("index_add", index),
                     x.dim() < 2 ? as_vector("index_add", source) : source)
        .reshape(x.shape());
  if (index.dim() != 1 || source.shape() != resized(x.shape(), d, index.numel()))
    fail("index_add", "needs index (n,) and a source like x with n along dim ", d, ", got index ",
         index.shape(), ", source ", source.shape(), " and x ", x.shape(), ".");
  Tensor out = raw::clone(x);
  add_at(out, d, index, source);
  autograd::trace_attributes(d, index);
  return record("index_add", std::move(out),
                {{x, [](const Tensor& gy) { return gy; }},
                 {source, [d, i = Saved(index)](const Tensor& gy) { return index_select(gy, d, i); }}});
}

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  check_defined("gather", x);
  check_defined("gather", index);
  if (x.dim() == 0 || index.dim() == 0)
    return gather(as_vector("gather", x), dim, as_vector("gather", index)).reshape(index.shape());
  const int d = wrap_dim("gather", dim, x.dim());
  check_index("gather", index, x.shape()[d]);
  if (index.numel() == 0) return x.reshape({x.numel()}).slice(0, 0, 0).reshape(index.shape());
  check_covers("gather", x, index, d);
  const Tensor part = covered(x, index.shape(), d);
  const Tensor packed = raw::contiguous(part), i = raw::contiguous(index);
  const Sides sides(part.shape(), d);
  Tensor out = empty(index.shape(), x.dtype());
  dispatch_any(x.dtype(), [&]<class T>() {
    kernels::gather(sides.outer, sides.size, sides.inner, i.shape()[d], out.mutable_data<T>(),
                    packed.data<T>(), i.data<int64_t>());
  });
  const auto spread = [d, shape = part.shape(), i = Saved(i)](const Tensor& gy) {
    return scatter_add(zeros(shape, gy.dtype()), d, i, gy);
  };
  autograd::trace_attributes(d, i);
  return record("gather", std::move(out), {{part, spread}});
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  check_same_dtype("scatter_add", x, source);
  check_defined("scatter_add", index);
  if (x.dim() == 0 || index.dim() == 0 || source.dim() == 0)
    return scatter_add(as_vector("scatter_add", x), dim, as_vector("scatter_add", index),
                       as_vector("scatter_add", source))
        .reshape(x.shape());
  const int d = wrap_dim("scatter_add", dim, x.dim());
  check_index("scatter_add", index, x.shape()[d]);
  if (index.numel() == 0) return x + sum(source.reshape({source.numel()}).slice(0, 0, 0));  // of nothing
  check_covers("scatter_add", x, index, d);
  const Tensor used = used_of("scatter_add", source, index.shape());
  if (const Tensor part = covered(x, index.shape(), d); part.shape() != x.shape()) {
    Tensor sums = scatter_add(zeros(part.shape(), x.dtype()), d, index, used);
    for (int k = 0; k < x.dim(); ++k)
      if (sums.shape()[k] != x.shape()[k]) sums = pad(sums, k, x.shape()[k], 0);
    return x + sums;
  }
  const Tensor i = raw::contiguous(index), s = raw::contiguous(used);
  const Sides sides(x.shape(), d);
  Tensor out = raw::clone(x);
  dispatch_number("scatter_add", x.dtype(), [&]<class T>() {
    kernels::scatter_add(sides.outer, sides.size, sides.inner, i.shape()[d], out.mutable_data<T>(),
                         i.data<int64_t>(), s.data<T>());
  });
  autograd::trace_attributes(d, i);
  return record("scatter_add", std::move(out),
                {{x, [](const Tensor& gy) { return gy; }},
                 {used, [d, i = Saved(i)](const Tensor& gy) { return gather(gy, d, i); }}});
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  check_same_dtype("scatter", x, source);
  check_defined("scatter", index);
  if (x.dim() == 0 || index.dim() == 0 || source.dim() == 0)
    return scatter(as_vector("scatter", x), dim, as_vector("scatter", index), as_vector("scatter", source))
        .reshape(x.shape());
  const int d = wrap_dim("scatter", dim, x.dim());
  check_index("scatter", index, x.shape()[d]);
  const int64_t n = x.numel();
  Tensor from = arange(0, static_cast<double>(n));  // the place in x, followed by source, of each element
  Tensor used = source.flatten().slice(0, 0, 0);
  if (index.numel() > 0) {
    check_covers("scatter", x, index, d);
    used = used_of("scatter", source, index.shape()).flatten();
    const std::vector<int64_t> to = gather(from.reshape(x.shape()), d, index).to_vector<int64_t>();
    int64_t* const origin = from.mutable_data<int64_t>();
    for (int64_t i = 0; i < std::ssize(to); ++i) origin[to[static_cast<size_t>(i)]] = n + i;
  }
  return index_select(cat({x.flatten(), used}, 0), 0, from).reshape(x.shape());
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, double value) {
  check_defined("scatter", x);
  check_defined("scatter", index);
  return scatter(x, dim, index, full({}, value, x.dtype()).expand(index.shape()));
}

// Rows of a weight that is only stored, as float32.
static Tensor embedding_stored(const Tensor& weight, const Tensor& index) {
  const int64_t length = weight.size(1);
  const auto row_of = [&](const Tensor& t, int64_t row) {
    return view_of(t, {1, length}, t.strides(), t.impl()->offset + row * t.strides()[0]);
  };
  const std::vector<int64_t> places = index.to_vector<int64_t>();
  Tensor rows = empty({index.numel(), length}, DType::float32);
  for (size_t i = 0; i < places.size(); ++i) {
    Tensor to = row_of(rows, static_cast<int64_t>(i));
    if (is_in_tiles(weight.dtype()))
      raw::tile_kernels(weight.dtype())
          .to_floats(places[i], places[i] + 1, length, to.mutable_data<float>(), weight.raw_data());
    else
      raw::copy_into(to, row_of(weight, places[i]));
  }
  Shape shape = index.shape();
  shape.push_back(weight.size(1));
  return view_of(rows, shape, contiguous_strides(shape), 0);
}

Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<int64_t> padding_idx) {
  check_defined("embedding", weight);
  const bool stored = is_storage(weight.dtype());
  if (!stored) check_floating("embedding", weight);
  if (weight.dim() != 2) fail("embedding", "the weight must be (V, C), got ", weight.shape(), ".");
  const int64_t V = weight.size(0);
  check_index("embedding", index, V);
  const int64_t padding = padding_idx ? (*padding_idx < 0 ? *padding_idx + V : *padding_idx) : -1;
  if (padding_idx && (padding < 0 || padding >= V))
    fail("embedding", "padding_idx must be a row of the weight ", weight.shape(), ", got ", *padding_idx,
         ".");
  if (stored) return embedding_stored(weight, index);  // no row of it gets a gradient
  Tensor table = weight;
  if (padding_idx) {
    const Tensor rows = arange(0, static_cast<double>(V)).unsqueeze(1);
    table = where(eq(rows, static_cast<double>(padding)), weight.detach(), weight);
  }
  Shape shape = index.shape();
  shape.push_back(weight.size(1));
  return index_select(table, 0, index.reshape({index.numel()})).reshape(shape);
}

Tensor tril(const Tensor& x, int64_t diagonal) { return triangle("tril", true, x, diagonal); }
Tensor triu(const Tensor& x, int64_t diagonal) { return triangle("triu", false, x, diagonal); }

}  // namespace gradus
