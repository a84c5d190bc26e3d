// Linear: y = x W^T + b. Ownership and thread-safety as in module.hpp.
#pragma once

#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// Options of a Linear, with PyTorch's defaults.
struct LinearOptions {
  bool bias = true;  ///< whether it adds a bias
};

class Linear : public Module {
 public:
  /// Weight and bias start uniform on +-1 / sqrt(in_features), drawn in this order, as PyTorch's do. Throws
  /// Error unless both sizes are >= 1.
  Linear(int64_t in_features, int64_t out_features, Generator& generator, const LinearOptions& options = {});

  Tensor operator()(const Tensor& x) const;  ///< (..., in) -> (..., out)
  void visit(Visitor& v) override { v("weight", weight, Role::matrix)("bias", bias, Role::vector); }

  Tensor weight;  ///< (out, in)
  Tensor bias;    ///< (out) or undefined
};

}  // namespace gradus::nn
