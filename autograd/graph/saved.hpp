// Saved: a tensor that a rule keeps until backward, and that must not change until then.
#pragma once

#include <cstdint>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// A tensor kept for backward. Using it throws Error if its values were overwritten since.
class Saved {
 public:
  /// Notes which version of its values it has.
  explicit Saved(const Tensor& tensor) : tensor_(tensor) {
    if (tensor.defined()) version_ = tensor.impl()->storage->version();
  }
  /// The tensor. Throws Error if it was overwritten.
  const Tensor& operator*() const {
    if (tensor_.defined() && tensor_.impl()->storage->version() != version_) refuse();
    return tensor_;
  }
  const Tensor* operator->() const { return &**this; }  ///< throws as above
  /// Throws as above.
  operator const Tensor&() const { return **this; }  // NOLINT: rules read best without a cast

 private:
  [[noreturn]] void refuse() const;
  Tensor tensor_;
  uint64_t version_ = 0;
};

}  // namespace gradus
