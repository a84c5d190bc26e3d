#include "gradus/nn/min_gru.hpp"

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::nn {

MinGRU::MinGRU(int64_t input_size, int64_t hidden_size, Generator& generator)
    : linear_z(input_size, hidden_size, generator), linear_h(input_size, hidden_size, generator) {}

Tensor MinGRU::operator()(const Tensor& x, const Tensor& h_0) const {
  if (!x.defined() || x.dim() != 3)
    fail("min_gru", "x must be of shape (B, T, C), got ", x.defined() ? x.shape() : Shape(), ".");
  const Tensor z = sigmoid(linear_z(x)), keep = 1.0 - z, update = z * linear_h(x);
  if (!h_0.defined()) return linear_recurrence(keep, update, 1);
  const int64_t batch = x.shape()[0], steps = x.shape()[1], hidden = linear_h.weight.shape()[0];
  if (h_0.shape() != Shape{batch, hidden})
    fail("min_gru", "h_0 must be of shape ", Shape{batch, hidden}, ", got ", h_0.shape(), ".");
  // h_0 is the first term of a recurrence that is longer by one; the factor beside it has no effect.
  const Tensor h = linear_recurrence(pad(keep, 1, steps + 1, 1), cat({h_0.unsqueeze(1), update}, 1), 1);
  return h.slice(1, 1, steps + 1);
}

}  // namespace gradus::nn
