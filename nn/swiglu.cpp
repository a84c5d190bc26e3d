#include "gradus/nn/swiglu.hpp"

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::nn {

SwiGLU::SwiGLU(int64_t n_embd, int64_t hidden, Generator& generator, const SwiGLUOptions& options)
    : gate_proj(n_embd, hidden, generator, {.bias = false}),
      up_proj(n_embd, hidden, generator, {.bias = false}),
      down_proj(hidden, n_embd, generator, {.bias = false}),
      drop(options.dropout) {}

Tensor SwiGLU::operator()(const Tensor& x, Generator* dropout) const {
  return drop(without_dropout(x), dropout);
}

Tensor SwiGLU::without_dropout(const Tensor& x) const {
  return swiglu_linear(gate_proj(x), up_proj(x), down_proj.weight);
}

}  // namespace gradus::nn
