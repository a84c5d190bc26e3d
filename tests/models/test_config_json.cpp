// config.json of every architecture: what is written, what is read, and what is refused by its name.
#include "gradus/models/stored/config_json.hpp"

#include <nlohmann/json.hpp>

#include "autograd/compare.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/rotary_decoder.hpp"
#include "models/llama.hpp"

namespace gradus::models::test_config_json {

using nlohmann::json;
using namespace testing;

DecoderConfig read(const json& config) { return config_from_json(config.dump(), "f"); }

json llama() {
  return {{"model_type", "llama"},       {"vocab_size", 11},       {"hidden_size", 16},
          {"intermediate_size", 20},     {"num_hidden_layers", 2}, {"num_attention_heads", 4},
          {"max_position_embeddings", 8}};
}

/// The config.json of google/gemma-3-270m, without fields that do not affect the computation.
json published_gemma() {
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

TEST_CASE("a written config.json has transformers' fields, and gives the config back") {
  DecoderConfig gpt2{
      .vocab_size = 11, .block_size = 8, .n_layer = 2, .n_head = 2, .n_embd = 8, .dropout = 0.25};
  DecoderConfig without_bias = gpt2, gemma = kSmallGemma;
  without_bias.bias = false;
  gemma.norm_eps = 1e-6;
  gemma.attention.rope_scaling = {.type = "linear", .factor = 8.0};
  const std::string gpt2_fields = R"("model_type": "gpt2", "architectures": ["GPT2LMHeadModel"],
    "vocab_size": 11, "n_positions": 8, "n_ctx": 8, "n_embd": 8, "n_layer": 2, "n_head": 2, "n_inner": null,
    "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "embd_pdrop": 0.25,
    "attn_pdrop": 0.25, "resid_pdrop": 0.25, "initializer_range": 0.02, "scale_attn_weights": true,
    "tie_word_embeddings": true)";
  const std::pair<DecoderConfig, std::string> cases[] = {
      {gpt2, gpt2_fields},
      {without_bias, gpt2_fields + R"(, "gradus_bias": false)"},
      {kSmallLlama, R"("model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 11,
        "max_position_embeddings": 8, "hidden_size": 16, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4, "hidden_act": "silu",
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "rope_scaling": null, "attention_bias": false,
        "attention_dropout": 0.0, "initializer_range": 0.02, "tie_word_embeddings": true, "mlp_bias": false)"},
      {small_qwen3(), R"("model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "vocab_size": 11,
        "max_position_embeddings": 8, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 4, "hidden_act": "silu",
        "rms_norm_eps": 1e-6, "rope_theta": 500.0, "rope_scaling": null, "attention_bias": false,
        "attention_dropout": 0.3, "initializer_range": 0.02, "tie_word_embeddings": false,
        "use_sliding_window": false)"},
      {gemma, R"("model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"],
        "vocab_size": 11, "max_position_embeddings": 8, "hidden_size": 16, "intermediate_size": 24,
        "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6,
        "query_pre_attn_scalar": 6, "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0},
        "rope_local_base_freq": 10000.0, "sliding_window": 3, "sliding_window_pattern": 2,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "attention_bias": false,
        "attention_dropout": 0.3, "attn_logit_softcapping": null, "final_logit_softcapping": null,
        "initializer_range": 0.02, "tie_word_embeddings": true, "pad_token_id": null)"},
      {kSmallMinGru, R"("model_type": "mingru", "architectures": ["MinGRUForCausalLM"], "vocab_size": 11,
        "max_position_embeddings": 8, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
        "rms_norm_eps": 1e-5, "dropout": 0.0, "tie_word_embeddings": true)"}};
  for (const auto& [config, fields] : cases) {
    json written = json::parse(to_json(config));
    CHECK(read(written) == config);
    CHECK(written.at("gradus_version").get<std::string>().find('.') != std::string::npos);
    written.erase("gradus_version");  // which changes with each
    CHECK(written ==
          json::parse("{" + fields +
                      R"(, "bos_token_id": null, "eos_token_id": null, "torch_dtype": "float32"})"));
  }
  gemma.attention.window_pattern = 7;  // no block without a window
  CHECK(read(json::parse(to_json(gemma))) == gemma);
  gemma.attention = {};  // no window
  gemma.tie_word_embeddings = false;
  CHECK(read(json::parse(to_json(gemma))) == gemma);
}

TEST_CASE("what a config leaves out is what transformers takes") {
  const DecoderConfig gpt2 = read(json::parse(
      R"({"model_type": "gpt2", "vocab_size": 11, "n_ctx": 8, "n_embd": 8, "n_layer": 2, "n_head": 2})"));
  CHECK(gpt2 ==
        DecoderConfig{
            .vocab_size = 11, .block_size = 8, .n_layer = 2, .n_head = 2, .n_embd = 8, .dropout = 0.1});
  DecoderConfig expected = kSmallLlama;
  expected.n_kv_head = 0;
  expected.norm_eps = 1e-6;
  expected.n_inner = 20;
  expected.tie_word_embeddings = false;
  CHECK(read(llama()) == expected);
  json newer = llama();
  newer["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5e5}};
  newer["num_key_value_heads"] = nullptr;
  newer["head_dim"] = nullptr;
  newer["layer_types"] = {"full_attention", "full_attention"};
  CHECK(read(newer).rope_theta == 5e5);

  json qwen3 = llama();
  for (const char* type : {"mistral", "qwen2", "qwen3"}) {  // of which transformers assumes 8 and 32
    qwen3["model_type"] = type;
    CHECK_THROWS_WITH(read(qwen3), "[load_config] f must have a field 'num_key_value_heads'.");
  }
  qwen3["num_key_value_heads"] = 2;
  CHECK(read(qwen3).attention.head_dim == 128);
  qwen3["hidden_size"] = 512;
  CHECK(read(qwen3).qk_norm);
  // MistralConfig, Qwen2Config and Qwen3Config have sliding_window=4096.
  for (json mistral = llama(); const int64_t context : {4096, 8192}) {
    mistral.merge_patch(
        {{"model_type", "mistral"}, {"num_key_value_heads", 2}, {"max_position_embeddings", context}});
    CHECK(read(mistral).attention.window == (context > 4096 ? 4096 : 0));
    qwen3.merge_patch(
        {{"max_position_embeddings", context}, {"use_sliding_window", true}, {"max_window_layers", 1}});
    CHECK(read(qwen3).attention.window == (context > 4096 ? 4096 : 0));
  }
  CHECK(read(qwen3).attention.window_from == 1);
}

TEST_CASE(
    "fields that change no result are passed over, whatever they have, and others if they have nothing") {
  json config = llama();
  for (const char* key : {"torch_dtype", "transformers_version", "use_cache", "eos_token_id", "summary_type",
                          "_name_or_path", "temperature"})
    config[key] = 7;
  for (const json& none : {json(), json(""), json::object(), json::array()})
    for (const char* key : {"quantization_config", "pruned_heads", "a_field_of_2030"}) {
      config[key] = none;
      CHECK(read(config) == read(llama()));
    }
}

TEST_CASE("a field may be false only if a model without it does the same") {
  json config = llama();
  for (const char* key :
       {"mlp_bias", "is_decoder", "use_sliding_window", "add_cross_attention", "rope_interleaved"})
    config[key] = false;
  config["is_causal"] = true;
  CHECK(read(config) == read(llama()));
  for (const char* key :
       {"is_causal", "use_causal_mask", "scale_attention", "normalize_before", "a_field_of_2030"}) {
    json other = llama();
    other[key] = false;
    CHECK_ERROR(read(other),
                concat(key, " is not read and may change the meaning; it must be left out, got false."));
  }
  for (const char* key : {"mlp_bias", "is_encoder_decoder", "use_bidirectional_attention"}) {
    json other = llama();
    other[key] = true;
    CHECK_ERROR(read(other), concat(key, " is not read"));
  }
}

TEST_CASE("YaRN's frequencies and attention factor are transformers'") {
  json config = llama();
  config.update({{"num_attention_heads", 2}, {"max_position_embeddings", 256}, {"rope_theta", 10000.0}});
  const auto with = [&](const json& scaling) {
    config["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 4.0}};
    config["rope_scaling"].update(scaling);
    return read(config);
  };
  // Both limits are feature 0.
  CHECK(difference(scaled_frequencies(with({{"original_max_position_embeddings", 4}})),
                   f64({1, 0.025, 0.0025, 0.00025})) == "");
  config["rope_theta"] = 100.0;
  CHECK(difference(scaled_frequencies(with({{"original_max_position_embeddings", 64}, {"beta_fast", 8}})),
                   f64({1.0, 0.23717082451262847, 0.05, 0.007905694150420948})) == "");
  // 0.1 m ln 4 + 1, by Python's math.
  for (const auto& [scaling, expected] :
       {std::pair(json::object(), 1.1386294361119891),
        {json{{"mscale", 0.707}, {"mscale_all_dim", 1.5}}, 0.9089915353640435},
        {json{{"mscale", 0.707}}, 1.1386294361119891},
        {json{{"mscale", 0.707}, {"attention_factor", 1.25}}, 1.25}})
    CHECK(with(scaling).attention.rope_scaling.attention_factor == Approx(expected));
}

TEST_CASE("the config of Gemma 3 270M is read, and has the published number of parameters") {
  const DecoderConfig config = read(published_gemma());
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
  json least = published_gemma();
  for (const char* key : {"_sliding_window_pattern", "layer_types", "head_dim", "query_pre_attn_scalar",
                          "rope_theta", "rope_local_base_freq", "rope_scaling", "sliding_window"})
    least.erase(key);
  CHECK(read(least).attention.window == 4096);  // that of Gemma3TextConfig
  least["sliding_window"] = 512;
  CHECK(read(least) == config);
  json newer = least;
  newer["rope_parameters"] = {
      {"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 5e5}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 10000.0}}}};
  CHECK(read(newer).rope_theta == 5e5);
  CHECK(read(newer).attention.rope_scaling == RopeScaling{.type = "linear", .factor = 8.0});
}

/// A config after a JSON merge patch, in which null takes a field away.
struct Bad {
  const char *patch, *reason;  // a part of the message
};

const Bad kBadGpt2[] = {
    {R"({"model_type": "opt"})",
     "model_type must be 'gpt2' or 'llama' or 'qwen3' or 'qwen2' or 'mistral' or 'gemma3_text' or 'mingru',"},
    {R"({"activation_function": "relu"})",
     "activation_function must be 'gelu_new' or 'gelu_pytorch_tanh' or 'gelu_fast', got 'relu'."},
    {R"({"scale_attn_by_inverse_layer_idx": true})",
     "scale_attn_by_inverse_layer_idx is not read and may change the meaning; it must be left out, got"},
    {R"({"scale_attn_weights": false})", "scale_attn_weights must be true, got false."},
    {R"({"pruned_heads": {"0": [1]}})", "it must be left out, got an object of 1."},
    {R"({"n_inner": 63})", "n_inner must be null or 64, got 63."},
    {R"({"n_embd": 4611686018427387904})", "`n_embd` must be in [1, 1000000], got 4611686018427387904."},
    {R"({"n_positions": null})", "f must have a field 'n_positions'."},
    {R"({"n_layer": 2.5})", "n_layer must be a whole number of 64 bits, got 2.5."},
    {R"({"resid_pdrop": "x"})", "resid_pdrop must be a number, got 'x'."},
    {R"({"attn_pdrop": 0.5})", "f must have equal dropouts, got resid_pdrop 0.25 and attn_pdrop 0.5."},
    {R"({"embd_pdrop": null})", "f must have equal dropouts, got resid_pdrop 0.25 and embd_pdrop 0.1."},
    {R"({"gradus_bias": 1})", "gradus_bias must be true or false, got 1."},
    {"[]", "f must be an object"},
};
const Bad kBadLlamas[] = {
    {R"({"hidden_act": "gelu"})", "hidden_act must be 'silu' or 'swish', got 'gelu'."},
    {R"({"head_dim": 7})",
     "`n_head` must divide `n_embd` into heads of an even size with `arch` llama, got 4 and 16."},
    {R"({"mlp_bias": true})",
     "mlp_bias is not read and may change the meaning; it must be left out, got true."},
    {R"({"sliding_window": 5})", "sliding_window is not read and may change the meaning"},
    {R"({"layer_types": ["full_attention", "sliding_attention"]})",
     "layer_types must be full_attention below layer 2 and sliding_attention from it on, got another list"},
    {R"({"layer_types": ["full_attention"]})", "from it on, got another list for 2 layers."},
    {R"({"rope_parameters": {"rope_type": "default"}, "rope_scaling": {"type": "linear", "factor": 2.0}})",
     "rope_scaling must not stand beside rope_parameters, got an object of 2."},
    {R"({"rope_theta": 5e5, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}})",
     "rope_parameters must have the rope_theta beside it, 500000, got 10000."},
    {R"({"rope_scaling": {"rope_type": "linear", "type": "dynamic", "factor": 2.0}})",
     "rope_scaling, type must be the rope_type, 'linear', got 'dynamic'."},
    {R"({"rope_scaling": {"type": "linear", "factor": 0.5}})",
     "rope_scaling must have a factor of at least 1, the original context length, limits that rise"},
    {R"({"rope_theta": 1.0, "rope_scaling": {"rope_type": "yarn", "factor": 4.0}})",
     "for yarn a rope_theta above 1, got yarn with factor 4, length 8"},
    {R"({"rope_scaling": {"type": "linear", "factor": 2.0, "beta_fast": 3}})",
     "rope_scaling, beta_fast is not read and may change the meaning; it must be left out, got 3."},
    {R"({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}})",
     "rope_scaling must have a field 'low_freq_factor'."},
    {R"({"rope_parameters": {"rope_type": "longrope"}})",
     "rope_parameters, rope_type must be 'default', 'linear', 'llama3' or 'yarn', got 'longrope'."},
    {R"({"partial_rotary_factor": 0.5})", "partial_rotary_factor must be 1 or 1.0 or null, got 0.5."},
    {R"({"num_key_value_heads": 3})", "`n_kv_head` must divide `n_head`, got 3 and 4."},
    {R"({"intermediate_size": null})", "f must have a field 'intermediate_size'."},
};
const Bad kBadGemmas[] = {
    {R"({"query_pre_attn_scalar": 168})", "query_pre_attn_scalar must be 256 or 256.0, got 168."},
    {R"({"attn_logit_softcapping": 50.0})", "attn_logit_softcapping is not read and may change the meaning"},
    {R"({"rope_local_base_freq": 5000.0})", "rope_local_base_freq must be 10000 or 10000.0, got 5000.0."},
    {R"({"rope_parameters": {"sliding_attention": {"rope_type": "linear"}, "rope_type": "default"}})",
     "rope_parameters, sliding_attention, rope_type must be 'default', got 'linear'."},
    {R"({"hidden_activation": "gelu"})", "hidden_activation must be 'gelu_pytorch_tanh', got 'gelu'."},
    {R"({"use_bidirectional_attention": true})",
     "use_bidirectional_attention is not read and may change the meaning"},
    {R"({"sliding_window": 0})", "sliding_window must be a whole number of at least 1, got 0."},
    {R"({"num_key_value_heads": null})", "f must have a field 'num_key_value_heads'."},
    {R"({"layer_types": ["full_attention"]})",
     "layer_types must name 18 layers, of which each 1th has full_attention and the others"},
    {R"({"head_dim": 128, "query_pre_attn_scalar": null})", "f must have a field 'query_pre_attn_scalar'."},
};

TEST_CASE("configs that say something else are refused by name") {
  const auto check = [](const json& good, const auto& bads) {
    for (const Bad& bad : bads) {
      json config = good;
      config.merge_patch(json::parse(bad.patch));
      CHECK_HAS(error_of([&] { read(config); }), "[load_config] f", bad.reason);
    }
  };
  check(json::parse(R"({"model_type": "gpt2", "vocab_size": 11, "n_positions": 6, "n_embd": 16, "n_layer": 2,
                        "n_head": 2, "resid_pdrop": 0.25, "embd_pdrop": 0.25, "attn_pdrop": 0.25})"),
        kBadGpt2);
  check(llama(), kBadLlamas);
  check(published_gemma(), kBadGemmas);
  json types = published_gemma();
  types["layer_types"][7] = "full_attention";
  CHECK_HAS(error_of([&] { read(types); }), "layer_types must name 18 layers, of which each 6th");
}

}  // namespace gradus::models::test_config_json
