// Embedding: a table of rows, looked up by index. Ownership and thread-safety as in module.hpp.
#pragma once

#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

class Embedding : public Module {
 public:
  /// Rows start from the standard normal distribution, as PyTorch's do. Throws Error unless both sizes are
  /// >= 1.
  Embedding(int64_t num_embeddings, int64_t embedding_dim, Generator& generator);

  /// (...) int64 -> (..., C). Throws Error for an index outside [0, V).
  Tensor operator()(const Tensor& index) const;
  void visit(Visitor& v) override { v("weight", weight, Role::embedding); }

  Tensor weight;  ///< (V, C)
};

}  // namespace gradus::nn
