// MinGRU: a recurrent layer whose gates do not depend on its state, so that all time steps are computed at
// once (Feng et al., arXiv 2410.01201, section 3.1). Ownership and thread-safety as in module.hpp.
#pragma once

#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/linear.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// h_t = (1 - z_t) * h_(t-1) + z_t * linear_h(x_t) with z_t = sigmoid(linear_z(x_t)).
class MinGRU : public Module {
 public:
  /// Draws the values of linear_z and linear_h, in this order; both have a bias. Throws Error as Linear does.
  MinGRU(int64_t input_size, int64_t hidden_size, Generator& generator);

  /// (B, T, C) -> (B, T, H). h_0 (B, H) is the state before the first time step; undefined: zeros. To decode,
  /// call with T = 1 and the state that the call before returned.
  Tensor operator()(const Tensor& x, const Tensor& h_0 = {}) const;
  void visit(Visitor& v) override { v("linear_z", linear_z)("linear_h", linear_h); }

  Linear linear_z;  ///< C -> H, the gate
  Linear linear_h;  ///< C -> H, the candidate state
};

}  // namespace gradus::nn
