// Other arrangements of the same numbers: views, joining, indexing.
#pragma once

#include "gradus/autograd/reference/array.hpp"

namespace gradus::reference {

/// The same numbers in row-major order: reshape, squeeze, unsqueeze, contiguous, to, alias.
template <class T>
Array<T> reshape(Array<T> x, const Sizes& shape) {
  x.shape = shape;
  return x;
}

/// Dimension i of the result is order[i] of x; transpose swaps two.
template <class T>
Array<T> permute(const Array<T>& x, const Sizes& order) {
  Sizes shape, from(order.size());
  for (const int64_t d : order) shape.push_back(x.size(static_cast<int>(d)));
  Array<T> y(shape);
  int64_t i = 0;
  for_each_index(shape, [&](const Sizes& at) {
    for (size_t d = 0; d < order.size(); ++d) from[static_cast<size_t>(order[d])] = at[d];
    y[i++] = x[place(from, x.shape)];
  });
  return y;
}

/// Dimensions of size 1 repeated.
template <class T>
Array<T> expand(const Array<T>& x, const Sizes& shape) {
  Array<T> y(shape);
  int64_t i = 0;
  for_each_index(shape, [&](const Sizes& at) { y[i++] = x[place(at, x.shape)]; });
  return y;
}

/// y_i = x_(start + i step) along dimension d, n elements. select() is n = 1.
template <class T>
Array<T> slice(const Array<T>& x, int64_t d, int64_t start, int64_t step, int64_t n) {
  Array<T> y(resized(x.shape, d, n));
  const Around from(x.shape, d), to(y.shape, d);
  for_each_line(to, [&](int64_t o, int64_t k) {
    for (int64_t i = 0; i < n; ++i) y[to.at(o, i, k)] = x[from.at(o, start + i * step, k)];
  });
  return y;
}

/// y_(start + i step) = x_i along dimension d of size n, else 0.
template <class T>
Array<T> pad(const Array<T>& x, int64_t d, int64_t start, int64_t step, int64_t n) {
  Array<T> y(resized(x.shape, d, n));
  const Around from(x.shape, d), to(y.shape, d);
  for_each_line(from, [&](int64_t o, int64_t k) {
    for (int64_t i = 0; i < from.size; ++i) y[to.at(o, start + i * step, k)] = x[from.at(o, i, k)];
  });
  return y;
}

/// All one after the other along dimension d; an empty vector adds nothing.
template <class T>
Array<T> cat(const std::vector<Array<T>>& all, int64_t d, const Sizes& shape) {
  Array<T> y(shape);
  const Around to(shape, d);
  int64_t start = 0;
  for (const Array<T>& x : all) {
    if (x.dim() == 1 && x.size() == 0) continue;
    const Around from(x.shape, d);
    for_each_line(from, [&](int64_t o, int64_t k) {
      for (int64_t i = 0; i < from.size; ++i) y[to.at(o, start + i, k)] = x[from.at(o, i, k)];
    });
    start += from.size;
  }
  return y;
}

/// All of one shape along a new dimension d.
template <class T>
Array<T> stack(std::vector<Array<T>> all, int64_t d, const Sizes& shape) {
  for (Array<T>& x : all) x.shape.insert(x.shape.begin() + d, 1);
  return cat(all, d, shape);
}

/// x below the diagonal (column - row <= diagonal) of the last two dimensions, or above it, else 0.
template <class T>
Array<T> triangle(const Array<T>& x, bool lower, int64_t diagonal) {
  Array<T> y(x.shape);
  const int64_t rows = x.size(-2), cols = x.size(-1);
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t distance = i % cols - i / cols % rows;
    if (lower ? distance <= diagonal : distance >= diagonal) y[i] = x[i];
  }
  return y;
}

// -- indexing, along dimension d
/// y_i = x_(index_i)
template <class T>
Array<T> index_select(const Array<T>& x, int64_t d, const Whole& index) {
  Array<T> y(resized(x.shape, d, index.size()));
  const Around from(x.shape, d), to(y.shape, d);
  for_each_line(to, [&](int64_t o, int64_t k) {
    for (int64_t i = 0; i < to.size; ++i) y[to.at(o, i, k)] = x[from.at(o, index[i], k)];
  });
  return y;
}

/// x with source_i added at index_i.
template <class T>
Array<T> index_add(const Array<T>& x, int64_t d, const Whole& index, const Array<T>& source) {
  Array<T> y = x;
  const Around from(source.shape, d), to(x.shape, d);
  for_each_line(from, [&](int64_t o, int64_t k) {
    for (int64_t i = 0; i < from.size; ++i) y[to.at(o, index[i], k)] += source[from.at(o, i, k)];
  });
  return y;
}

/// y_(o, i, k) = x_(o, index_(o, i, k), k)
template <class T>
Array<T> gather(const Array<T>& x, int64_t d, const Whole& index) {
  Array<T> y(index.shape);
  const Around from(x.shape, d), to(index.shape, d);
  for_each_line(to, [&](int64_t o, int64_t k) {
    for (int64_t i = 0; i < to.size; ++i) y[to.at(o, i, k)] = x[from.at(o, index[to.at(o, i, k)], k)];
  });
  return y;
}

/// x with source_(o, i, k) added at (o, index_(o, i, k), k).
template <class T>
Array<T> scatter_add(const Array<T>& x, int64_t d, const Whole& index, const Array<T>& source) {
  Array<T> y = x;
  const Around from(index.shape, d), to(x.shape, d);
  for_each_line(from, [&](int64_t o, int64_t k) {
    for (int64_t i = 0; i < from.size; ++i) {
      const int64_t at = from.at(o, i, k);
      y[to.at(o, index[at], k)] += source[at];
    }
  });
  return y;
}

}  // namespace gradus::reference
