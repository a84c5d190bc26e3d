// Small decoders of 11 tokens for tests.
#pragma once

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/models/decoder.hpp"

namespace gradus::testing {

inline const models::DecoderConfig kSmallLlama{.arch = "llama",
                                               .vocab_size = 11,
                                               .block_size = 8,
                                               .n_layer = 2,
                                               .n_head = 4,
                                               .n_embd = 16,
                                               .bias = false,
                                               .n_kv_head = 2};

/// The same with all that Qwen3 has, and dropout.
inline models::DecoderConfig small_qwen3() {
  models::DecoderConfig config = kSmallLlama;
  config.dropout = 0.3;
  config.norm_eps = 1e-6;
  config.n_kv_head = 1;
  config.n_inner = 24;
  config.rope_theta = 500.0;
  config.qk_norm = true;
  config.tie_word_embeddings = false;
  return config;
}

inline const models::DecoderConfig kSmallGpt2{
    .vocab_size = 11, .block_size = 8, .n_layer = 2, .n_head = 2, .n_embd = 16};

inline const models::DecoderConfig kSmallMinGru{.arch = "mingru",
                                                .vocab_size = 11,
                                                .block_size = 8,
                                                .n_layer = 2,
                                                .n_head = 1,
                                                .n_embd = 16,
                                                .bias = false,
                                                .n_inner = 24};

/// Windows of 3 in the first and third block, and dropout.
inline const models::DecoderConfig kSmallGemma{
    .arch = "gemma",
    .vocab_size = 11,
    .block_size = 8,
    .n_layer = 3,
    .n_head = 4,
    .n_embd = 16,
    .dropout = 0.3,
    .bias = false,
    .n_kv_head = 2,
    .n_inner = 24,
    .attention = {.head_dim = 6, .window = 3, .window_pattern = 2}};

/// With values so wide that every part has something to say.
inline models::Decoder wide_model(const models::DecoderConfig& config, uint64_t seed) {
  Generator g(seed);
  models::Decoder model(config, g);
  for (Tensor& p : model.parameters()) p.copy_(randn(p.shape(), g) * 0.5 + p.detach());
  return model;
}

}  // namespace gradus::testing
