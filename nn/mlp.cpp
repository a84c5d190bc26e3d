#include "gradus/nn/mlp.hpp"

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::nn {

MLP::MLP(int64_t n_embd, int64_t hidden, Generator& generator, const MLPOptions& options)
    : c_fc(n_embd, hidden, generator, {.bias = options.bias}),
      c_proj(hidden, n_embd, generator, {.bias = options.bias}),
      drop(options.dropout) {}

Tensor MLP::operator()(const Tensor& x, Generator* dropout) const {
  return drop(without_dropout(x), dropout);
}

Tensor MLP::without_dropout(const Tensor& x) const {
  return gelu_linear(c_fc(x), c_proj.weight, c_proj.bias, Gelu::tanh);
}

}  // namespace gradus::nn
