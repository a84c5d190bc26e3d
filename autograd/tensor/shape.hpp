// Shape: sizes or strides, outermost dimension first, at most kMaxDims; a plain value without allocation.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string_view>
#include <vector>

namespace gradus {

inline constexpr int kMaxDims = 8;  ///< most dimensions of a tensor
/// Most elements of a tensor, counting sizes 0 as 1: products of sizes, strides and bytes then fit 64 bits.
inline constexpr int64_t kMaxElements = int64_t{1} << 56;

class Shape {
 public:
  Shape() = default;
  /// Throws Error beyond kMaxDims entries, as do all functions that lengthen a shape.
  Shape(std::initializer_list<int64_t> dims) : Shape(dims.begin(), dims.end()) {}
  explicit Shape(const std::vector<int64_t>& dims) : Shape(dims.data(), dims.data() + dims.size()) {}
  Shape(const int64_t* first, const int64_t* last);

  int size() const { return size_; }                    ///< number of entries, that is, of dimensions
  bool empty() const { return size_ == 0; }             ///< true for a scalar
  int64_t operator[](int i) const { return dims_[i]; }  ///< unchecked, i from 0
  int64_t& operator[](int i) { return dims_[i]; }       ///< unchecked, i from 0
  int64_t back() const { return dims_[size_ - 1]; }     ///< the innermost entry, which must exist
  const int64_t* begin() const { return dims_; }        ///< outermost first
  const int64_t* end() const { return dims_ + size_; }  ///< past the innermost

  void push_back(int64_t d) { insert(size_, d); }  ///< adds an innermost entry
  void insert(int at, int64_t d);                  ///< adds an entry before entry `at`
  void erase(int at);                              ///< removes entry `at`

  /// Product of all entries; 1 for the shape of a scalar.
  int64_t numel() const {
    uint64_t n = 1;  // may wrap for a shape that check_sizes() has not checked
    for (int i = 0; i < size_; ++i) n *= static_cast<uint64_t>(dims_[i]);
    return static_cast<int64_t>(n);
  }

  /// The index of element `flat`, which must exist, in row-major order: (2, 3).index_of(5) is (1, 2).
  Shape index_of(int64_t flat) const;

  /// Whether all entries are equal.
  bool operator==(const Shape& other) const {
    if (size_ != other.size_) return false;
    for (int i = 0; i < size_; ++i)
      if (dims_[i] != other.dims_[i]) return false;
    return true;
  }

 private:
  int64_t dims_[kMaxDims] = {};
  int size_ = 0;
};

/// Prints "(2, 3)".
std::ostream& operator<<(std::ostream& os, const Shape& shape);

/// Throws Error if a size is negative, or if a tensor of that shape would have more than kMaxElements.
void check_sizes(std::string_view op, const Shape& shape);

/// Strides, in elements, of a packed row-major tensor.
Shape contiguous_strides(const Shape& shape);

/// Converts a dimension that may count from the end to one that counts from the front. Throws Error unless
/// -dims <= dim < dims (a scalar counts as one dimension).
int wrap_dim(std::string_view op, int64_t dim, int dims);

/// The shape that a and b share under NumPy's broadcasting rules. Throws Error if there is none.
Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b);

}  // namespace gradus
