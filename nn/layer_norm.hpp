// LayerNorm over the last dimension (Ba, Kiros and Hinton, arXiv 1607.06450). Ownership and thread-safety as
// in module.hpp.
#pragma once

#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// Options of a LayerNorm, with PyTorch's defaults.
struct LayerNormOptions {
  double eps = 1e-5;  ///< added to the variance
  bool bias = true;   ///< whether it adds a bias
};

/// (x - mean) / sqrt(var + eps) * weight + bias, over the last dimension.
class LayerNorm : public Module {
 public:
  /// Weight starts at 1, bias at 0. Throws Error unless features >= 1.
  explicit LayerNorm(int64_t features, const LayerNormOptions& options = {});

  Tensor operator()(const Tensor& x) const;  ///< (..., C) -> (..., C)
  void visit(Visitor& v) override { v("weight", weight, Role::vector)("bias", bias, Role::vector); }

  Tensor weight;  ///< (C)
  Tensor bias;    ///< (C) or undefined

 private:
  double eps_;
};

}  // namespace gradus::nn
