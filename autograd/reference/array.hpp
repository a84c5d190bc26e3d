// Array: numbers in row-major order with a shape, and how to walk it. The definitions of operations in this
// folder are written with it: plain loops over numbers T: float, double, long double, Dual (dual.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gradus::reference {

using Sizes = std::vector<int64_t>;  ///< of dimensions, outermost first; or dimensions

/// The product of the sizes; 1 for a scalar.
inline int64_t count(const Sizes& shape) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return n;
}

template <class T>
struct Array {
  Sizes shape;
  std::vector<T> data;   ///< row-major
  bool defined = false;  ///< whether there is an array: a bias may be missing

  Array() = default;
  /// Zeros.
  explicit Array(Sizes sizes)
      : shape(std::move(sizes)), data(static_cast<size_t>(count(shape))), defined(true) {}

  int64_t size() const { return static_cast<int64_t>(data.size()); }
  int dim() const { return static_cast<int>(shape.size()); }
  /// Size of a dimension; negative ones count from the end.
  int64_t size(int d) const { return shape[static_cast<size_t>(d < 0 ? d + dim() : d)]; }
  T& operator[](int64_t i) { return data.at(static_cast<size_t>(i)); }  ///< by its place in memory
  const T& operator[](int64_t i) const { return data.at(static_cast<size_t>(i)); }  ///< the same
};

using Whole = Array<int64_t>;  ///< indices, or a mask of 0 and 1

/// The shape with another size in dimension d.
inline Sizes resized(Sizes shape, int64_t d, int64_t size) {
  shape[static_cast<size_t>(d)] = size;
  return shape;
}

/// Dimension d and those around it: element (o, i, k) is at (o * size + i) * inner + k.
struct Around {
  Around(const Sizes& shape, int64_t d) {
    for (int64_t k = 0; k < static_cast<int64_t>(shape.size()); ++k)
      (k < d ? outer : k > d ? inner : size) *= shape[static_cast<size_t>(k)];
  }
  int64_t at(int64_t o, int64_t i, int64_t k) const { return (o * size + i) * inner + k; }
  int64_t outer = 1, size = 1, inner = 1;
};

/// Calls f(o, k) for each line along dimension d.
template <class F>
void for_each_line(const Around& a, F f) {
  for (int64_t o = 0; o < a.outer; ++o)
    for (int64_t k = 0; k < a.inner; ++k) f(o, k);
}

/// Calls f(index) for each index of the shape, the last dimension fastest.
template <class F>
void for_each_index(const Sizes& shape, F f) {
  Sizes index(shape.size());
  for (int64_t left = count(shape); left > 0; --left) {
    f(static_cast<const Sizes&>(index));
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

/// The place in an array of that shape which `index` reads: the last dimensions are aligned, and one of size
/// 1 serves every index (NumPy's broadcasting).
inline int64_t place(const Sizes& index, const Sizes& shape) {
  int64_t at = 0;
  const size_t skipped = index.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + (shape[d] == 1 ? 0 : index[d + skipped]);
  return at;
}

/// The shape that a and b share under broadcasting.
inline Sizes broadcast(const Sizes& a, const Sizes& b) {
  Sizes shape = a.size() < b.size() ? b : a;
  const Sizes& other = a.size() < b.size() ? a : b;
  for (size_t d = 0; d < other.size(); ++d) {
    int64_t& size = shape[shape.size() - other.size() + d];
    if (size == 1) size = other[d];
  }
  return shape;
}

/// f of each element.
template <class T, class F>
Array<T> each(const Array<T>& x, F f) {
  Array<T> y(x.shape);
  for (int64_t i = 0; i < x.size(); ++i) y[i] = f(x[i]);
  return y;
}

/// f of each pair of elements.
template <class T, class F>
Array<T> each(const Array<T>& a, const Array<T>& b, F f) {
  Array<T> y(broadcast(a.shape, b.shape));
  int64_t i = 0;
  for_each_index(y.shape, [&](const Sizes& at) { y[i++] = f(a[place(at, a.shape)], b[place(at, b.shape)]); });
  return y;
}

}  // namespace gradus::reference
