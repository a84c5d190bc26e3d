#include "gradus/nn/swiglu.hpp"

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::nn {

SwiGLU::SwiGLU(int64_t n_embd, int64_t hidden, double dropout, Generator& generator)
    : gate_proj(n_embd, hidden, false, generator),
      up_proj(n_embd, hidden, false, generator),
      down_proj(hidden, n_embd, false, generator),
      drop(dropout) {}

Tensor SwiGLU::operator()(const Tensor& x, Generator* dropout) const { return drop(step(x), dropout); }

Tensor SwiGLU::step(const Tensor& x) const {
  return swiglu_linear(gate_proj(x), up_proj(x), down_proj.weight);
}

}  // namespace gradus::nn
