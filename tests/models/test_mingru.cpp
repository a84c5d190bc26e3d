// The decoder without attention: what is its alone. See test_architectures.cpp.
#include "autograd/compare.hpp"
#include "gradus/models/generate.hpp"
#include "models/llama.hpp"

namespace gradus::models::test_mingru {

using namespace testing;

constexpr const DecoderConfig& kSmall = kSmallMinGru;

DecoderConfig with(void (*change)(DecoderConfig&)) {
  DecoderConfig config = kSmall;
  change(config);
  return config;
}

TEST_CASE("parameters of mingru are as many as the closed formula says") {
  for (const bool tied : {true, false}) {
    DecoderConfig config = kSmall;
    config.tie_word_embeddings = tied;
    const int64_t C = 16, F = 24, block = 2 * (C * C + C) + 3 * C * F + 2 * C;
    CHECK(config.num_parameters() == (tied ? 1 : 2) * 11 * C + 2 * block + C);
  }
  std::vector<std::string> names;
  for (const auto& [name, shape] : with([](DecoderConfig& c) { c.n_layer = 1; }).parameter_shapes())
    names.push_back(name);
  CHECK(names == std::vector<std::string>{
                     "model.embed_tokens.weight", "model.layers.0.input_layernorm.weight",
                     "model.layers.0.min_gru.linear_z.weight", "model.layers.0.min_gru.linear_z.bias",
                     "model.layers.0.min_gru.linear_h.weight", "model.layers.0.min_gru.linear_h.bias",
                     "model.layers.0.post_layernorm.weight", "model.layers.0.mlp.gate_proj.weight",
                     "model.layers.0.mlp.up_proj.weight", "model.layers.0.mlp.down_proj.weight",
                     "model.norm.weight"});
}

TEST_CASE("decoding mingru token by token gives the full forward, far beyond the block") {
  Decoder model = wide_model(kSmall, 13);
  model.to(DType::float64);
  Generator g(14);
  const Tensor idx = randint(0, 11, {2, 50}, g), full = model(idx).detach();
  const auto single = model.make_state(2), pieces = model.make_state(2);
  for (int64_t t = 0; t < 50; ++t)
    CHECK(difference(model.decode(idx.slice(1, t, t + 1), *single), full.select(1, t), 1e-12) == "");
  CHECK(single->length == 50);
  (void)model.decode(idx.slice(1, 0, 21), *pieces);  // read in parts of a block
  CHECK(difference(model.decode(idx.slice(1, 21, 50), *pieces), full.select(1, 49), 1e-12) == "");
  pieces->truncate(50);
  CHECK(pieces->length == 50);
  CHECK_THROWS_WITH(pieces->truncate(3),
                    "[decoder] a recurrent state must be cut at 0 or not at all, got 3.");
  pieces->clear();
  CHECK(difference(model.decode(idx, *pieces), full.select(1, 49), 1e-12) == "");
}

TEST_CASE("mingru remembers what lies further back than a block") {
  const Decoder model = wide_model(kSmall, 15);
  std::vector<int64_t> text(20, 3), other = text;
  other[2] = 7;
  NextToken a(model), b(model), drafting(model, 7);
  const Tensor logits = a.logits(text);
  CHECK(difference(b.logits(other), logits) != "");
  CHECK(difference(drafting.logits(text), logits, 0) == "");  // Nothing is drafted.
  CHECK_FALSE(model.can_draft());
}

TEST_CASE("fields that mingru cannot have are named") {
  const auto refusal = [](void (*spoil)(DecoderConfig&)) {
    return error_of([&] { with(spoil).validate(); });
  };
  CHECK(refusal([](DecoderConfig& c) { c.n_head = 4; }) ==
        "[decoder] `n_head` must be 1 with `arch` mingru, got 4.");
  CHECK(refusal([](DecoderConfig& c) { c.n_kv_head = 1; }) ==
        "[decoder] `n_kv_head` must be 0 with `arch` mingru, got 1.");
  CHECK(refusal([](DecoderConfig& c) { c.rope_theta = 5; }) ==
        "[decoder] `rope_theta` must be 10000 with `arch` mingru, got 5.");
  CHECK(refusal([](DecoderConfig& c) { c.qk_norm = true; }) ==
        "[decoder] `qk_norm` must be false with `arch` mingru, which has no queries, got true.");
  CHECK(refusal([](DecoderConfig& c) { c.bias = true; }) ==
        "[decoder] `bias` must be false with `arch` mingru, which always has its biases, got true.");
}

TEST_CASE("memory of mingru does not grow with the text that it writes") {
  DecoderConfig longer = kSmall;
  longer.block_size *= 2;
  const auto state = [](const DecoderConfig& config) {
    return generation_memory(config, config.block_size, config.block_size).activations -
           4.0 * static_cast<double>(config.block_size) * (8 * 16 + 3 * 24);
  };
  CHECK(state(longer) == state(kSmall));
  CHECK(state(kSmall) == 4 * (2 * 16 + 11));
}

}  // namespace gradus::models::test_mingru
