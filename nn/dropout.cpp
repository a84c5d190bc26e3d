#include "gradus/nn/dropout.hpp"

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::nn {

Generator* dropout_source(double p, bool training, Generator* dropout) {
  if (!training || p == 0.0) return nullptr;
  if (!dropout)
    fail("dropout", "needs a generator in training mode with p > 0, got none and p = ", p,
         ". Hint: pass one to the call, or call eval() on the model.");
  return dropout;
}

Dropout::Dropout(double p) : p_(p) {
  if (!(p >= 0.0 && p <= 1.0)) fail("dropout", "p must be in [0, 1], got ", p, ".");
}

Tensor Dropout::operator()(const Tensor& x, Generator* dropout) const {
  Generator* const source = dropout_source(p_, training(), dropout);
  return source ? gradus::dropout(x, p_, *source) : x;
}

}  // namespace gradus::nn
