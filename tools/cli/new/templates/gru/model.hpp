// A language model of bytes: a GRU (Cho et al., arXiv 1406.1078) that predicts the next byte from all before
// it.
#pragma once

#include <gradus/gradus.hpp>

struct Model : gradus::nn::Module {
  gradus::nn::Embedding embed;
  gradus::nn::GRU gru;
  gradus::nn::Linear head;

  Model(int64_t tokens, int64_t width, gradus::Generator& g)
      : embed(tokens, width, g), gru(width, width, g, {.batch_first = true}), head(width, tokens, g) {}

  /// Tokens (B, T) -> logits of the next ones (B, T, tokens).
  gradus::Tensor operator()(const gradus::Tensor& x) const { return head(gru(embed(x)).output); }

  /// Nats a token. x, y: (B, T)
  gradus::Tensor loss(const gradus::Tensor& x, const gradus::Tensor& y) const {
    return gradus::cross_entropy((*this)(x).transpose(1, 2), y, gradus::CrossEntropyOptions{});
  }

  void visit(gradus::nn::Visitor& v) override { v("embed", embed)("gru", gru)("head", head); }
};
