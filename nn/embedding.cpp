#include "gradus/nn/embedding.hpp"

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/init.hpp"

namespace gradus::nn {

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim, Generator& generator) {
  if (num_embeddings < 1 || embedding_dim < 1) {
    fail("embedding", "num_embeddings and embedding_dim must be >= 1, got ", num_embeddings, " and ",
         embedding_dim, ".");
  }
  weight = new_parameter({num_embeddings, embedding_dim});
  normal_(weight, 0.0, 1.0, generator);
  weight.requires_grad_();
}

Tensor Embedding::operator()(const Tensor& index) const { return embedding(weight, index); }

}  // namespace gradus::nn
