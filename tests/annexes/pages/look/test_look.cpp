// The measures of heads, against loops over the attention that the model itself computes.
#include "gradus/annexes/pages/look/look.hpp"

#include "catch.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/nn/watch.hpp"

namespace gradus::test_look {

using look::Head;

/// A decoder whose attention is far from uniform.
models::Decoder sharp_decoder(const std::string& arch, int64_t block) {
  Generator g(7);
  models::DecoderConfig config{
      .vocab_size = 11, .block_size = block, .n_layer = 2, .n_head = 2, .n_embd = 16};
  models::change_arch(config, arch);
  models::Decoder model(config, g);
  const NoGrad no_grad;
  for (auto& [name, parameter] : model.named_parameters()) {
    Tensor values = parameter.detach();
    if (values.dim() == 2) values.copy_(values * 15.0);
  }
  model.eval();
  return model;
}

Tensor attention(models::Decoder& model, const std::string& point, const std::vector<int64_t>& tokens) {
  const NoGrad no_grad;
  const nn::Activations seen = nn::watch(model, {point});
  model(tensor(tokens, {1, std::ssize(tokens)}));
  return seen[point].select(0, 0);  // (nh, T, T)
}

TEST_CASE("the measures of a head are means over its attention") {
  models::Decoder model = sharp_decoder("gpt2", 12);
  const std::vector<int64_t> tokens = {3, 1, 4, 1, 5, 9, 2, 6};
  const std::vector<Head> heads = look::heads_of(model, tokens);
  REQUIRE(heads.size() == 4);
  const int64_t T = 8, L = 6;
  const std::vector<int64_t> repeated = look::repeated_tokens(model.config());
  REQUIRE(repeated.size() == 12);
  for (size_t t = 0; t < L; ++t) CHECK(repeated[t] == repeated[t + L]);

  for (const Head& head : heads) {
    CHECK(head.name == concat("h.", head.layer, ".attn.head.", head.head));
    const std::string point = concat("h.", head.layer, ".attn.pattern");
    const Tensor a = attention(model, point, tokens).select(0, head.head);
    const Tensor b = attention(model, point, repeated).select(0, head.head);
    double distance = 0, entropy = 0, previous = 0, first = 0, induction = 0;
    for (int64_t t = 0; t < T; ++t)
      for (int64_t s = 0; s < T; ++s) {
        const double weight = a.at({t, s});
        CHECK(std::abs(head.attention.at({t, s}) - weight) < 1e-6);
        if (t == 0 || weight == 0) continue;
        distance += weight * static_cast<double>(t - s) / 7;
        entropy -= weight * std::log(weight) / 7;
        previous += s == t - 1 ? weight / 7 : 0;
        first += s == 0 ? weight / 7 : 0;
      }
    for (int64_t t = 6; t < 12; ++t)  // Position 6 repeats position 0, so position 1 comes after it.
      induction += b.at({t, t - 5}) / 6;
    CHECK(std::abs(head.distance - distance) < 1e-6);
    CHECK(std::abs(head.entropy - entropy) < 1e-6);
    CHECK(std::abs(head.previous - previous) < 1e-6);
    CHECK(std::abs(head.first - first) < 1e-6);
    CHECK(std::abs(head.induction - induction) < 1e-6);
  }
  CHECK(std::abs(heads[0].entropy - heads[3].entropy) > 1e-3);
}

TEST_CASE("a head that attends to the token after the earlier occurrence has the induction score 1") {
  const int64_t L = 5;
  Tensor a = zeros({2 * L, 2 * L});
  for (int64_t t = L; t < 2 * L; ++t) a.slice(0, t, t + 1).slice(1, t - L + 1, t - L + 2).fill_(1.0);
  CHECK(look::induction_score(a) == 1.0);
  CHECK(look::induction_score(ones({2 * L, 2 * L}) * 0.25) == 0.25);
  CHECK(std::isnan(look::induction_score(ones({3, 3}))));
}

TEST_CASE("one token has no means, a context of one token no repetition, a recurrent decoder no heads") {
  models::Decoder model = sharp_decoder("llama", 1);
  const std::vector<Head> heads = look::heads_of(model, {3});
  REQUIRE(heads.size() == 4);
  CHECK(std::isnan(heads[0].distance));
  CHECK(std::isnan(heads[0].induction));
  CHECK(heads[0].losses.empty());
  models::Decoder recurrent = sharp_decoder("mingru", 8);
  CHECK(look::heads_of(recurrent, {3, 4}).empty());
}

}  // namespace gradus::test_look
