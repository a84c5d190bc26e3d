#include "gradus/models/gpt_config.hpp"

#include <algorithm>
#include <cmath>
#include <ios>

#include "gradus/files/error.hpp"

namespace gradus::models {
namespace {

// Beyond these no product of sizes below would fit into 64 bits; no machine holds such a model either.
constexpr int64_t kMostTokens = 1'000'000'000;
constexpr int64_t kWidest = 1'000'000;
constexpr int64_t kMostLayers = 10'000;

constexpr int64_t kInnerMultiple = 32;  // whole vectors, and whole blocks of q8_0

void check_size(const char* field, int64_t value, int64_t most) {
  if (value < 1 || value > most) fail("gpt", field, " must be in [1, ", most, "], got ", value, ".");
}

using NamedShapes = std::vector<std::pair<std::string, Shape>>;

void check_llama(const GPTConfig& c) {
  if (c.n_embd / c.n_head % 2 != 0)
    fail("gpt", "n_head must divide n_embd into heads of an even size with arch llama, got n_head ", c.n_head,
         " and n_embd ", c.n_embd, ".");
  if (c.n_kv_head < 0 || c.n_head % c.kv_heads() != 0)
    fail("gpt", "n_kv_head must divide n_head, got n_kv_head ", c.n_kv_head, " and n_head ", c.n_head, ".");
  if (c.n_inner < 0 || c.n_inner > kWidest)
    fail("gpt", "n_inner must be in [0, ", kWidest, "], got ", c.n_inner, ".");
  if (!(c.rope_theta > 0.0 && std::isfinite(c.rope_theta)))
    fail("gpt", "rope_theta must be a finite number above 0, got ", c.rope_theta, ".");
  if (c.bias) fail("gpt", "bias must be false with arch llama, whose layers have none, got true.");
}

// What only llama can choose must be left alone, not be ignored.
void check_gpt2(const GPTConfig& c) {
  const GPTConfig usual;
  const auto check = [&](const char* field, auto value, auto expected) {
    if (value != expected)
      fail("gpt", field, " must be left out with arch gpt2, got ", std::boolalpha, value, ".");
  };
  check("n_kv_head", c.n_kv_head, usual.n_kv_head);
  check("n_inner", c.n_inner, usual.n_inner);
  check("rope_theta", c.rope_theta, usual.rope_theta);
  check("qk_norm", c.qk_norm, usual.qk_norm);
}

NamedShapes gpt2_shapes(const GPTConfig& config) {
  const int64_t C = config.n_embd;
  NamedShapes shapes = {{"wte.weight", {config.vocab_size, C}}, {"wpe.weight", {config.block_size, C}}};
  const auto add = [&](const std::string& layer, const Shape& weight) {
    shapes.emplace_back(layer + ".weight", weight);
    if (config.bias) shapes.emplace_back(layer + ".bias", Shape{weight[0]});
  };
  for (int64_t i = 0; i < config.n_layer; ++i) {
    const std::string block = concat("h.", i, ".");
    add(block + "ln_1", {C});
    add(block + "attn.c_attn", {3 * C, C});
    add(block + "attn.c_proj", {C, C});
    add(block + "ln_2", {C});
    add(block + "mlp.c_fc", {4 * C, C});
    add(block + "mlp.c_proj", {C, 4 * C});
  }
  add("ln_f", {C});
  if (!config.tie_word_embeddings) shapes.emplace_back("lm_head.weight", Shape{config.vocab_size, C});
  return shapes;
}

NamedShapes llama_shapes(const GPTConfig& config) {
  const int64_t C = config.n_embd, hs = C / config.n_head, kv = hs * config.kv_heads(), F = config.inner();
  NamedShapes shapes = {{"model.embed_tokens.weight", {config.vocab_size, C}}};
  for (int64_t i = 0; i < config.n_layer; ++i) {
    const auto add = [&](const char* layer, const Shape& weight) {
      shapes.emplace_back(concat("model.layers.", i, ".", layer, ".weight"), weight);
    };
    add("input_layernorm", {C});
    add("self_attn.q_proj", {C, C});
    add("self_attn.k_proj", {kv, C});
    add("self_attn.v_proj", {kv, C});
    add("self_attn.o_proj", {C, C});
    if (config.qk_norm) add("self_attn.q_norm", {hs});
    if (config.qk_norm) add("self_attn.k_norm", {hs});
    add("post_attention_layernorm", {C});
    add("mlp.gate_proj", {F, C});
    add("mlp.up_proj", {F, C});
    add("mlp.down_proj", {C, F});
  }
  shapes.emplace_back("model.norm.weight", Shape{C});
  if (!config.tie_word_embeddings) shapes.emplace_back("lm_head.weight", Shape{config.vocab_size, C});
  return shapes;
}

struct Preset {
  std::string_view name;
  GPTConfig config;
};

constexpr GPTConfig llama(int64_t block_size, int64_t n_layer, int64_t n_head, int64_t n_embd,
                          double dropout = 0.0) {
  return {.arch = Arch::llama,
          .block_size = block_size,
          .n_layer = n_layer,
          .n_head = n_head,
          .n_embd = n_embd,
          .dropout = dropout,
          .bias = false,
          .qk_norm = true};
}

constexpr Preset kPresets[] = {
    {"tiny", {.block_size = 32, .n_layer = 2, .n_head = 2, .n_embd = 32}},
    {"nano", {.block_size = 64, .n_layer = 4, .n_head = 4, .n_embd = 128}},
    {"mini", llama(128, 4, 4, 128)},
    {"midi", llama(256, 6, 4, 256)},
    {"maxi", llama(256, 6, 6, 384, 0.1)},
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
  if (!(norm_eps > 0.0 && norm_eps < 1.0)) fail("gpt", "norm_eps must be in (0, 1), got ", norm_eps, ".");
  if (arch == Arch::llama)
    check_llama(*this);
  else
    check_gpt2(*this);
}

int64_t GPTConfig::inner() const {
  if (n_inner > 0) return n_inner;
  if (arch == Arch::gpt2) return 4 * n_embd;
  const int64_t third = (8 * n_embd + 2) / 3;  // rounded up
  return (third + kInnerMultiple - 1) / kInnerMultiple * kInnerMultiple;
}

int64_t GPTConfig::num_parameters() const {
  const int64_t C = n_embd, tables = (tie_word_embeddings ? 1 : 2) * vocab_size * C;
  if (arch == Arch::llama) {
    const int64_t hs = C / n_head, projections = 2 * C * C + 2 * C * hs * kv_heads();
    const int64_t block = projections + 3 * C * inner() + 2 * C + (qk_norm ? 2 * hs : 0);
    return tables + n_layer * block + C;
  }
  const int64_t norm = bias ? 2 * C : C;
  const int64_t matrices = 12 * C * C;  // 3 for q, k, v; 1 projection; 4 + 4 in the MLP
  const int64_t biases = bias ? 3 * C + C + 4 * C + C : 0;
  return tables + block_size * C + n_layer * (matrices + biases + 2 * norm) + norm;
}

std::vector<std::pair<std::string, Shape>> GPTConfig::parameter_shapes() const {
  return arch == Arch::llama ? llama_shapes(*this) : gpt2_shapes(*this);
}

std::string_view name(Arch arch) { return arch == Arch::llama ? "llama" : "gpt2"; }

Arch arch_from(std::string_view name) {
  if (name == "gpt2") return Arch::gpt2;
  if (name == "llama") return Arch::llama;
  fail("gpt", "arch must be gpt2 or llama, got ", name, ".");
}

std::vector<std::string> arch_names() { return {"gpt2", "llama"}; }

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

}  // namespace gradus::models
