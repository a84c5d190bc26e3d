// The registry of architectures, and the functions of DecoderConfig that depend on it.
#include <algorithm>
#include <limits>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/ensemble.hpp"
#include "gradus/nn/init.hpp"

namespace gradus::models {

// Each is in the file of its name.
const Architecture& gpt2();
const Architecture& llama();
const Architecture& gemma();
const Architecture& mingru();

namespace {

// Up to these limits, products of sizes fit into 64 bits. No machine holds a larger model.
constexpr int64_t kMostTokens = 1'000'000'000;
constexpr int64_t kWidest = 1'000'000;
constexpr int64_t kMostLayers = 1'000;
constexpr int64_t kMostMembers = 1000;

constexpr double kProgram = 11e6;  // bytes of code and buffers, measured

void check_size(const char* field, int64_t value, int64_t most) {
  if (value < 1 || value > most)
    fail("decoder", Option{field}, " must be in [1, ", most, "], got ", value, ".");
}

/// All presets, the smallest first. Counting parameters makes the models, so it happens once.
const std::vector<const Preset*>& all_presets() {
  static const std::vector<const Preset*> all = [] {
    std::vector<std::pair<int64_t, const Preset*>> sized;
    for (const Architecture* row : architectures())
      for (const Preset& one : row->presets) {
        DecoderConfig config = one.config;
        config.vocab_size = 1;
        sized.emplace_back(config.num_parameters(), &one);
      }
    std::stable_sort(sized.begin(), sized.end(),
                     [](const auto& x, const auto& y) { return x.first < y.first; });
    std::vector<const Preset*> presets;
    for (const auto& [size, one] : sized) presets.push_back(one);
    return presets;
  }();
  return all;
}

}  // namespace

const std::vector<const Architecture*>& architectures() {
  static const std::vector<const Architecture*> all{&gpt2(), &llama(), &gemma(), &mingru()};
  return all;
}

const Architecture& architecture(std::string_view name) {
  for (const Architecture* row : architectures())
    if (row->name == name) return *row;
  fail("decoder", Option{"arch"}, " must be ", listed(arch_names()), ", got ", files::in_quotes(name), ".");
}

std::string own_name(const Architecture& architecture, std::string_view name) {
  std::string own = concat(".", name, ".");
  for (const auto& [usual, replacement] : architecture.names)
    if (const size_t at = own.find(usual); at != std::string::npos)
      own.replace(at, usual.size(), replacement);
  return own.substr(1, own.size() - 2);
}

std::string_view usual_arch() { return llama().name; }

std::vector<std::string> arch_names() { return column(architectures(), &Architecture::name); }

void change_arch(DecoderConfig& config, std::string_view arch) {
  if (config.arch == arch) return;
  const DecoderConfig usual;
  const Architecture& row = architecture(arch);
  const bool was_recurrent = architecture(config.arch).positions == Positions::recurrent;
  config.arch = arch;
  config.bias = row.has_bias;
  config.qk_norm = usual.qk_norm;
  config.attention = row.attention;
  if (row.positions == Positions::recurrent) config.n_head = 1;
  if (was_recurrent) config.n_head = usual.n_head;
}

void check_usual_attention(const DecoderConfig& config) {
  if (config.attention != AttentionVariant())
    fail("decoder", Option{"attention"}, " must be left out with ", Option{"arch"}, " ", config.arch, ".");
}

int64_t swiglu_inner(int64_t n_embd) {
  constexpr int64_t kMultiple = 32;
  const int64_t third = (8 * n_embd + 2) / 3;  // rounded up
  return (third + kMultiple - 1) / kMultiple * kMultiple;
}

std::string describe_with_inner(const DecoderConfig& config) {
  return concat(config.arch, ", ", config.inner(), " wide inside the MLP, ",
                config.qk_norm ? "norms of queries and keys, " : "",
                config.tie_word_embeddings ? "tied" : "untied");
}

std::string sizes(const DecoderConfig& config) {
  const Positions positions = architecture(config.arch).positions;
  std::string text = concat(config.n_layer, " layers, ");
  if (positions != Positions::recurrent) text += concat(config.n_head, " heads, ");
  if (positions == Positions::rotary) text += concat(config.kv_heads(), " key/value heads, ");
  return concat(text, config.n_embd, " wide, block ", config.block_size);
}

DecoderConfig preset(std::string_view name) {
  for (const Preset* one : all_presets())
    if (one->name == name) return one->config;
  fail("preset", "name must be one of ", joined(preset_names()), ", got ", name, ".");
}

std::vector<std::string> preset_names() { return column(all_presets(), &Preset::name); }

std::unique_ptr<Backbone> make_backbone(const DecoderConfig& config, Generator& init) {
  config.validate();
  if (config.n_member > 1) return make_ensemble(config, init);
  return architecture(config.arch).make(config, init);
}

void DecoderConfig::validate() const {
  const Architecture& row = architecture(arch);
  if (vocab_size == 0)
    fail("decoder", Option{"vocab_size"}, " must be set, got 0. Hint: take the tokenizer's size.");
  check_size("vocab_size", vocab_size, kMostTokens);
  check_size("block_size", block_size, kMostTokens);
  check_size("n_layer", n_layer, kMostLayers);
  check_size("n_embd", n_embd, kWidest);
  check_size("n_head", n_head, kWidest);
  check_size("n_member", n_member, kMostMembers);
  if (attention.head_dim < 0 || attention.head_dim > kWidest)
    fail("decoder", Option{"head_dim"}, " must be in [0, ", kWidest, "], got ", attention.head_dim, ".");
  if (attention.head_dim == 0 && n_embd % n_head != 0)
    fail("decoder", Option{"n_head"}, " must divide ", Option{"n_embd"}, ", got ", n_head, " and ", n_embd,
         ".");
  if (!(dropout >= 0.0 && dropout < 1.0))
    fail("decoder", Option{"dropout"}, " must be in [0, 1), got ", dropout, ".");
  if (!(norm_eps > 0.0 && norm_eps < 1.0))
    fail("decoder", Option{"norm_eps"}, " must be in (0, 1), got ", norm_eps, ".");
  row.check(*this);
  if (n_inner < 0 || n_inner > kWidest)
    fail("decoder", Option{"n_inner"}, " must be in [0, ", kWidest, "], got ", n_inner, ".");
}

int64_t DecoderConfig::inner() const { return n_inner > 0 ? n_inner : architecture(arch).inner(n_embd); }

int64_t DecoderConfig::context_limit() const {
  return architecture(arch).positions == Positions::recurrent ? std::numeric_limits<int64_t>::max() / 2
                                                              : block_size;
}

DecoderConfig DecoderConfig::reduced() const {
  DecoderConfig config = *this;
  if (attention.head_dim * n_head == n_embd) config.attention.head_dim = 0;
  if (n_kv_head == n_head) config.n_kv_head = 0;
  if (n_inner == architecture(arch).inner(n_embd)) config.n_inner = 0;
  return config;
}

nn::NamedShapes DecoderConfig::parameter_shapes() const {
  const nn::NoInit no_init;
  Generator unused(0);
  nn::NamedShapes shapes;
  for (const auto& [name, parameter] : Decoder(*this, unused).named_parameters())
    shapes.emplace_back(name, parameter.shape());
  return shapes;
}

int64_t DecoderConfig::num_parameters() const {
  int64_t count = 0;
  for (const auto& [name, shape] : parameter_shapes()) count += shape.numel();
  return count;
}

// -- memory

MemoryEstimate training_memory(const DecoderConfig& config, int64_t batch, DType products) {
  const DecoderCost cost = architecture(config.arch).cost(config, products);
  const double tokens = static_cast<double>(batch) * static_cast<double>(config.block_size);
  // Freed memory is cached by size, so sizes that are needed at different times add up, including gradients.
  // Outside the blocks: the sum of the embeddings, the last norm, and the logits with their gradient.
  const double outside = 3 * static_cast<double>(config.n_embd) + 2 * static_cast<double>(config.vocab_size);

  const double values = static_cast<double>(config.num_parameters());
  MemoryEstimate bytes;
  bytes.parameters = 4 * values;
  bytes.gradients = 4 * values;
  bytes.optimizer = 8 * values;
  if (products == DType::bfloat16) bytes.packed = 4 * values;  // once for forward, once for backward
  bytes.activations =
      4 * tokens * (static_cast<double>(config.n_layer) * cost.saved + outside + cost.gradients);
  bytes.program = kProgram;
  return bytes;
}

MemoryEstimate generation_memory(const DecoderConfig& config, int64_t read, int64_t kept, int64_t logits) {
  const DecoderCost cost = architecture(config.arch).cost(config, DType::float32);
  const double of_member = static_cast<double>(kept) * cost.position + cost.state +
                           std::min(static_cast<double>(logits) * static_cast<double>(config.vocab_size),
                                    static_cast<double>(kMostLogits));
  MemoryEstimate bytes;
  bytes.parameters = 4 * static_cast<double>(config.num_parameters());
  bytes.activations =
      4 * (static_cast<double>(read) * cost.decoding + static_cast<double>(config.n_member) * of_member);
  bytes.program = kProgram;
  return bytes;
}

}  // namespace gradus::models
