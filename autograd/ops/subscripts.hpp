// The subscripts of Tensor::index(), which read as Python's do in PyTorch:
//
//   x[0:2, None, ..., 3]   x.index({Slice(0, 2), None, Ellipsis, 3})
//   x[:, rows]             x.index({Slice(), rows})
//   x[x > 0]               x.index({gt(x, 0.0)})
//
// Plain values; a tensor among them shares its storage. Thread-safe: no state.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// start:stop:step with Python's clamping of bounds; what is left out reaches to the end.
struct Slice {
  Slice() = default;
  /// first:last:by
  Slice(std::optional<int64_t> first, std::optional<int64_t> last, int64_t by = 1)
      : start(first), stop(last), step(by) {}
  std::optional<int64_t> start, stop;  ///< negative ones count from the end
  int64_t step = 1;                    ///< above 0
};

/// Puts a dimension of size 1 here.
struct NewDim {};
inline constexpr NewDim None{};  ///< Python's None, as a subscript

/// Stands for all dimensions that the other subscripts leave.
struct RemainingDims {};
inline constexpr RemainingDims Ellipsis{};  ///< Python's ..., as a subscript

/// One subscript.
class TensorIndex {
 public:
  /// What a subscript can be.
  using Value = std::variant<int64_t, Slice, NewDim, RemainingDims, Tensor>;

  /// From any of them, implicitly: lists of subscripts are written in braces.
  template <std::integral I>
  TensorIndex(I i) : value_(static_cast<int64_t>(i)) {}      // NOLINT
  TensorIndex(bool) = delete;                                // neither the number 0 or 1 nor a mask
  TensorIndex(Slice slice) : value_(slice) {}                // NOLINT
  TensorIndex(NewDim none) : value_(none) {}                 // NOLINT
  TensorIndex(RemainingDims dims) : value_(dims) {}          // NOLINT
  TensorIndex(Tensor tensor) : value_(std::move(tensor)) {}  // NOLINT

  const Value& value() const { return value_; }  ///< which one it is

 private:
  Value value_;
};

}  // namespace gradus
