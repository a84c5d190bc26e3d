#include "gradus/models/decoder_config.hpp"

#include "autograd/compare.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/decoder.hpp"
#include "models/llama.hpp"

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

TEST_CASE("published sizes come out") {
  DecoderConfig gpt2 = preset("gpt2");
  gpt2.vocab_size = 50257;
  CHECK(gpt2.num_parameters() == 124'439'808);
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

TEST_CASE("each field that is wrong is named with what must hold and what came") {
  struct Case {
    const DecoderConfig& good;
    const char* message;  // after [decoder]
    void (*spoil)(DecoderConfig&);
  };
  using C = DecoderConfig;
  const C gpt2{.vocab_size = 65};
  const C &llama = kSmallLlama, &gemma = kSmallGemma, &mingru = kSmallMinGru;
  const Case cases[] = {
      {gpt2, "`vocab_size` must be in [1, 1000000000], got -1.", [](C& c) { c.vocab_size = -1; }},
      {gpt2, "`block_size` must be in [1, 1000000000], got 0.", [](C& c) { c.block_size = 0; }},
      {gpt2, "`n_layer` must be in [1, 1000], got 1001.", [](C& c) { c.n_layer = 1001; }},
      {gpt2, "`n_head` must divide `n_embd`, got 3 and 128.", [](C& c) { c.n_head = 3; }},
      {gpt2, "`dropout` must be in [0, 1), got 1.", [](C& c) { c.dropout = 1.0; }},
      {gpt2, "`norm_eps` must be in (0, 1), got 0.", [](C& c) { c.norm_eps = 0.0; }},
      {gpt2, "`n_kv_head` must be left out with `arch` gpt2, got 2.", [](C& c) { c.n_kv_head = 2; }},
      {gpt2, "`rope_theta` must be left out with `arch` gpt2, got 5.", [](C& c) { c.rope_theta = 5; }},
      {gpt2, "`arch` must be gpt2, llama, gemma or mingru, got 'bert'.", [](C& c) { c.arch = "bert"; }},
      {llama, "`n_kv_head` must divide `n_head`, got 3 and 4.", [](C& c) { c.n_kv_head = 3; }},
      {llama, "`n_kv_head` must divide `n_head`, got 8 and 4.", [](C& c) { c.n_kv_head = 8; }},
      {llama, "`n_head` must divide `n_embd` into heads of an even size with `arch` llama, got 4 and 12.",
       [](C& c) { c.n_embd = 12; }},
      {llama, "`n_inner` must be in [0, 1000000], got -1.", [](C& c) { c.n_inner = -1; }},
      {llama, "`rope_theta` must be a finite number above 0, got 0.", [](C& c) { c.rope_theta = 0; }},
      {llama, "`rope_theta` must be a finite number above 0, got nan.",
       [](C& c) { c.rope_theta = std::nan(""); }},
      {llama, "`bias` must be false with `arch` llama, whose layers have none, got true.",
       [](C& c) { c.bias = true; }},
      {llama, "window_pattern must be 0 with `arch` llama, got 2.",
       [](C& c) { c.attention.window_pattern = 2; }},
      {gemma, "window and window_pattern must be 0, or at least 1 and 2, got 0 and 2.",
       [](C& c) { c.attention.window = 0; }},
      {gemma,
       "`qk_norm` and biases must be false with `arch` gemma, which always has these norms and never biases, "
       "got true.",
       [](C& c) { c.qk_norm = true; }},
      {mingru, "`n_head` must be 1 with `arch` mingru, got 4.", [](C& c) { c.n_head = 4; }},
      {mingru, "`qk_norm` must be false with `arch` mingru, which has no queries, got true.",
       [](C& c) { c.qk_norm = true; }},
      {mingru, "`bias` must be false with `arch` mingru, which always has its biases, got true.",
       [](C& c) { c.bias = true; }},
  };
  for (const Case& c : cases) {
    C config = c.good;
    c.spoil(config);
    CHECK_THROWS_WITH(config.validate(), concat("[decoder] ", c.message));
    Generator g(1);
    CHECK_THROWS_WITH(Decoder(config, g), concat("[decoder] ", c.message));
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
  // What gelu makes, 16 numbers a layer, is kept in 2 bytes each; gradients 16, 12 and 4 wide in two forms.
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
  config.n_member = 3;  // which have states and logits of their own
  CHECK(generation_memory(config, 5, 5).activations == 4 * (5 * (2 * 4 + 3 * 8) + 3 * (5 * 2 * 2 * 3 + 7)));
}

TEST_CASE("memory of a gemma has the inputs of all its norms, and gelu(gate)") {
  DecoderConfig config = kSmallGemma;  // C = 16, 24 features of queries, 12 of keys, 24 inside the MLP
  // For each of 48 tokens: in each layer 6 vectors, q and the heads' output, k and v, the inputs of the norms
  // of q and k, 4 inside the MLP and a number a head; 3 vectors around the layers, logits, their gradient.
  const double saved = 3 * (6 * 16 + 2 * 24 + 2 * 12 + (24 + 12) + 4 * 24 + 4) + 3 * 16 + 2 * 11 + 4 * 24;
  CHECK(training_memory(config, 6).activations == 4 * 48 * saved);
}

TEST_CASE("memory of mingru does not grow with the text that it writes") {
  DecoderConfig longer = kSmallMinGru;
  longer.block_size *= 2;
  const auto state = [](const DecoderConfig& config) {
    return generation_memory(config, config.block_size, config.block_size).activations -
           4.0 * static_cast<double>(config.block_size) * (8 * 16 + 3 * 24);
  };
  CHECK(state(longer) == state(kSmallMinGru));
  CHECK(state(kSmallMinGru) == 4 * (2 * 16 + 11));
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
                             .n_layer = 1'000,
                             .n_head = 1,
                             .n_embd = 1'000'000};
  absurd.validate();
  CHECK(training_memory(absurd, 1'000'000'000).total() > 1e20);
  CHECK(absurd.num_parameters() > 0);
}

}  // namespace gradus::models::test_decoder_config
