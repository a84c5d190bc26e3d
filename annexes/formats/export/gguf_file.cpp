#include "gradus/annexes/formats/export/export.hpp"

#include <cmath>
#include <map>

#include "gradus/annexes/formats/export/encodings.hpp"
#include "gradus/annexes/formats/gguf/gguf.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/file.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/rotary_decoder.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/models/stored/stored_form.hpp"
#include "gradus/nn/layers.hpp"

namespace gradus::exports {
namespace {

using models::DecoderConfig;

constexpr const char* kPositions = "position_embd.weight";

/// llama.cpp's names of the weights in a block and outside of the blocks.
const std::map<std::string_view, std::string_view> kGGUFParts = {
    {"ln_1", "attn_norm"},
    {"attn.c_attn", "attn_qkv"},
    {"attn.c_proj", "attn_output"},
    {"ln_2", "ffn_norm"},
    {"mlp.c_fc", "ffn_up"},
    {"mlp.c_proj", "ffn_down"},
    {"input_layernorm", "attn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"post_attention_layernorm", "ffn_norm"},  // in a model without outer norms
    {"pre_feedforward_layernorm", "ffn_norm"},
    {"post_feedforward_layernorm", "post_ffw_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"wte", "token_embd"},
    {"wpe", "position_embd"},
    {"ln_f", "output_norm"},
    {"model.embed_tokens", "token_embd"},
    {"model.norm", "output_norm"},
    {"lm_head", "output"},
};

/// h.3.mlp.c_fc.weight -> blk.3.ffn_up.weight
std::string gguf_name(std::string_view name, bool has_outer_norms) {
  std::string layer;
  for (const std::string_view prefix : {"h.", "model.layers."}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    const size_t number = name.find('.');
    layer = concat("blk.", name.substr(0, number), ".");
    name.remove_prefix(number + 1);
  }
  const size_t kind = name.rfind('.');  // weight or bias
  const std::string_view part = name.substr(0, kind);
  const bool is_outer = has_outer_norms && part == "post_attention_layernorm";
  return concat(layer, is_outer ? "post_attention_norm" : kGGUFParts.at(part), name.substr(kind));
}

/// llama.cpp rotates the neighbours 2i and 2i + 1 of a llama's head together; our weights (and Hugging
/// Face's) are for i and i + hs / 2, so rows and biases of q and k are reordered, except in Qwen and Gemma.
Tensor with_neighbours(const Tensor& weight, int64_t heads) {
  const int64_t half = weight.size(0) / heads / 2;
  return weight.reshape({heads, 2, half, -1}).transpose(1, 2).reshape(weight.shape()).contiguous();
}

bool keeps_halves(const DecoderConfig& config) {
  const models::Architecture& row = models::architecture(config.arch);
  return row.has_outer_norms || models::stored_form(config.arch).title(config).starts_with("Qwen");
}

Tensor arranged(const std::string& name, const Tensor& weight, const DecoderConfig& config) {
  const models::Architecture& row = models::architecture(config.arch);
  if (row.has_outer_norms && weight.dim() == 1) return weight + 1.0;
  if (row.positions != models::Positions::rotary || keeps_halves(config)) return weight;
  if (name.find("q_proj.") != name.npos) return with_neighbours(weight, config.n_head);
  if (name.find("k_proj.") != name.npos) return with_neighbours(weight, config.kv_heads());
  return weight;
}

struct Stored {
  gguf::TensorType type;
  std::string (*bytes)(std::span<const float>);
};
const Stored kF32{gguf::f32(), as_f32}, kF16{gguf::f16(), as_f16}, kQ8{gguf::q8_0(), as_q8_0};

Stored stored_as(std::string_view type, const std::string& name, const Shape& shape) {
  if (type == "f32" || shape.size() < 2 || name == kPositions) return kF32;
  const bool whole_blocks = static_cast<uint64_t>(shape.back()) % kQ8.type.block == 0;
  return type == "q8_0" && whole_blocks ? kQ8 : kF16;
}

gguf::NewTensor new_tensor(const std::string& name, const Tensor& tensor, const Stored& stored = kF32) {
  return {name, {tensor.shape().begin(), tensor.shape().end()}, stored.type, [tensor, stored] {
            return stored.bytes(numbers_of(tensor));
          }};
}

std::vector<gguf::NewTensor> tensors_of(const models::Decoder& model, std::string_view type) {
  std::vector<gguf::NewTensor> tensors;
  for (const auto& [name, values] : models::linear_weights(model)) {
    const Tensor tensor = arranged(name, values, model.config());
    const std::string called = gguf_name(name, models::architecture(model.config().arch).has_outer_norms);
    tensors.push_back(new_tensor(called, tensor, stored_as(type, called, tensor.shape())));
  }
  // Only this scaling cannot be told by keys: the file has the divisors of the frequencies.
  if (const DecoderConfig& config = model.config(); config.attention.rope_scaling.type == "llama3") {
    const Tensor divisors =
        (rotary_frequencies(config.head_size(), config.rope_theta) / models::scaled_frequencies(config))
            .to(DType::float32);
    tensors.push_back(new_tensor("rope_freqs.weight", divisors));
  }
  return tensors;
}

/// llama.cpp's enum llama_ftype.
uint32_t file_type(std::string_view type) { return type == "f32" ? 0 : type == "f16" ? 1 : 7; }

gguf::Keys model_keys(const DecoderConfig& config) {
  const models::Architecture& row = models::architecture(config.arch);
  const std::string arch(models::stored_form(config.arch).model_type(config));
  gguf::Keys keys;
  const auto add = [&](const char* key, int64_t value) {
    keys.emplace_back(concat(arch, ".", key), static_cast<uint32_t>(value));
  };
  add("context_length", config.block_size);
  add("embedding_length", config.n_embd);
  add("block_count", config.n_layer);
  add("feed_forward_length", config.inner());
  add("vocab_size", config.vocab_size);
  add("attention.head_count", config.n_head);
  const auto eps = static_cast<float>(config.norm_eps);
  if (row.positions == models::Positions::learned) {
    keys.emplace_back(arch + ".attention.layer_norm_epsilon", eps);
    return keys;
  }
  const int64_t head = config.head_size();
  add("attention.head_count_kv", config.kv_heads());
  add("attention.key_length", head);
  add("attention.value_length", head);
  add("rope.dimension_count", head);
  if (config.attention.window > 0) add("attention.sliding_window", config.attention.window);
  keys.emplace_back(arch + ".rope.freq_base", static_cast<float>(config.rope_theta));
  keys.emplace_back(arch + ".attention.layer_norm_rms_epsilon", eps);
  if (const models::RopeScaling& s = config.attention.rope_scaling; s.type == "linear" || s.type == "yarn") {
    keys.emplace_back(arch + ".rope.scaling.type", s.type);
    keys.emplace_back(arch + ".rope.scaling.factor", static_cast<float>(s.factor));
    if (s.original_length > 0) add("rope.scaling.original_context_length", s.original_length);
  }
  return keys;
}

/// Throws Error for what llama.cpp does not compute: windows in models without outer norms, and YaRN with
/// unusual limits. Returns the config without windows that have no effect.
DecoderConfig supported(DecoderConfig config) {
  models::AttentionVariant& attention = config.attention;
  const models::RopeScaling& s = attention.rope_scaling;
  const bool has_pattern = models::architecture(config.arch).has_outer_norms;
  if (has_pattern && attention.window > 0 && attention.window_pattern != 6)
    fail("export", "a GGUF file must have windows in 5 of 6 layers, got ", attention.window_pattern - 1,
         " of ", attention.window_pattern, ".");
  if (has_pattern && s.type != "" && s.type != "linear")
    fail("export", "a GGUF file of this model must have rope_scaling of type linear or none, got ", s.type,
         ".");
  if (!has_pattern && attention.window > 0 && attention.window < config.block_size)
    fail("export", "a GGUF file must have no sliding window, got one of ", attention.window,
         " tokens in a context of ", config.block_size, ".");
  if (!has_pattern) attention.window = attention.window_from = 0;
  if (s.type == "yarn" && (s.beta_fast != 32 || s.beta_slow != 1 || !s.truncate ||
                           std::abs(s.attention_factor - 1 - 0.1 * std::log(s.factor)) > 1e-6))
    fail("export", "a GGUF file must have YaRN with its usual limits and attention factor, got another.");
  if (s.type == "llama3" && keeps_halves(config))
    fail("export", "a GGUF file of this model must have no rope_scaling of type llama3.");
  return config;
}

gguf::Keys all_keys(const train::TrainedModel& trained, const std::string& name, std::string_view type) {
  const DecoderConfig config = supported(trained.model.config());
  gguf::Keys keys = {
      {"general.architecture", std::string(models::stored_form(config.arch).model_type(config))},
      {"general.type", std::string("model")},
      {"general.name", name},
      {"general.file_type", file_type(type)}};
  if (type == "q8_0") keys.emplace_back("general.quantization_version", uint32_t{2});
  for (auto& key : model_keys(config)) keys.push_back(std::move(key));
  for (auto& key : vocabulary_keys(trained.tokenizer)) keys.push_back(std::move(key));
  return keys;
}

/// The factors of an adapter. llama.cpp multiplies their product by alpha / r.
void add_factors(const std::string& layer, const nn::LoRA& lora, double alpha, const DecoderConfig& config,
                 std::vector<gguf::NewTensor>& tensors) {
  const std::string weight = layer + ".weight";
  const auto add = [&](const char* factor, const Tensor& values) {
    tensors.push_back(new_tensor(concat(gguf_name(weight, false), factor),
                                 values.detach().to(DType::float32).contiguous()));
  };
  add(".lora_a", lora.A);
  const double ratio = lora.scale * static_cast<double>(lora.A.size(0)) / alpha;
  const Tensor rows = arranged(weight, lora.B, config);
  add(".lora_b", ratio == 1 ? rows : rows * ratio);
}

}  // namespace

std::vector<std::string> gguf_types() { return {"f32", "f16", "q8_0"}; }

void write_gguf(const train::TrainedModel& trained, const std::string& name, std::string_view type,
                const std::filesystem::path& path) {
  const NoGrad no_grad;
  const gguf::Keys keys = all_keys(trained, name, type);
  const std::vector<gguf::NewTensor> tensors = tensors_of(trained.model, type);
  files::write_atomically(path, [&](std::ostream& out) { gguf::write(out, keys, tensors); });
}

void write_gguf_adapter(const train::TrainedModel& trained, const std::string& name,
                        const std::filesystem::path& path) {
  const NoGrad no_grad;
  const DecoderConfig config = supported(trained.model.config());
  std::vector<gguf::NewTensor> tensors;
  double alpha = 0;
  for (const auto& [layer, linear] : nn::linear_layers(const_cast<models::Decoder&>(trained.model))) {
    if (!linear->lora) continue;
    if (alpha == 0) alpha = linear->lora->scale * static_cast<double>(linear->lora->A.size(0));
    add_factors(layer, *linear->lora, alpha, config, tensors);
  }
  const gguf::Keys keys = {
      {"general.architecture", std::string(models::stored_form(config.arch).model_type(config))},
      {"general.type", std::string("adapter")},
      {"general.name", name},
      {"adapter.type", std::string("lora")},
      {"adapter.lora.alpha", static_cast<float>(alpha)}};
  files::write_atomically(path, [&](std::ostream& out) { gguf::write(out, keys, tensors); });
}

}  // namespace gradus::exports
