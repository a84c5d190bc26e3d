#include "gradus/models/decoder_config.hpp"

#include "autograd/compare.hpp"
#include "gradus/models/decoder.hpp"

namespace gradus::models::test_decoder_config {

using namespace testing;

TEST_CASE("presets have the shapes of their names and are valid once they have a vocabulary") {
  CHECK(preset_names() ==
        std::vector<std::string>{"tiny", "gru", "nano", "mini", "gemma", "midi", "maxi", "small", "gpt2"});
  for (const std::string& name : preset_names()) {
    DecoderConfig config = preset(name);
    CHECK(config.vocab_size == 0);
    CHECK_THROWS_WITH(config.validate(),
                      "[decoder] `vocab_size` must be set, got 0. Hint: take the tokenizer's size.");
    config.vocab_size = 65;
    CHECK_NOTHROW(config.validate());
  }
  CHECK(preset("nano") == DecoderConfig{.block_size = 64, .n_layer = 4, .n_head = 4, .n_embd = 128});
  CHECK_THROWS_WITH(
      preset("huge"),
      "[preset] name must be one of tiny, gru, nano, mini, gemma, midi, maxi, small, gpt2, got huge.");
}

TEST_CASE("GPT-2's smallest has the published number of parameters") {
  DecoderConfig config = preset("gpt2");
  config.vocab_size = 50257;
  CHECK(config.num_parameters() == 124'439'808);
}

TEST_CASE("parameters are as many as the closed formula says") {
  const bool bias = GENERATE(true, false), tied = GENERATE(true, false);
  for (const auto& [layers, heads, width] : {std::tuple{1, 1, 4}, {2, 2, 8}, {3, 4, 12}}) {
    const DecoderConfig config{.vocab_size = 13,
                               .block_size = 9,
                               .n_layer = layers,
                               .n_head = heads,
                               .n_embd = width,
                               .bias = bias,
                               .tie_word_embeddings = tied};
    // Tables, then blocks of 3 + 1 + 4 + 4 squares, with biases of 9 widths, and norms.
    const int64_t C = width, norm = bias ? 2 * C : C;
    const int64_t block = 12 * C * C + (bias ? 9 * C : 0) + 2 * norm;
    CHECK(config.num_parameters() == (tied ? 1 : 2) * 13 * C + 9 * C + layers * block + norm);
  }
}

TEST_CASE("each field that is wrong is named with what must hold and what came") {
  const DecoderConfig good{.vocab_size = 65};
  struct Case {
    const char* message;
    void (*spoil)(DecoderConfig&);
  };
  const Case cases[] = {
      {"[decoder] `vocab_size` must be in [1, 1000000000], got -1.",
       [](DecoderConfig& c) { c.vocab_size = -1; }},
      {"[decoder] `block_size` must be in [1, 1000000000], got 0.",
       [](DecoderConfig& c) { c.block_size = 0; }},
      {"[decoder] `n_layer` must be in [1, 10000], got 10001.", [](DecoderConfig& c) { c.n_layer = 10001; }},
      {"[decoder] `n_embd` must be in [1, 1000000], got 0.", [](DecoderConfig& c) { c.n_embd = 0; }},
      {"[decoder] `n_head` must be in [1, 1000000], got -4.", [](DecoderConfig& c) { c.n_head = -4; }},
      {"[decoder] `n_head` must divide `n_embd`, got 3 and 128.", [](DecoderConfig& c) { c.n_head = 3; }},
      {"[decoder] `dropout` must be in [0, 1), got 1.", [](DecoderConfig& c) { c.dropout = 1.0; }},
      {"[decoder] `dropout` must be in [0, 1), got nan.", [](DecoderConfig& c) { c.dropout = std::nan(""); }},
      {"[decoder] `norm_eps` must be in (0, 1), got 0.", [](DecoderConfig& c) { c.norm_eps = 0.0; }},
      {"[decoder] `norm_eps` must be in (0, 1), got nan.",
       [](DecoderConfig& c) { c.norm_eps = std::nan(""); }},
  };
  for (const Case& c : cases) {
    DecoderConfig config = good;
    c.spoil(config);
    CHECK_THROWS_WITH(config.validate(), c.message);
    Generator g(1);
    CHECK_THROWS_WITH(Decoder(config, g), c.message);
  }
}

TEST_CASE("the base of rotary positions is any above 0") {
  DecoderConfig config{.vocab_size = 7, .block_size = 5, .n_layer = 1, .n_head = 2, .n_embd = 4};
  config.arch = "llama";
  config.bias = false;
  for (const double base : {0.25, 1e-30, 1e6}) {
    config.rope_theta = base;
    CHECK_NOTHROW(config.validate());
  }
  for (const double base : {0.0, -1.0, std::nan("")}) {
    config.rope_theta = base;
    CHECK_THROWS(config.validate());
  }
}

TEST_CASE("memory is what a step and a prompt keep, counted by hand") {
  DecoderConfig config{.vocab_size = 7, .block_size = 5, .n_layer = 3, .n_head = 2, .n_embd = 4};
  const double parameters = 7 * 4 + 5 * 4 + 3 * (8 + 48 + 12 + 16 + 4 + 8 + 64 + 16 + 64 + 4) + 8;
  const MemoryEstimate train = training_memory(config, 6), sample = generation_memory(config, 5, 5);
  CHECK(train.parameters == 4 * parameters);
  CHECK(train.gradients == 4 * parameters);
  CHECK(train.optimizer == 8 * parameters);
  // For each of 30 tokens: in each layer 16 vectors and a number a head; 3 vectors around the layers, the
  // logits and their gradient, and 8 vectors on their way.
  CHECK(train.activations == 4 * 30 * (3 * (16 * 4 + 2) + 3 * 4 + 2 * 7 + 8 * 4));
  CHECK(train.packed == 0);
  const MemoryEstimate rounded = training_memory(config, 6, DType::bfloat16);
  // What gelu makes, 16 numbers in each layer, is kept in 2 bytes each; gradients 16, 12 and 4 wide are
  // packed in two forms.
  CHECK(rounded.activations == train.activations - 2 * 30 * 3 * 16 + 2 * 2 * 30 * (16 + 12 + 4));
  CHECK(rounded.total() == train.total() + 4 * parameters - 2 * 30 * 3 * 16 + 2 * 2 * 30 * (16 + 12 + 4));
  CHECK(sample.parameters == 4 * parameters);
  // For each of 5 tokens keys and values of each layer, and 10 vectors on their way; the logits of one.
  CHECK(sample.activations == 4 * (5 * (2 * 4 * 3 + 10 * 4) + 7));
  CHECK(sample.gradients + sample.optimizer == 0);
}

TEST_CASE("memory of a llama has gate, up and their product, and what norms of q and k were given") {
  DecoderConfig config{.vocab_size = 7, .block_size = 5, .n_layer = 3, .n_head = 2, .n_embd = 4};
  config.arch = "llama";
  config.bias = false;
  config.n_kv_head = 1;
  config.n_inner = 8;
  // For each of 30 tokens: in each layer 6 vectors, k and v of half a width, 3 inside the MLP and a number a
  // head; then as in GPT-2.
  const double without = 3 * (6 * 4 + 2 * 2 + 3 * 8 + 2) + 3 * 4 + 2 * 7 + 3 * 8;
  CHECK(training_memory(config, 6).activations == 4 * 30 * without);
  config.qk_norm = true;
  CHECK(training_memory(config, 6).activations == 4 * 30 * (without + 3 * (4 + 2)));
  // For each of 5 tokens keys and values of each layer, and 2 vectors and the MLP's on their way.
  CHECK(generation_memory(config, 5, 5).activations == 4 * (5 * (2 * 2 * 3 + 2 * 4 + 3 * 8) + 7));
}

TEST_CASE("memory grows with batch and size and does not overflow") {
  DecoderConfig config = preset("gpt2");
  config.vocab_size = 50257;
  const MemoryEstimate one = training_memory(config, 1), two = training_memory(config, 2);
  CHECK(one.parameters == 4.0 * 124'439'808);
  CHECK(one.gradients == one.parameters);
  CHECK(one.optimizer == 2 * one.parameters);
  CHECK(two.activations == 2 * one.activations);
  CHECK(one.total() == 4 * one.parameters + one.activations + one.program);
  CHECK(generation_memory(config, config.block_size, config.block_size).total() < one.total());

  const DecoderConfig absurd{.vocab_size = 1'000'000'000,
                             .block_size = 1'000'000'000,
                             .n_layer = 10'000,
                             .n_head = 1,
                             .n_embd = 1'000'000};
  absurd.validate();
  CHECK(training_memory(absurd, 1'000'000'000).total() > 1e20);
  CHECK(absurd.num_parameters() > 0);
}

TEST_CASE("names and shapes are known before there is a model") {
  for (const DecoderConfig& config :
       {DecoderConfig{.vocab_size = 11, .block_size = 5, .n_layer = 2, .n_head = 3, .n_embd = 6},
        DecoderConfig{.vocab_size = 3, .n_layer = 11, .n_head = 1, .n_embd = 4, .bias = false},
        DecoderConfig{
            .vocab_size = 5, .n_layer = 1, .n_head = 1, .n_embd = 4, .tie_word_embeddings = false}}) {
    Generator generator(0);
    nn::NamedShapes shapes;
    for (const auto& [name, values] : Decoder(config, generator).named_parameters())
      shapes.emplace_back(name, values.shape());
    CHECK(config.parameter_shapes() == shapes);
  }
}

}  // namespace gradus::models::test_decoder_config
