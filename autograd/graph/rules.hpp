// Rules that give the gradients of all inputs at once.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gradus/autograd/values/tensor.hpp"

namespace gradus {

/// Which inputs of a joint rule need their gradient; the rule may leave the others undefined. From the 64th
/// on one bit stands for all.
class Needs {
 public:
  void set(size_t i) { bits_ |= bit(i); }  ///< input i needs it
  /// Whether input i does.
  bool operator[](size_t i) const { return (bits_ & bit(i)) != 0; }

 private:
  static uint64_t bit(size_t i) { return uint64_t{1} << (i < 63 ? i : 63); }
  uint64_t bits_ = 0;
};

/// All input gradients at once, for fused backward kernels: (gy, y, needs) -> one tensor an input.
using JointRule = std::function<std::vector<Tensor>(const Tensor& gy, const Tensor& y, Needs needs)>;

/// All input gradients from all result gradients: (gys, ys, needs) -> one tensor an input, undefined where
/// needs says so. The gradient of a result that nothing used is zeros; that of an integer result undefined.
using ManyRule = std::function<std::vector<Tensor>(const std::vector<Tensor>& gys,
                                                   const std::vector<Tensor>& ys, Needs needs)>;

}  // namespace gradus
