// What a decoder of any architecture must have, asked of small ones. PyTorch's numbers: test_golden.cpp; what
// differs from one to the other: test_gpt2.cpp, test_positions.cpp, ...
#include "autograd/compare.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/generate.hpp"
#include "gradus/models/stored/pretrained.hpp"
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

TEST_CASE(
    "initial values are GPT-2's, smaller where they end in the stream, and the same for the same seed") {
  for (const Architecture* arch : architectures()) {
    DecoderConfig config{.vocab_size = 300, .block_size = 100, .n_layer = 8, .n_head = 2, .n_embd = 64};
    change_arch(config, arch->name);
    config.tie_word_embeddings = false;
    Generator a(5), b(5), c(6);
    const Decoder model(config, a);
    for (const auto& [name, p] : model.named_parameters()) {
      INFO(name);
      const bool in_stream = name.ends_with("c_proj.weight") || name.ends_with("o_proj.weight") ||
                             name.ends_with("down_proj.weight");
      const double expected = in_stream ? 0.02 / 4.0 : 0.02, centre = mean(p.detach()).item();
      if (p.dim() == 2) {
        CHECK(std::abs(std::sqrt(var(p.detach()).item()) / expected - 1.0) < 0.05);
        CHECK(std::abs(centre) < 0.1 * expected);
      } else {  // Gemma's norms multiply by 1 + weight.
        const double value = name.ends_with("bias") || arch->name == "gemma" ? 0.0 : 1.0;
        CHECK(difference(p.detach(), full(p.shape(), value), 0) == "");
      }
    }
    const auto last = [](const Decoder& of) { return of.parameters().back().detach(); };
    CHECK(difference(last(Decoder(config, b)), last(model), 0.0) == "");
    CHECK(difference(last(Decoder(config, c)), last(model)) != "");
  }
}

TEST_CASE("dropout draws in training mode and is off in evaluation") {
  for (DecoderConfig config : small_configs()) {
    INFO(config.arch);
    config.dropout = 0.3;
    Decoder model = wide_model(config, 6);
    Generator g(6), a(1), b(1), c(2);
    const Tensor idx = randint(0, 11, {2, 8}, g), first = model(idx, &a);
    CHECK(difference(model(idx, &b), first, 0.0) == "");
    CHECK(difference(model(idx, &c), first) != "");
    CHECK_ERROR(model(idx), "[dropout] needs a generator");
    model.eval();
    const Generator before = a;
    const Tensor calm = model(idx);
    CHECK(difference(model(idx, &a), calm, 0.0) == "");
    CHECK(a == before);
    CHECK(difference(calm, first) != "");
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
    CHECK(config.num_parameters() == model.num_parameters());
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

TEST_CASE("decoders come back from their files, and their weights may have 16, 8 or 4 bits", "[needs.fast]") {
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
  for (const DecoderConfig& config : {kSmallGpt2, kSmallLlama, small_qwen3(), kSmallGemma, kSmallMinGru}) {
    INFO(config.arch);
    Decoder model = wide_model(least(config), 18);
    Generator g(19);
    const int64_t length = model.config().block_size;
    const Tensor idx = randint(0, 5, {2, length}, g), targets = randint(0, 5, {2, length}, g);
    check_gradients(model, {}, [&](const Decoder& m, const auto&) { return m.loss(idx, targets); });
  }
}

}  // namespace gradus::models::test_architectures
