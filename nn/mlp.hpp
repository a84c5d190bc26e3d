// MLP: the feed-forward half of a transformer block, GPT-2's form. Ownership and thread-safety as in
// module.hpp.
#pragma once

#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/dropout.hpp"
#include "gradus/nn/linear.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// Options of an MLP.
struct MLPOptions {
  bool bias = true;      ///< of both Linear layers
  double dropout = 0.0;  ///< probability, of the outputs
};

/// dropout(c_proj(gelu(c_fc(x)))), gelu in its tanh form.
class MLP : public Module {
 public:
  /// Draws the values of c_fc, then those of c_proj. Throws Error as Linear and Dropout do.
  MLP(int64_t n_embd, int64_t hidden, Generator& generator, const MLPOptions& options = {});

  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const;  ///< (..., C) -> (..., C)
  Tensor without_dropout(const Tensor& x) const;                           ///< the same in evaluation mode
  void visit(Visitor& v) override { v("c_fc", c_fc)("c_proj", c_proj)("drop", drop); }

  Linear c_fc;    ///< C -> hidden
  Linear c_proj;  ///< hidden -> C
  Dropout drop;   ///< of the outputs
};

}  // namespace gradus::nn
