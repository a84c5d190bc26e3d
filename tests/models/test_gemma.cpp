// Decoder of Gemma 3's shape: its config.json, its windows and its start. PyTorch's numbers:
// test_golden.cpp.
#include <nlohmann/json.hpp>

#include "autograd/compare.hpp"
#include "gradus/files/file.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/config_json.hpp"
#include "models/llama.hpp"
#include "test_files.hpp"

namespace gradus::models::test_gemma {

using nlohmann::json;
using namespace testing;

/// The config.json of google/gemma-3-270m, without fields that do not affect the computation.
json published() {
  json config = json::parse(R"({"model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"],
    "_sliding_window_pattern": 6, "attention_bias": false, "attn_logit_softcapping": null,
    "final_logit_softcapping": null, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh",
    "hidden_size": 640, "intermediate_size": 2048, "max_position_embeddings": 32768,
    "num_attention_heads": 4, "num_hidden_layers": 18, "num_key_value_heads": 1, "query_pre_attn_scalar": 256,
    "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000.0, "rope_scaling": null, "rope_theta": 1000000.0,
    "sliding_window": 512, "use_bidirectional_attention": false, "vocab_size": 262144})");
  for (int i = 1; i <= 18; ++i)
    config["layer_types"].push_back(i % 6 == 0 ? "full_attention" : "sliding_attention");
  return config;
}

DecoderConfig read(const json& config) { return config_from_json(config.dump(), "f"); }

TEST_CASE("the config of Gemma 3 270M is read, and has the published number of parameters") {
  const DecoderConfig config = read(published());
  CHECK(config == DecoderConfig{.arch = "gemma",
                                .vocab_size = 262144,
                                .block_size = 32768,
                                .n_layer = 18,
                                .n_head = 4,
                                .n_embd = 640,
                                .bias = false,
                                .norm_eps = 1e-6,
                                .n_kv_head = 1,
                                .n_inner = 2048,
                                .rope_theta = 1e6,
                                .attention = {.head_dim = 256, .window = 512, .window_pattern = 6}});
  CHECK(config.num_parameters() == 268'098'176);
  json least = published();
  for (const char* key : {"_sliding_window_pattern", "layer_types", "head_dim", "query_pre_attn_scalar",
                          "rope_theta", "rope_local_base_freq", "rope_scaling", "sliding_window"})
    least.erase(key);
  CHECK(read(least) == config);
  json newer = least;
  newer["rope_parameters"] = {
      {"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 5e5}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 10000.0}}}};
  CHECK(read(newer).rope_theta == 5e5);
  CHECK(read(newer).attention.rope_scaling == RopeScaling{.type = "linear", .factor = 8.0});
  CHECK(read(published()).attention.window_pattern == 6);
}

TEST_CASE("a written config of Gemma has transformers' fields, and gives the config back") {
  DecoderConfig config = kSmallGemma;
  config.norm_eps = 1e-6;
  config.attention.rope_scaling = {.type = "linear", .factor = 8.0};
  const json written = json::parse(to_json(config));
  const json expected = json::parse(R"({"model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"],
    "vocab_size": 11, "max_position_embeddings": 8, "hidden_size": 16, "intermediate_size": 24,
    "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6,
    "query_pre_attn_scalar": 6, "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    "rope_local_base_freq": 10000.0, "sliding_window": 3, "sliding_window_pattern": 2,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "attention_bias": false,
    "attention_dropout": 0.3, "attn_logit_softcapping": null, "final_logit_softcapping": null,
    "initializer_range": 0.02, "tie_word_embeddings": true, "pad_token_id": null, "bos_token_id": null,
    "eos_token_id": null, "torch_dtype": "float32"})");
  for (const auto& [key, value] : expected.items()) {
    INFO(key);
    CHECK(written.at(key) == value);
  }
  CHECK(written.size() == expected.size() + 1);  // gradus_version
  CHECK(read(written) == config);
  config.attention.window_pattern = 7;  // no block without a window
  CHECK(read(json::parse(to_json(config))) == config);
  config.attention = {};  // no window
  config.tie_word_embeddings = false;
  CHECK(read(json::parse(to_json(config))) == config);
}

TEST_CASE("configs of Gemma that compute something else are refused by name") {
  const auto refused = [](const char* field, const json& value, const std::string& message) {
    json changed = published();
    changed[field] = value;
    CHECK_THROWS_WITH(read(changed), "[load_config] f: " + message);
  };
  refused("query_pre_attn_scalar", 168, "query_pre_attn_scalar must be 256 or 256.0, got 168.");
  refused("attn_logit_softcapping", 50.0, "attn_logit_softcapping must be null, got 50.0.");
  refused("final_logit_softcapping", 30.0, "final_logit_softcapping must be null, got 30.0.");
  refused("rope_local_base_freq", 5000.0, "rope_local_base_freq must be 10000 or 10000.0, got 5000.0.");
  refused("rope_parameters", {{"sliding_attention", {{"rope_type", "linear"}}}, {"rope_type", "default"}},
          "rope_parameters, sliding_attention, rope_type must be 'default', got 'linear'.");
  refused("hidden_activation", "gelu", "hidden_activation must be 'gelu_pytorch_tanh', got 'gelu'.");
  refused("attention_bias", true, "attention_bias must be false or null, got true.");
  refused("use_bidirectional_attention", true,
          "use_bidirectional_attention must be false or null, got true.");
  refused("sliding_window", 0, "sliding_window must be a whole number of at least 1, got 0.");
  refused("num_key_value_heads", nullptr, "num_key_value_heads must be a whole number of 64 bits, got null.");
  json types = published()["layer_types"];
  types[7] = "full_attention";
  refused("layer_types", types,
          "layer_types must name 18 layers, of which each 6th has full_attention and the others "
          "sliding_attention, got another list.");
  json changed = published();
  changed["head_dim"] = 128;
  changed.erase("query_pre_attn_scalar");
  CHECK_THROWS_WITH(read(changed), "[load_config] f must have a field 'query_pre_attn_scalar'.");
}

TEST_CASE("fields of a gemma that are wrong are named") {
  const auto refused = [](void (*spoil)(DecoderConfig&), const char* message) {
    DecoderConfig config = kSmallGemma;
    spoil(config);
    CHECK_THROWS_WITH(config.validate(), message);
  };
  refused([](DecoderConfig& c) { c.attention.window = 0; },
          "[decoder] window and window_pattern must be 0, or at least 1 and 2, got 0 and 2.");
  refused([](DecoderConfig& c) { c.qk_norm = true; },
          "[decoder] `qk_norm` and biases must be false with `arch` gemma, which always has these norms and "
          "never biases, got true.");
  refused([](DecoderConfig& c) { c.bias = true; },
          "[decoder] `bias` must be false with `arch` gemma, whose layers have none, got true.");
  refused([](DecoderConfig& c) { c.n_kv_head = 3; },
          "[decoder] `n_kv_head` must divide `n_head`, got 3 and 4.");
  refused([](DecoderConfig& c) { c.arch = "llama"; },
          "[decoder] window_pattern must be 0 with `arch` llama, got 2.");
}

TEST_CASE("gemma starts with norms of weight 0") {
  Generator g(4);
  for (const auto& [name, p] : Decoder(kSmallGemma, g).named_parameters()) {
    INFO(name);
    if (p.dim() == 1) CHECK(amax(abs(p.detach())).item() == 0.0);
  }
}

TEST_CASE("scaled positions are those of blocks without a window") {
  DecoderConfig config = kSmallGemma;
  config.dropout = 0;
  const Tensor idx = tensor(std::vector<int64_t>{3, 1, 4, 1, 5, 9, 2, 6}, {1, 8});
  const auto logits = [&](const RopeScaling& scaling) {
    config.attention.rope_scaling = scaling;
    Generator g(3);
    Decoder model(config, g);
    for (auto& [name, p] : model.named_parameters())
      if (p.dim() == 2) p.detach().copy_(randn(p.shape(), g) * 0.5);
    return model(idx).detach();
  };
  const RopeScaling linear{.type = "linear", .factor = 8.0},
      yarn{.type = "yarn", .factor = 8.0, .original_length = 4, .attention_factor = 1.5};
  CHECK(difference(logits(linear), logits({})) != "");
  CHECK(difference(logits(yarn), logits({})) != "");
  config.n_layer = 1;  // which has a window
  CHECK(difference(logits(linear), logits({}), 0) == "");
  CHECK(difference(logits(yarn), logits({}), 0) == "");
}

TEST_CASE("memory of a gemma has the inputs of all its norms, and gelu(gate)") {
  DecoderConfig config = kSmallGemma;  // C = 16, 24 features of queries, 12 of keys, 24 inside the MLP
  // For each of 48 tokens: in each layer 6 vectors, q and the heads' output, k and v, the inputs of the norms
  // of q and k, 4 inside the MLP and a number a head; 3 vectors around the layers, the logits and their
  // gradient.
  const double saved = 3 * (6 * 16 + 2 * 24 + 2 * 12 + (24 + 12) + 4 * 24 + 4) + 3 * 16 + 2 * 11 + 4 * 24;
  CHECK(training_memory(config, 6).activations == 4 * 48 * saved);
}

}  // namespace gradus::models::test_gemma
