// Dropout (Srivastava et al., 2014). Ownership and thread-safety as in module.hpp.
#pragma once

#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// `dropout` where values are to be dropped: in training mode with p > 0. Null elsewhere, so that evaluating
/// draws nothing. Throws Error if it is needed but null.
Generator* dropout_source(double p, bool training, Generator* dropout);

/// Dropout as a layer; what is drawn comes from the generator of each call.
class Dropout : public Module {
 public:
  /// Throws Error unless 0 <= p <= 1.
  explicit Dropout(double p = 0.5);

  /// In training mode each element is 0 with probability p, else x / (1 - p); in evaluation mode x itself.
  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const;
  void visit(Visitor&) override {}
  double p() const { return p_; }  ///< the probability of a 0

 private:
  double p_;
};

}  // namespace gradus::nn
