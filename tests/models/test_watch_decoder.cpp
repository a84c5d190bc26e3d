#include "autograd/compare.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/nn/watch.hpp"
#include "models/llama.hpp"

namespace gradus::test_watch_decoder {

using namespace testing;

models::Decoder small(std::string_view arch, bool tied = true) {
  models::DecoderConfig config{.vocab_size = 11, .block_size = 8, .n_layer = 2, .n_head = 2, .n_embd = 16};
  if (arch == "mingru") config.n_head = 1;
  models::change_arch(config, arch);
  config.tie_word_embeddings = tied;
  models::Decoder model = wide_model(config, 7);  // No term of a sum is 0.
  model.to(DType::float64);
  return model;
}

Tensor some_tokens() { return tensor(std::vector<int64_t>{1, 5, 3, 3, 0, 10, 7, 2, 4, 9}, {2, 5}); }

TEST_CASE("the residual stream of every architecture adds up") {
  for (const models::Architecture* arch : models::architectures()) {
    INFO(arch->name);
    models::Decoder model = small(arch->name);
    const Tensor idx = some_tokens(), plain = model(idx);
    const auto own = [&](std::string_view name) { return models::own_name(*arch, name); };
    const nn::Activations seen = nn::watch(model, {"*"});
    const Tensor logits = model(idx);
    CHECK(difference(logits, plain.detach(), 1e-12) == "");
    CHECK(difference(seen["out"], logits.detach(), 0.0) == "");
    CHECK(difference(seen[own("h.0.resid_pre")], seen["drop"].detach(), 0.0) == "");
    CHECK(difference(seen[own("h.1.resid_pre")], seen[own("h.0")].detach(), 0.0) == "");
    const std::string last = arch->has_outer_norms ? "post_feedforward_layernorm" : "mlp";
    CHECK(difference(seen[own("h.1")], (seen[own("h.1.resid_mid")] + seen[own("h.1." + last)]).detach(),
                     0.0) == "");
    CHECK(difference(model.logits(seen[own("h.1")]), logits.detach(), 0.0) == "");
  }
}

TEST_CASE("the shares of the terms of the residual stream add up to the logits") {
  for (const models::Architecture* arch : models::architectures())
    for (const bool tied : {true, false}) {
      INFO(arch->name << " " << tied);
      models::Decoder model = small(arch->name, tied);
      const auto own = [&](std::string_view name) { return models::own_name(*arch, name); };
      const nn::Activations seen = nn::watch(model, {"*"});
      const Tensor idx = some_tokens(), logits = model(idx), tokens = idx;
      const Tensor features = seen[own("h.1")];
      Tensor total = model.logit_share(seen["drop"], features, tokens);
      for (const char* block : {"h.0", "h.1"}) {
        const Tensor mid = seen[own(concat(block, ".resid_mid"))];
        total = total + model.logit_share(mid - seen[own(concat(block, ".resid_pre"))], features, tokens) +
                model.logit_share(seen[own(block)] - mid, features, tokens);
      }
      Tensor expected = gather(logits, 2, tokens.unsqueeze(2)).squeeze(2);
      if (const auto state = model.state_dict(); state.contains("ln_f.bias")) {
        const Tensor head = state.at(tied ? "wte.weight" : "lm_head.weight");
        expected = expected - sum(embedding(head, tokens) * state.at("ln_f.bias"), {-1});
      }
      CHECK(difference(total, expected.detach(), 1e-10) == "");
    }
}

TEST_CASE("a name of GPT-2's is translated for each architecture") {
  const auto& llama = models::architecture("llama");
  CHECK(models::own_name(llama, "h.*.attn.pattern") == "model.layers.*.self_attn.pattern");
  CHECK(models::own_name(llama, "h.3.attn.c_proj.weight") == "model.layers.3.self_attn.o_proj.weight");
  CHECK(models::own_name(llama, "model.layers.3.mlp.out") == "model.layers.3.mlp.out");
  CHECK(models::own_name(llama, "*.head.?") == "*.head.?");
  CHECK(models::own_name(models::architecture("gpt2"), "h.3.ln_1") == "h.3.ln_1");
  CHECK(models::own_name(models::architecture("mingru"), "h.3.attn") == "model.layers.3.min_gru");
}

TEST_CASE("ablated and patched decoders are those whose weights were edited by hand") {
  for (const models::Architecture* arch : models::architectures()) {
    INFO(arch->name);
    models::Decoder model = small(arch->name);
    const Tensor x = some_tokens().slice(1, 0, 4), y = some_tokens().slice(1, 1, 5);
    const auto own = [&](std::string_view name) { return models::own_name(*arch, name); };
    const auto without = [&](const std::string& matrix, int64_t begin, int64_t end) {
      Generator g(0);
      models::Decoder edited(model.config(), g);
      edited.to(DType::float64);
      edited.load_state_dict(model.state_dict());
      for (auto& [name, parameter] : edited.named_parameters())
        if (name == matrix) parameter.detach().slice(1, begin, end).fill_(0.0);
      return edited.loss(x, y).item();
    };
    {  // The MLPs have a bias in GPT-2, which is ablated too.
      const auto off = nn::Intervention::ablate(model, {own("h.1.mlp.act")});
      const std::string last =
          arch->name == "gpt2" ? "h.1.mlp.c_proj.weight" : own("h.1.mlp.down_proj.weight");
      CHECK(std::abs(model.loss(x, y).item() - without(last, 0, 1000)) < 1e-12);
    }
    if (arch->name == "mingru") continue;
    const double intact = model.loss(x, y).item();
    const auto off = nn::Intervention::ablate(model, {own("h.0.attn.head.1")});
    const double ablated = model.loss(x, y).item();
    CHECK(std::abs(ablated - without(own("h.0.attn.c_proj.weight"), 8, 16)) < 1e-12);
    CHECK(std::abs(ablated - intact) > 1e-6);

    // Decoding is ablated too.
    auto state = model.make_state(2);
    CHECK(difference(model.decode_all(x, *state), model(x).detach(), 1e-12) == "");
  }
}

}  // namespace gradus::test_watch_decoder
