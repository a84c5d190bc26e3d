// Folders of Llama's and Qwen3's layout.
#include "autograd/compare.hpp"
#include "gradus/files/file.hpp"
#include "gradus/models/config_json.hpp"
#include "gradus/models/rotary_decoder.hpp"
#include "gradus/nn/safetensors.hpp"
#include "models/llama.hpp"
#include "models/saved_model.hpp"

namespace gradus::models::test_llama_files {

using namespace testing;
using nlohmann::json;

TEST_CASE("a saved llama comes back bit for bit, whatever its parts") {
  DecoderConfig plain = kSmallLlama;
  plain.n_kv_head = 0;
  const int kind = GENERATE(0, 1, 2);
  const Decoder model = wide_model(kind == 0 ? kSmallLlama : kind == 1 ? small_qwen3() : plain, 31);
  const Saved saved(model);
  check_same(load_pretrained(saved.folder.path()), model);
  CHECK(check_pretrained(saved.folder.path()) == model.config());
  const std::string bytes = files::read(saved.weights);
  save_pretrained(load_pretrained(saved.folder.path()), saved.folder.path());
  CHECK(files::read(saved.weights) == bytes);
  CHECK(stored_shapes(model.config()) == model.config().parameter_shapes());
}

TEST_CASE("the files are those of transformers' Llama and Qwen3") {
  const Saved llama(wide_model(kSmallLlama, 32)), qwen3(wide_model(small_qwen3(), 33));
  const nn::StateDict stored = nn::load_safetensors(llama.weights);
  CHECK(stored.size() == 2 + 2 * 9);
  const auto shape = [&](const char* name) { return stored.at(name).shape(); };
  CHECK(shape("model.embed_tokens.weight") == Shape{11, 16});
  CHECK(shape("model.layers.1.self_attn.q_proj.weight") == Shape{16, 16});
  CHECK(shape("model.layers.1.self_attn.k_proj.weight") == Shape{8, 16});
  CHECK(shape("model.layers.0.mlp.gate_proj.weight") == Shape{64, 16});
  CHECK(shape("model.layers.0.mlp.down_proj.weight") == Shape{16, 64});
  CHECK(nn::load_safetensors(qwen3.weights).at("lm_head.weight").shape() == Shape{11, 16});
  CHECK(nn::load_safetensors(qwen3.weights).at("model.layers.0.self_attn.q_norm.weight").shape() == Shape{4});

  json config = llama.read_config();
  config.erase("gradus_version");
  CHECK(config == json::parse(R"({
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 11,
    "max_position_embeddings": 8, "hidden_size": 16, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4, "hidden_act": "silu",
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "rope_scaling": null, "attention_bias": false,
    "attention_dropout": 0.0, "initializer_range": 0.02, "tie_word_embeddings": true, "mlp_bias": false,
    "bos_token_id": null, "eos_token_id": null, "torch_dtype": "float32"})"));
  config = qwen3.read_config();
  config.erase("gradus_version");
  CHECK(config == json::parse(R"({
    "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "vocab_size": 11,
    "max_position_embeddings": 8, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 4, "hidden_act": "silu",
    "rms_norm_eps": 1e-6, "rope_theta": 500.0, "rope_scaling": null, "attention_bias": false,
    "attention_dropout": 0.3, "initializer_range": 0.02, "tie_word_embeddings": false,
    "use_sliding_window": false, "bos_token_id": null, "eos_token_id": null, "torch_dtype": "float32"})"));
}

TEST_CASE("what a config of llama leaves out is what transformers takes") {
  const json least = {{"model_type", "llama"},       {"vocab_size", 11},       {"hidden_size", 16},
                      {"intermediate_size", 20},     {"num_hidden_layers", 2}, {"num_attention_heads", 4},
                      {"max_position_embeddings", 8}};
  const DecoderConfig config = config_from_json(least.dump(), "f");
  CHECK(config.n_kv_head == 0);
  CHECK(config.norm_eps == 1e-6);
  CHECK(config.rope_theta == 10000.0);
  CHECK(config.dropout == 0.0);
  CHECK_FALSE(config.tie_word_embeddings);
  CHECK_FALSE(config.bias);
  CHECK_FALSE(config.qk_norm);
  json newer = least;
  newer["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5e5}};
  newer["num_key_value_heads"] = nullptr;
  newer["head_dim"] = nullptr;
  CHECK(config_from_json(newer.dump(), "f").rope_theta == 5e5);

  json qwen3 = least;
  qwen3["model_type"] = "qwen3";
  CHECK_THROWS_WITH(config_from_json(qwen3.dump(), "f"),
                    "[load_config] f must have a field 'num_key_value_heads'.");
  qwen3["num_key_value_heads"] = 2;
  CHECK(config_from_json(qwen3.dump(), "f").attention.head_dim == 128);
  qwen3["hidden_size"] = 512;
  CHECK(config_from_json(qwen3.dump(), "f").qk_norm);
}

TEST_CASE("YaRN's frequencies and attention factor are transformers'") {
  json config = {{"model_type", "llama"},          {"vocab_size", 11},       {"hidden_size", 16},
                 {"intermediate_size", 20},        {"num_hidden_layers", 2}, {"num_attention_heads", 2},
                 {"max_position_embeddings", 256}, {"rope_theta", 10000.0}};
  const auto read = [&](const json& scaling) {
    config["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 4.0}};
    config["rope_scaling"].update(scaling);
    return config_from_json(config.dump(), "f");
  };
  // Both limits are feature 0.
  CHECK(difference(scaled_frequencies(read({{"original_max_position_embeddings", 4}})),
                   f64({1, 0.025, 0.0025, 0.00025})) == "");
  config["rope_theta"] = 100.0;
  CHECK(difference(scaled_frequencies(read({{"original_max_position_embeddings", 64}, {"beta_fast", 8}})),
                   f64({1.0, 0.23717082451262847, 0.05, 0.007905694150420948})) == "");
  // 0.1 m ln 4 + 1, by Python's math.
  CHECK(read(json::object()).attention.rope_scaling.attention_factor == Approx(1.1386294361119891));
  CHECK(read({{"mscale", 0.707}, {"mscale_all_dim", 1.5}}).attention.rope_scaling.attention_factor ==
        Approx(0.9089915353640435));
  CHECK(read({{"mscale", 0.707}}).attention.rope_scaling.attention_factor == Approx(1.1386294361119891));
  CHECK(read({{"mscale", 0.707}, {"attention_factor", 1.25}}).attention.rope_scaling.attention_factor ==
        1.25);
}

TEST_CASE("configs of llamas that are not ours are refused") {
  const Saved saved(wide_model(kSmallLlama, 34));
  const json good = saved.read_config();
  const auto refused = [&](const char* field, const json& value, const char* message) {
    saved.set(field, value);
    CHECK(saved.refusal() == concat("[load_config] config.json: ", message));
    saved.write(good);
  };
  refused("hidden_act", "gelu", "hidden_act must be 'silu' or 'swish', got 'gelu'.");
  refused(
      "head_dim", 7,
      "[decoder] `n_head` must divide `n_embd` into heads of an even size with `arch` llama, got 4 and 16.");
  refused("mlp_bias", true, "mlp_bias must be false, got true.");
  refused("rope_scaling", {{"type", "linear"}, {"factor", 0.5}},
          "[decoder] rope_scaling must have a factor of at least 1, the original context length, and ordered "
          "limits, got {\"rope_type\":\"linear\",\"factor\":0.5}.");
  refused("rope_parameters", {{"rope_type", "longrope"}},
          "rope_parameters, rope_type must be 'default', 'linear', 'llama3' or 'yarn', got 'longrope'.");
  refused("num_key_value_heads", 3, "[decoder] `n_kv_head` must divide `n_head`, got 3 and 4.");
  refused("num_key_value_heads", 0, "num_key_value_heads must be at least 1, got 0.");
  refused("rms_norm_eps", 0, "[decoder] `norm_eps` must be in (0, 1), got 0.");
  refused("num_attention_heads", 3, "[decoder] `n_kv_head` must divide `n_head`, got 2 and 3.");
  refused("num_hidden_layers", 2.5, "num_hidden_layers must be a whole number of 64 bits, got 2.5.");
  json lacking = good;
  lacking.erase("intermediate_size");
  saved.write(lacking);
  CHECK(saved.refusal() == "[load_config] config.json must have a field 'intermediate_size'.");
}

TEST_CASE("weights of llama: an equal tied head and old frequencies pass, others do not") {
  const Decoder model = wide_model(kSmallLlama, 35);
  const Saved saved(model);
  nn::StateDict stored = nn::load_safetensors(saved.weights);
  stored["lm_head.weight"] = model.state_dict().at("model.embed_tokens.weight");
  stored["model.layers.0.self_attn.rotary_emb.inv_freq"] = ones({2});
  nn::save_safetensors(saved.weights, stored);
  check_same(load_pretrained(saved.folder.path()), model);

  stored["lm_head.weight"] = model.state_dict().at("model.embed_tokens.weight") * 2.0;
  nn::save_safetensors(saved.weights, stored);
  CHECK(
      saved.refusal() ==
      "[load_pretrained] model.safetensors: lm_head.weight must equal model.embed_tokens.weight, the output "
      "projection is tied to it, got other values. Hint: if it is not tied, config.json must have "
      "\"tie_word_embeddings\": false.");
  stored.erase("lm_head.weight");
  stored["model.layers.0.self_attn.q_proj.bias"] = zeros({16});
  stored["model.layers.1.self_attn.v_proj.weight"] = zeros({16, 16});
  stored.erase("model.norm.weight");
  nn::save_safetensors(saved.weights, stored);
  CHECK(
      saved.refusal() ==
      "[load_pretrained] model.safetensors: [load_state_dict] names and shapes must be those of the module, "
      "got missing: model.norm.weight; unexpected: model.layers.0.self_attn.q_proj.bias; misshaped: "
      "model.layers.1.self_attn.v_proj.weight (16, 16) for (8, 16). Hint: the values were saved from a model "
      "of another shape.");
}

}  // namespace gradus::models::test_llama_files
