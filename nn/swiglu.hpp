// SwiGLU: the feed-forward half of a transformer block, Llama's form (Shazeer, arXiv 2002.05202). Ownership
// and thread-safety as in module.hpp.
#pragma once

#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/dropout.hpp"
#include "gradus/nn/linear.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// Options of a SwiGLU.
struct SwiGLUOptions {
  double dropout = 0.0;  ///< probability, of the outputs
};

/// dropout(down_proj(silu(gate_proj(x)) * up_proj(x))).
class SwiGLU : public Module {
 public:
  /// Draws the values of gate_proj, up_proj and down_proj, in this order; none has a bias. Throws Error as
  /// Linear and Dropout do.
  SwiGLU(int64_t n_embd, int64_t hidden, Generator& generator, const SwiGLUOptions& options = {});

  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const;  ///< (..., C) -> (..., C)
  Tensor without_dropout(const Tensor& x) const;                           ///< the same in evaluation mode
  void visit(Visitor& v) override {
    v("gate_proj", gate_proj)("up_proj", up_proj)("down_proj", down_proj)("drop", drop);
  }

  Linear gate_proj;  ///< C -> hidden
  Linear up_proj;    ///< C -> hidden
  Linear down_proj;  ///< hidden -> C
  Dropout drop;      ///< of the outputs
};

}  // namespace gradus::nn
