// Rules that give the gradients of all inputs at once.
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

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

/// All input gradients at once, for fused backward kernels: one tensor an input.
class JointRule {
 public:
  JointRule() = default;
  /// `rule(gy, needs)`, or `rule(gy, y, needs)`, for which the op's output y is kept until backward.
  template <class F, class = std::enable_if_t<!std::is_same_v<F, JointRule>>>
  JointRule(F rule) {  // NOLINT: record() takes rules as they are written
    if constexpr (std::is_invocable_v<F&, const Tensor&, const Tensor&, Needs>) {
      rule_ = std::move(rule);
      wants_output_ = true;
    } else {
      rule_ = [rule = std::move(rule)](const Tensor& gy, const Tensor&, Needs needs) mutable {
        return rule(gy, needs);
      };
    }
  }

  explicit operator bool() const { return rule_ != nullptr; }  ///< whether there is one
  bool wants_output() const { return wants_output_; }          ///< whether it was given y
  /// One tensor an input, undefined where needs says so.
  std::vector<Tensor> operator()(const Tensor& gy, const Tensor& y, Needs needs) const {
    return rule_(gy, y, needs);
  }

 private:
  std::function<std::vector<Tensor>(const Tensor&, const Tensor&, Needs)> rule_;
  bool wants_output_ = false;
};

/// All input gradients from all result gradients: (gys, ys, needs) -> one tensor an input, undefined where
/// needs says so. The gradient of a result that nothing used is zeros; that of an integer result undefined.
using ManyRule = std::function<std::vector<Tensor>(const std::vector<Tensor>& gys,
                                                   const std::vector<Tensor>& ys, Needs needs)>;

}  // namespace gradus
