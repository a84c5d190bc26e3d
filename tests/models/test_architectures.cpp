// What a decoder of any architecture must have, asked of small ones. PyTorch's numbers: test_golden.cpp; what
// differs from one to the other: test_gpt2.cpp, test_llama.cpp, ...
#include "autograd/compare.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/generate.hpp"
#include "gradus/models/key_value_state.hpp"
#include "gradus/models/pretrained.hpp"
#include "models/llama.hpp"
#include "models/with_state.hpp"
#include "nn/gradcheck_module.hpp"
#include "temporary_folder.hpp"

namespace gradus::models::test_architectures {

using namespace testing;

DecoderConfig with(DecoderConfig config, void (*change)(DecoderConfig&)) {
  change(config);
  return config;
}

/// At least one of each architecture.
std::vector<DecoderConfig> small_configs() {
  return {kSmallGpt2,
          with(kSmallGpt2,
               [](DecoderConfig& c) {
                 c.dropout = 0.1;
                 c.bias = false;
               }),
          kSmallLlama,
          small_qwen3(),
          kSmallGemma,
          kSmallMinGru,
          with(kSmallMinGru, [](DecoderConfig& c) {
            c.dropout = 0.3;
            c.tie_word_embeddings = false;
          })};
}

/// The same with so few numbers that each of their gradients can be checked.
DecoderConfig least(DecoderConfig config) {
  config.vocab_size = 5;
  config.block_size = config.arch == "gemma" ? 4 : 3;
  config.n_layer = 2;
  config.n_head = std::min<int64_t>(2, config.n_head);
  config.n_embd = 4;
  config.dropout = 0;
  if (config.arch != "gpt2") config.n_inner = 6;
  if (config.n_kv_head > 0) config.n_kv_head = 1;
  if (config.attention.window > 0) {
    config.norm_eps = 0.1;  // With a small one, differences of norms of two features are inexact.
    config.attention = {.window = 2, .window_pattern = 2};
  }
  return config;
}

TEST_CASE("no architecture is left out of these tests") {
  std::set<std::string> names;
  for (const DecoderConfig& config : small_configs()) names.insert(config.arch);
  for (const std::string& name : arch_names()) {
    CHECK(names.contains(name));
    CHECK(architecture(name).name == name);
  }
}

TEST_CASE("one backward reaches every parameter, and an untrained decoder guesses") {
  for (const DecoderConfig& config : small_configs()) {
    Generator g(4);
    const Decoder model(config, g);
    const Tensor idx = randint(0, 11, {4, 8}, g), targets = randint(0, 11, {4, 8}, g);
    CHECK(model(idx, &g).shape() == Shape{4, 8, 11});
    const Tensor loss = model.loss(idx, targets, &g);
    CHECK(loss.item() == Catch::Approx(std::log(11.0)).epsilon(0.05));
    loss.backward();
    nn::NamedShapes shapes;
    for (const auto& [name, p] : model.named_parameters()) {
      INFO(config.arch << " " << name);
      shapes.emplace_back(name, p.shape());
      REQUIRE(p.grad().defined());
      CHECK(p.grad().shape() == p.shape());
      CHECK(amax(abs(p.grad())).item() > 0.0);
    }
    CHECK(shapes == config.parameter_shapes());
  }
}

TEST_CASE("outputs of decoders pass check_module") {
  for (const DecoderConfig& config : small_configs()) {
    INFO(config.arch);
    Decoder model = wide_model(config, 11);
    CHECK(check_outputs(model).failed().empty());
    CHECK(model.training());
    const Tensor idx = tensor(std::vector<int64_t>{1, 5, 3, 10, 0, 7, 7, 2, 4, 4, 9, 6}, {2, 6});
    CHECK(nn::check_causal(
        [&](const Tensor& x) {
          Generator dropout(12);
          return model(x, &dropout);
        },
        idx));
  }
}

TEST_CASE("cached steps give the logits of the full forward to the last digits") {
  for (const DecoderConfig& config : small_configs()) {
    INFO(config.arch);
    Decoder model = wide_model(config, 13);
    model.to(DType::float64);
    Generator g(14);
    const Tensor idx = randint(0, 11, {3, 8}, g);
    const auto state = model.make_state(3);
    std::vector<Tensor> steps;  // in training mode, which a step does not have
    for (const auto& [from, to] : {std::pair{0, 3}, {3, 4}, {4, 8}})
      steps.push_back(model.decode(idx.slice(1, from, to), *state));
    model.eval();
    const Tensor full = model(idx).detach();
    for (size_t i = 0; i < 3; ++i)
      CHECK(difference(steps[i], full.select(1, std::array{2, 3, 7}[i]), 1e-12) == "");
    CHECK_FALSE(steps[0].requires_grad());
    if (const auto* cache = dynamic_cast<KeyValueState*>(state.get())) {
      CHECK(cache->layers[0].k.shape() == Shape{3, config.kv_heads(), 8, config.head_size()});
      CHECK_THROWS_WITH(model.decode(idx.slice(1, 0, 1), *state),
                        "[decoder] a sequence must have 1 to block_size = 8 tokens, got 9. Hint: cut it, or "
                        "train a model with a larger block_size.");
    }
    state->clear();
    CHECK(difference(model.decode(idx, *state), full.select(1, 7), 1e-12) == "");
  }
}

TEST_CASE("decoders come back from their files, and their weights may have 16, 8 or 4 bits") {
  for (const DecoderConfig& config : small_configs()) {
    const TemporaryFolder folder;
    const Decoder model = wide_model(config, 16);
    save_pretrained(model, folder.path());
    CHECK(check_pretrained(folder.path()) == model.config());
    Generator g(17);
    const Tensor idx = randint(0, 11, {1, 8}, g);
    const auto logits = [&](Decoder& of) {
      of.eval();
      return of(idx).detach();
    };
    Decoder loaded = load_pretrained(folder.path());
    const Tensor wanted = logits(loaded);
    Decoder same = wide_model(config, 16);
    CHECK(difference(logits(same), wanted, 0) == "");
    for (const auto& [dtype, most] :
         {std::pair(DType::bfloat16, 0.05), {DType::q8_0, 0.1}, {DType::q4_0, 1.0}}) {
      INFO(config.arch << " " << name(dtype));
      Decoder stored = load_pretrained(folder.path());
      stored.to(dtype);
      const double moved = amax(abs(logits(stored) - wanted)).item() / amax(abs(wanted)).item();
      CHECK(moved > 0.0);
      CHECK(moved < most);
      Generator draws(1);
      CHECK(generate(stored, {3, 1, 4}, {.max_new_tokens = 20}, draws).size() == 20);
    }
  }
}

TEST_CASE("gradients of whole decoders, orders 1 and 2") {
  const int order = GENERATE(1, 2);
  for (const DecoderConfig& config : {kSmallGpt2, kSmallLlama, small_qwen3(), kSmallGemma, kSmallMinGru}) {
    INFO(config.arch);
    Decoder model = wide_model(least(config), 18);
    Generator g(19);
    const int64_t length = model.config().block_size;
    const Tensor idx = randint(0, 5, {2, length}, g), targets = randint(0, 5, {2, length}, g);
    const auto loss = [&](const Decoder& m, const auto&) { return m.loss(idx, targets); };
    CHECK(gradcheck_module<Decoder>(model, {}, loss, order) == "");
  }
}

}  // namespace gradus::models::test_architectures
