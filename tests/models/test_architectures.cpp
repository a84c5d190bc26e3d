// What a decoder of any architecture must have, asked of small ones. PyTorch's numbers: test_golden.cpp; what
// differs from one to the other: test_gpt2.cpp, test_positions.cpp, ...
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

TEST_CASE("parameters have the names of Hugging Face's files") {
  using Names = std::vector<std::string>;
  const auto with_blocks = [](Names names, const std::string& block, const Names& parts, const Names& last) {
    for (const std::string& part : parts) names.push_back(block + part + ".weight");
    names.insert(names.end(), last.begin(), last.end());
    return names;
  };
  const std::string layer = "model.layers.0.";
  const Names first{"model.embed_tokens.weight"}, last{"model.norm.weight"};
  const Names expected[] = {
      {"wte.weight", "wpe.weight", "h.0.ln_1.weight", "h.0.ln_1.bias", "h.0.attn.c_attn.weight",
       "h.0.attn.c_attn.bias", "h.0.attn.c_proj.weight", "h.0.attn.c_proj.bias", "h.0.ln_2.weight",
       "h.0.ln_2.bias", "h.0.mlp.c_fc.weight", "h.0.mlp.c_fc.bias", "h.0.mlp.c_proj.weight",
       "h.0.mlp.c_proj.bias", "ln_f.weight", "ln_f.bias"},
      with_blocks(first, layer,
                  {"input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                   "self_attn.o_proj", "self_attn.q_norm", "self_attn.k_norm", "post_attention_layernorm",
                   "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"},
                  {"model.norm.weight", "lm_head.weight"}),
      with_blocks(
          first, layer,
          {"input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
           "self_attn.q_norm", "self_attn.k_norm", "post_attention_layernorm", "pre_feedforward_layernorm",
           "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj", "post_feedforward_layernorm"},
          last),
      {"model.embed_tokens.weight", layer + "input_layernorm.weight", layer + "min_gru.linear_z.weight",
       layer + "min_gru.linear_z.bias", layer + "min_gru.linear_h.weight", layer + "min_gru.linear_h.bias",
       layer + "post_layernorm.weight", layer + "mlp.gate_proj.weight", layer + "mlp.up_proj.weight",
       layer + "mlp.down_proj.weight", "model.norm.weight"}};
  const DecoderConfig configs[] = {kSmallGpt2, small_qwen3(), kSmallGemma, kSmallMinGru};
  for (size_t i = 0; i < std::size(configs); ++i) {
    Names names;
    for (const auto& [name, shape] :
         with(configs[i], [](DecoderConfig& c) { c.n_layer = 1; }).parameter_shapes())
      names.push_back(name);
    CHECK(names == expected[i]);
  }
  for (const auto& [name, shape] :
       with(kSmallGpt2, [](DecoderConfig& c) { c.bias = false; }).parameter_shapes())
    CHECK_FALSE(name.ends_with("bias"));
}

/// Of a decoder with L layers of width C, F inside the MLP, heads of size hs, V tokens and T positions.
int64_t parameters_by_formula(const DecoderConfig& c) {
  const int64_t C = c.n_embd, L = c.n_layer, F = c.inner(), hs = c.head_size(),
                tables = (c.tie_word_embeddings ? 1 : 2) * c.vocab_size * C;
  if (c.arch == "gpt2") {  // blocks of 3 + 1 + 4 + 4 squares, with biases of 9 widths, and norms
    const int64_t norm = c.bias ? 2 * C : C;
    return tables + c.block_size * C + L * (12 * C * C + (c.bias ? 9 * C : 0) + 2 * norm) + norm;
  }
  if (c.arch == "mingru") return tables + L * (2 * (C * C + C) + 3 * C * F + 2 * C) + C;
  const int64_t attention = 2 * C * hs * c.n_head + 2 * C * hs * c.kv_heads();
  const bool is_gemma = c.arch == "gemma";
  return tables +
         L * (attention + 3 * C * F + (is_gemma ? 4 : 2) * C + (is_gemma || c.qk_norm ? 2 * hs : 0)) + C;
}

TEST_CASE("parameters are as many as the closed formula says") {
  std::vector<DecoderConfig> configs = small_configs();
  for (const bool bias : {true, false})
    for (const auto& [layers, heads, width] : {std::tuple{1, 1, 4}, {2, 2, 8}, {3, 4, 12}})
      configs.push_back({.vocab_size = 13,
                         .block_size = 9,
                         .n_layer = layers,
                         .n_head = heads,
                         .n_embd = width,
                         .bias = bias});
  for (DecoderConfig& config : configs)
    for (const bool tied : {true, false}) {
      config.tie_word_embeddings = tied;
      CHECK(config.num_parameters() == parameters_by_formula(config));
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
