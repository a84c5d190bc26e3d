#include "gradus/nn/mlp.hpp"

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::nn {

MLP::MLP(int64_t n_embd, int64_t hidden, bool bias, double dropout, Generator& generator)
    : c_fc(n_embd, hidden, bias, generator), c_proj(hidden, n_embd, bias, generator), drop(dropout) {}

Tensor MLP::operator()(const Tensor& x, Generator* dropout) const { return drop(step(x), dropout); }

Tensor MLP::step(const Tensor& x) const {
  return gelu_linear(c_fc(x), c_proj.weight, c_proj.bias, Gelu::tanh);
}

}  // namespace gradus::nn
