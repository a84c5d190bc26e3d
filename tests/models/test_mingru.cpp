// The decoder without attention: what test_llama.cpp asks of Llama's.
#include "autograd/compare.hpp"
#include "gradus/models/generate.hpp"
#include "gradus/models/pretrained.hpp"
#include "models/llama.hpp"
#include "models/with_state.hpp"
#include "nn/gradcheck_module.hpp"
#include "temporary_folder.hpp"

namespace gradus::models::test_mingru {

using namespace testing;

const DecoderConfig kSmall{.arch = "mingru",
                           .vocab_size = 11,
                           .block_size = 8,
                           .n_layer = 2,
                           .n_head = 1,
                           .n_embd = 16,
                           .bias = false,
                           .n_inner = 24};

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

TEST_CASE("mingru has the properties that nn/checks.hpp asks for") {
  Decoder model = wide_model(kSmall, 11);
  testing::check_properties(model);
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

TEST_CASE("one backward reaches every parameter of mingru, and an untrained one guesses") {
  Generator g(4);
  const Decoder model(with([](DecoderConfig& c) {
                        c.dropout = 0.3;
                        c.tie_word_embeddings = false;
                      }),
                      g);
  const Tensor loss = model.loss(randint(0, 11, {4, 8}, g), randint(0, 11, {4, 8}, g), &g);
  CHECK(loss.item() == Catch::Approx(std::log(11.0)).epsilon(0.05));
  loss.backward();
  for (const auto& [name, p] : model.named_parameters()) {
    INFO(name);
    REQUIRE(p.grad().defined());
    CHECK(amax(abs(p.grad())).item() > 0.0);
  }
}

TEST_CASE("gradients of the whole of mingru, orders 1 and 2") {
  const int order = GENERATE(1, 2);
  Decoder model = wide_model(with([](DecoderConfig& c) {
                               c.vocab_size = 5;
                               c.n_embd = 4;
                               c.n_inner = 6;
                             }),
                             18);
  Generator g(19);
  const Tensor idx = randint(0, 5, {2, 3}, g), targets = randint(0, 5, {2, 3}, g);
  CHECK(testing::gradcheck_module<Decoder>(
            model, {}, [&](const Decoder& m, const auto&) { return m.loss(idx, targets); }, order) == "");
}

TEST_CASE("mingru comes back from its files, and its weights may have 16, 8 or 4 bits") {
  const testing::TemporaryFolder folder;
  const Decoder model = wide_model(with([](DecoderConfig& c) { c.tie_word_embeddings = false; }), 20);
  save_pretrained(model, folder.path());
  CHECK(check_pretrained(folder.path()) == model.config());
  Generator g(21);
  const Tensor idx = randint(0, 11, {1, 8}, g), wanted = model(idx).detach();
  CHECK(difference(load_pretrained(folder.path())(idx), wanted, 0) == "");
  for (const auto& [dtype, most] :
       {std::pair(DType::bfloat16, 0.05), {DType::q8_0, 0.1}, {DType::q4_0, 1.0}}) {
    INFO(name(dtype));
    Decoder stored = load_pretrained(folder.path());
    stored.to(dtype);
    const double moved = amax(abs(stored(idx).detach() - wanted)).item() / amax(abs(wanted)).item();
    CHECK(moved > 0.0);
    CHECK(moved < most);
    Generator draws(1);
    CHECK(generate(stored, {3, 1, 4}, {.max_new_tokens = 20}, draws).size() == 20);
  }
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
    return generation_memory(config).activations -
           4.0 * static_cast<double>(config.block_size) * (8 * 16 + 3 * 24);
  };
  CHECK(state(longer) == state(kSmall));
  CHECK(state(kSmall) == 4 * (2 * 16 + 11));
}

}  // namespace gradus::models::test_mingru
