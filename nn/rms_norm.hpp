// RMSNorm over the last dimension (Zhang and Sennrich, arXiv 1910.07467). Ownership and thread-safety as in
// module.hpp.
#pragma once

#include <optional>

#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// x / sqrt(mean(x^2) + eps) * weight, over the last dimension.
class RMSNorm : public Module {
 public:
  /// Weight starts at 1. Without an eps it is that of rms_norm(). Throws Error unless features >= 1.
  explicit RMSNorm(int64_t features, std::optional<double> eps = {});

  Tensor operator()(const Tensor& x) const;  ///< (..., C) -> (..., C)
  void visit(Visitor& v) override { v("weight", weight); }

  Tensor weight;  ///< (C)

 private:
  std::optional<double> eps_;
};

}  // namespace gradus::nn
