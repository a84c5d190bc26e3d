// What a decoder takes, before there is one: see gpt_config.hpp.
#include "gradus/models/gpt_config.hpp"

namespace gradus::models {
namespace {

constexpr double kProgram = 10e6;  // bytes, measured

/// Features of a token, by what they are for.
struct Widths {
  explicit Widths(const GPTConfig& config)
      : C(static_cast<double>(config.n_embd)),
        kv(C / static_cast<double>(config.n_head) * static_cast<double>(config.kv_heads())),
        inner(static_cast<double>(config.inner())) {}
  double C, kv, inner;
};

// Values a token that a block keeps for backward: the inputs and outputs of both norms (4 C), q, k, v, the
// heads' output (C), what meets the MLP's products, and the sums' scale of each head. llama's MLP keeps gate,
// up and their product, where gelu has an input and an output; in bfloat16 the last of them is kept rounded.
// A norm of q and k keeps what it was given.
double kept_in_block(const GPTConfig& config, DType products) {
  const Widths w(config);
  const bool llama = config.arch == Arch::llama;
  const double normed = config.qk_norm ? w.C + w.kv : 0;
  const double activated = products == DType::bfloat16 ? 0.5 : 1;
  return 6 * w.C + 2 * w.kv + normed + ((llama ? 2 : 1) + activated) * w.inner +
         static_cast<double>(config.n_head);
}

}  // namespace

MemoryEstimate training_memory(const GPTConfig& config, int64_t batch, DType products) {
  const Widths w(config);
  const double tokens = static_cast<double>(batch) * static_cast<double>(config.block_size);
  // Freed memory waits by size for its next use, so that what is needed at different moments adds up,
  // gradients and activations too. Around the blocks are kept the sum of the embeddings, the last norm, and
  // the logits with their gradient.
  const double around = 3 * w.C + 2 * static_cast<double>(config.vocab_size);
  const bool llama = config.arch == Arch::llama, rounded = products == DType::bfloat16;
  // Gradients on their way through one MLP; rounded, each width of them is packed in two forms of 2 bytes.
  const double passing = (llama ? 3 : 2) * w.inner + (rounded ? w.inner + (llama ? 1 : 4) * w.C : 0);

  const double values = static_cast<double>(config.num_parameters());
  MemoryEstimate bytes;
  bytes.parameters = 4 * values;
  bytes.gradients = 4 * values;
  bytes.optimizer = 8 * values;
  if (rounded) bytes.packed = 4 * values;  // once for forward, once for backward
  bytes.activations =
      4 * tokens * (static_cast<double>(config.n_layer) * kept_in_block(config, products) + around + passing);
  bytes.program = kProgram;
  return bytes;
}

MemoryEstimate generation_memory(const GPTConfig& config) {
  const Widths w(config);
  const double cached = 2 * w.kv * static_cast<double>(config.n_layer);
  // The widest point of a block, while the prompt is read.
  const double passing = 2 * w.C + (config.arch == Arch::llama ? 3 : 2) * w.inner;
  MemoryEstimate bytes;
  bytes.parameters = 4 * static_cast<double>(config.num_parameters());
  bytes.activations = 4 * (static_cast<double>(config.block_size) * (cached + passing) +
                           static_cast<double>(config.vocab_size));
  bytes.program = kProgram;
  return bytes;
}

}  // namespace gradus::models
