// What is Llama's alone: see test_architectures.cpp.
#include "autograd/compare.hpp"
#include "models/llama.hpp"

namespace gradus::models::test_llama {

using namespace testing;

TEST_CASE("parameters of llama have the names of Hugging Face's files, and are as many as the formula says") {
  Generator g(1);
  DecoderConfig config = small_qwen3();
  config.n_layer = 1;
  std::vector<std::string> names;
  for (const auto& [name, p] : Decoder(config, g).named_parameters()) names.push_back(name);
  CHECK(names == std::vector<std::string>{
                     "model.embed_tokens.weight", "model.layers.0.input_layernorm.weight",
                     "model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.k_proj.weight",
                     "model.layers.0.self_attn.v_proj.weight", "model.layers.0.self_attn.o_proj.weight",
                     "model.layers.0.self_attn.q_norm.weight", "model.layers.0.self_attn.k_norm.weight",
                     "model.layers.0.post_attention_layernorm.weight", "model.layers.0.mlp.gate_proj.weight",
                     "model.layers.0.mlp.up_proj.weight", "model.layers.0.mlp.down_proj.weight",
                     "model.norm.weight", "lm_head.weight"});
  for (const DecoderConfig& one : {kSmallLlama, small_qwen3()}) {
    // Tables, blocks of projections, SwiGLU and norms, the last norm.
    const int64_t C = one.n_embd, hs = C / one.n_head, tables = one.tie_word_embeddings ? 1 : 2;
    const int64_t block =
        2 * C * C + 2 * C * hs * one.kv_heads() + 3 * C * one.inner() + 2 * C + (one.qk_norm ? 2 * hs : 0);
    CHECK(one.num_parameters() == tables * one.vocab_size * C + one.n_layer * block + C);
  }
}

TEST_CASE("published sizes of llama come out") {
  DecoderConfig llama{
      .arch = "llama", .vocab_size = 32000, .n_layer = 32, .n_head = 32, .n_embd = 4096, .bias = false};
  llama.n_inner = 11008;
  llama.tie_word_embeddings = false;
  CHECK(llama.num_parameters() == 6'738'415'616);  // Llama 2 7B
  DecoderConfig wide{.arch = "llama", .n_embd = 768, .bias = false};
  CHECK(wide.inner() == 2048);
  wide.n_embd = 128;
  CHECK(wide.inner() == 352);  // 341.33, rounded up to a multiple of 32
  wide.n_inner = 20;
  CHECK(wide.inner() == 20);
  CHECK(DecoderConfig{.n_embd = 128}.inner() == 512);
}

TEST_CASE("llama starts as GPT-2 does: small, and smaller where it ends in the stream") {
  Generator a(5), b(5);
  const DecoderConfig config{.arch = "llama",
                             .vocab_size = 300,
                             .n_layer = 8,
                             .n_head = 2,
                             .n_embd = 64,
                             .bias = false,
                             .qk_norm = true,
                             .tie_word_embeddings = false};
  const Decoder model(config, a);
  for (const auto& [name, p] : model.named_parameters()) {
    INFO(name);
    const double deviation = p.dim() == 2 ? std::sqrt(var(p.detach()).item()) : 0.0;
    const bool in_stream = name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
    if (p.dim() == 2) CHECK(std::abs(deviation / (in_stream ? 0.005 : 0.02) - 1.0) < 0.05);
    if (p.dim() == 1) CHECK(difference(p.detach(), ones(p.shape()), 0) == "");
  }
  CHECK(difference(Decoder(config, b).state_dict().at("lm_head.weight"),
                   model.state_dict().at("lm_head.weight"), 0) == "");
}

TEST_CASE("llama knows the order of what it has read, though only its queries and keys do") {
  DecoderConfig config = kSmallLlama;
  config.n_layer = 1;
  const Decoder model = wide_model(config, 15);
  const auto last = [&](const std::vector<int64_t>& tokens) {
    return model(tensor(tokens, {1, static_cast<int64_t>(tokens.size())})).detach().select(1, -1);
  };
  CHECK(difference(last({1, 2, 3, 4}), last({2, 1, 3, 4}), 1e-3) != "");
  CHECK(difference(last({1, 1, 3, 4}), last({1, 1, 3, 4}), 0) == "");
}

TEST_CASE("fields of llama that are wrong are named, and gpt2 has none of them") {
  const auto refused = [](const DecoderConfig& base, void (*spoil)(DecoderConfig&)) {
    DecoderConfig config = base;
    spoil(config);
    return error_of([&] { config.validate(); });
  };
  const auto llama = [&](void (*spoil)(DecoderConfig&)) { return refused(kSmallLlama, spoil); };
  const auto gpt2 = [&](void (*spoil)(DecoderConfig&)) { return refused({.vocab_size = 11}, spoil); };
  CHECK(llama([](DecoderConfig& c) { c.n_kv_head = 3; }) ==
        "[decoder] `n_kv_head` must divide `n_head`, got 3 and 4.");
  CHECK(llama([](DecoderConfig& c) { c.n_kv_head = -1; }) ==
        "[decoder] `n_kv_head` must divide `n_head`, got -1 and 4.");
  CHECK(llama([](DecoderConfig& c) { c.n_kv_head = 8; }) ==
        "[decoder] `n_kv_head` must divide `n_head`, got 8 and 4.");
  CHECK(
      llama([](DecoderConfig& c) { c.n_embd = 12; }) ==
      "[decoder] `n_head` must divide `n_embd` into heads of an even size with `arch` llama, got 4 and 12.");
  CHECK(llama([](DecoderConfig& c) { c.n_inner = -1; }) ==
        "[decoder] `n_inner` must be in [0, 1000000], got -1.");
  CHECK(llama([](DecoderConfig& c) { c.rope_theta = 0; }) ==
        "[decoder] `rope_theta` must be a finite number above 0, got 0.");
  CHECK(llama([](DecoderConfig& c) { c.rope_theta = std::nan(""); }) ==
        "[decoder] `rope_theta` must be a finite number above 0, got nan.");
  CHECK(llama([](DecoderConfig& c) { c.bias = true; }) ==
        "[decoder] `bias` must be false with `arch` llama, whose layers have none, got true.");
  CHECK(gpt2([](DecoderConfig& c) { c.n_kv_head = 2; }) ==
        "[decoder] `n_kv_head` must be left out with `arch` gpt2, got 2.");
  CHECK(gpt2([](DecoderConfig& c) { c.n_inner = 20; }) ==
        "[decoder] `n_inner` must be left out with `arch` gpt2, got 20.");
  CHECK(gpt2([](DecoderConfig& c) { c.rope_theta = 5; }) ==
        "[decoder] `rope_theta` must be left out with `arch` gpt2, got 5.");
  CHECK(gpt2([](DecoderConfig& c) { c.qk_norm = true; }) ==
        "[decoder] `qk_norm` must be left out with `arch` gpt2, got true.");
  CHECK(gpt2([](DecoderConfig& c) { c.tie_word_embeddings = false; }) == "");
  CHECK_THROWS_WITH(architecture("bert"),
                    "[decoder] `arch` must be gpt2, llama, gemma or mingru, got 'bert'.");
}

}  // namespace gradus::models::test_llama
