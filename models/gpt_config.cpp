#include "gradus/models/gpt_config.hpp"

#include "gradus/autograd/error.hpp"

namespace gradus::models {
namespace {

// Beyond these no product of sizes below would fit into 64 bits; no machine holds such a model either.
constexpr int64_t kMostTokens = 1'000'000'000;
constexpr int64_t kWidest = 1'000'000;
constexpr int64_t kMostLayers = 10'000;

constexpr double kProgram = 9e6;  // bytes, measured

void check_size(const char* field, int64_t value, int64_t most) {
  if (value < 1 || value > most) fail("gpt", field, " must be in [1, ", most, "], got ", value, ".");
}

struct Preset {
  std::string_view name;
  GPTConfig config;
};

constexpr Preset kPresets[] = {
    {"tiny", {.block_size = 32, .n_layer = 2, .n_head = 2, .n_embd = 32}},
    {"nano", {.block_size = 64, .n_layer = 4, .n_head = 4, .n_embd = 128}},
    {"small", {.block_size = 256, .n_layer = 6, .n_head = 6, .n_embd = 384, .dropout = 0.2}},
    {"gpt2", {.block_size = 1024, .n_layer = 12, .n_head = 12, .n_embd = 768}},
};

}  // namespace

void GPTConfig::validate() const {
  if (vocab_size == 0) fail("gpt", "vocab_size must be set, got 0. Hint: take the tokenizer's size.");
  check_size("vocab_size", vocab_size, kMostTokens);
  check_size("block_size", block_size, kMostTokens);
  check_size("n_layer", n_layer, kMostLayers);
  check_size("n_embd", n_embd, kWidest);
  check_size("n_head", n_head, kWidest);
  if (n_embd % n_head != 0)
    fail("gpt", "n_head must divide n_embd, got n_head ", n_head, " and n_embd ", n_embd, ".");
  if (!(dropout >= 0.0 && dropout < 1.0)) fail("gpt", "dropout must be in [0, 1), got ", dropout, ".");
  if (!(layer_norm_epsilon > 0.0 && layer_norm_epsilon < 1.0))
    fail("gpt", "layer_norm_epsilon must be in (0, 1), got ", layer_norm_epsilon, ".");
}

int64_t GPTConfig::num_parameters() const {
  const int64_t C = n_embd;
  const int64_t norm = bias ? 2 * C : C;
  const int64_t matrices = 12 * C * C;  // 3 for q, k, v; 1 projection; 4 + 4 in the MLP
  const int64_t biases = bias ? 3 * C + C + 4 * C + C : 0;
  return vocab_size * C + block_size * C + n_layer * (matrices + biases + 2 * norm) + norm;
}

std::vector<std::pair<std::string, Shape>> GPTConfig::parameter_shapes() const {
  const int64_t C = n_embd;
  std::vector<std::pair<std::string, Shape>> shapes = {{"wte.weight", {vocab_size, C}},
                                                       {"wpe.weight", {block_size, C}}};
  const auto add = [&](const std::string& layer, const Shape& weight) {
    shapes.emplace_back(layer + ".weight", weight);
    if (bias) shapes.emplace_back(layer + ".bias", Shape{weight[0]});
  };
  for (int64_t i = 0; i < n_layer; ++i) {
    const std::string block = concat("h.", i, ".");
    add(block + "ln_1", {C});
    add(block + "attn.c_attn", {3 * C, C});
    add(block + "attn.c_proj", {C, C});
    add(block + "ln_2", {C});
    add(block + "mlp.c_fc", {4 * C, C});
    add(block + "mlp.c_proj", {C, 4 * C});
  }
  add("ln_f", {C});
  return shapes;
}

GPTConfig preset(std::string_view name) {
  std::string known;
  for (const Preset& entry : kPresets) {
    if (entry.name == name) return entry.config;
    known += concat(known.empty() ? "" : ", ", entry.name);
  }
  fail("preset", "name must be one of ", known, ", got ", name, ".");
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& entry : kPresets) names.emplace_back(entry.name);
  return names;
}

MemoryEstimate training_memory(const GPTConfig& config, int64_t batch) {
  const auto C = static_cast<double>(config.n_embd);
  const double tokens = static_cast<double>(batch) * static_cast<double>(config.block_size);
  // Freed memory waits by size for its next use, so that what is needed at different moments adds up,
  // gradients and activations too. Kept for backward, in values a token. A block: the inputs and outputs of
  // both layer norms (4 C), q, k, v (3 C), the heads' output (C), before and after gelu (8 C), the sums'
  // scale of each head; around the blocks: the sum of the embeddings, the last layer norm, and the logits
  // with their gradient.
  const double block = 16 * C + static_cast<double>(config.n_head);
  const double around = 3 * C + 2 * static_cast<double>(config.vocab_size);
  const double passing = 8 * C;  // gradients on their way through one MLP

  const double values = static_cast<double>(config.num_parameters());
  MemoryEstimate bytes;
  bytes.parameters = 4 * values;
  bytes.gradients = 4 * values;
  bytes.optimizer = 8 * values;
  bytes.activations = 4 * tokens * (static_cast<double>(config.n_layer) * block + around + passing);
  bytes.program = kProgram;
  return bytes;
}

MemoryEstimate generation_memory(const GPTConfig& config) {
  const auto C = static_cast<double>(config.n_embd);
  const double cached = 2 * C * static_cast<double>(config.n_layer);
  const double passing = 10 * C;  // the widest point of a block, while the prompt is read
  MemoryEstimate bytes;
  bytes.parameters = 4 * static_cast<double>(config.num_parameters());
  bytes.activations = 4 * (static_cast<double>(config.block_size) * (cached + passing) +
                           static_cast<double>(config.vocab_size));
  bytes.program = kProgram;
  return bytes;
}

}  // namespace gradus::models
