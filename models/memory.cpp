// What a decoder takes, before there is one: see decoder_config.hpp.
#include "gradus/models/architecture.hpp"

namespace gradus::models {
namespace {

constexpr double kProgram = 10e6;  // bytes, measured

}  // namespace

MemoryEstimate training_memory(const DecoderConfig& config, int64_t batch, DType products) {
  const DecoderCost cost = architecture(config.arch).cost(config, products);
  const double tokens = static_cast<double>(batch) * static_cast<double>(config.block_size);
  // Freed memory waits by size for its next use, so that what is needed at different moments adds up,
  // gradients and activations too. Around the blocks are kept the sum of the embeddings, the last norm, and
  // the logits with their gradient.
  const double around = 3 * static_cast<double>(config.n_embd) + 2 * static_cast<double>(config.vocab_size);

  const double values = static_cast<double>(config.num_parameters());
  MemoryEstimate bytes;
  bytes.parameters = 4 * values;
  bytes.gradients = 4 * values;
  bytes.optimizer = 8 * values;
  if (products == DType::bfloat16) bytes.packed = 4 * values;  // once for forward, once for backward
  bytes.activations = 4 * tokens * (static_cast<double>(config.n_layer) * cost.kept + around + cost.passing);
  bytes.program = kProgram;
  return bytes;
}

MemoryEstimate generation_memory(const DecoderConfig& config) {
  const DecoderCost cost = architecture(config.arch).cost(config, DType::float32);
  MemoryEstimate bytes;
  bytes.parameters = 4 * static_cast<double>(config.num_parameters());
  bytes.activations = 4 * (static_cast<double>(config.block_size) * (cost.position + cost.decoding) +
                           cost.state + static_cast<double>(config.vocab_size));
  bytes.program = kProgram;
  return bytes;
}

}  // namespace gradus::models
