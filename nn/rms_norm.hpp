// RMSNorm over the last dimension (Zhang and Sennrich, arXiv 1910.07467). Ownership and thread-safety as in
// module.hpp.
#pragma once

#include <optional>

#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// Options of an RMSNorm, with PyTorch's defaults.
struct RMSNormOptions {
  std::optional<double> eps = {};  ///< added to the mean square; none: that of rms_norm()
};

/// x / sqrt(mean(x^2) + eps) * weight, over the last dimension.
class RMSNorm : public Module {
 public:
  /// Weight starts at 1. Throws Error unless features >= 1.
  explicit RMSNorm(int64_t features, const RMSNormOptions& options = {});

  Tensor operator()(const Tensor& x) const;  ///< (..., C) -> (..., C)
  void visit(Visitor& v) override { v("weight", weight, Role::vector); }

  Tensor weight;  ///< (C)

 private:
  std::optional<double> eps_;
};

}  // namespace gradus::nn
