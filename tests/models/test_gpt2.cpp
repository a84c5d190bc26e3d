#include "gradus/models/decoder.hpp"

#include "autograd/compare.hpp"
#include "gradus/models/key_value_state.hpp"
#include "models/llama.hpp"

namespace gradus::models::test_gpt2 {

using namespace testing;

TEST_CASE("an evaluation computes many logits in parts, with the losses of the whole") {
  Generator g(3);
  const int64_t many = int64_t{1} << 22;  // classes: 16 rows of logits at a time
  const Decoder model({.vocab_size = many, .block_size = 18, .n_layer = 1, .n_head = 1, .n_embd = 4}, g);
  const Tensor idx = randint(0, 100, {1, 18}, g),
               targets = where(eq(idx, 5.0), full({}, -100, DType::int64), idx);
  const NoGrad no_grad;
  const Tensor whole =
      cross_entropy(model(idx).reshape({18, many}), targets.flatten(), -100, Reduction::none);
  CHECK(difference(model.losses(idx, targets), whole, 1e-6) == "");
  CHECK(model.loss(idx, targets).item() ==
        Catch::Approx(cross_entropy(model(idx).reshape({18, many}), targets.flatten()).item()));
}

TEST_CASE("dropout drops embeddings, then what attention and the MLP add to them") {
  Generator g(7);
  DecoderConfig config = kSmallGpt2;
  config.dropout = 0.3;
  Decoder model(config, g);
  const Tensor idx = randint(0, 11, {2, 8}, g);
  for (auto& [name, p] : model.named_parameters())
    if (name.find("c_proj") != std::string::npos) p.fill_(0.0);  // the blocks add nothing
  const auto of = [state = model.state_dict()](const char* name) { return state.at(name); };
  Generator a(12), b(12);
  const Tensor x = dropout(embedding(of("wte.weight"), idx) + of("wpe.weight").slice(0, 0, 8), 0.3, b);
  CHECK(difference(model(idx, &a),
                   linear(layer_norm(x, {16}, of("ln_f.weight"), of("ln_f.bias")), of("wte.weight")),
                   0.0) == "");

  // One word for each embedding, weight of attention, and element that attention and the MLP add.
  const int64_t elements = 2 * 8 * 16, weights = 2 * 2 * 8 * 8;
  for (int layer = 0; layer < 2; ++layer) {
    b.reserve(weights);
    b.reserve(elements);
    b.reserve(elements);
  }
  CHECK(a.state() == b.state());
}

TEST_CASE("sequences the model cannot read are refused") {
  Generator g(9);
  const Decoder model(kSmallGpt2, g);
  CHECK_THROWS_WITH(
      model(zeros({1, 9}, DType::int64)),
      "[decoder] a sequence must have 1 to block_size = 8 tokens, got 9. Hint: cut it, or train a model "
      "with a larger block_size.");
  CHECK_ERROR(model(zeros({1, 0}, DType::int64)), "got 0");
  CHECK_THROWS_WITH(model(zeros({4}, DType::int64)), "[decoder] idx must be (B, T), got (4,).");
  CHECK_THROWS_AS(model(full({1, 2}, 11, DType::int64)), Error);
  CHECK_THROWS_AS(model(full({1, 2}, -1, DType::int64)), Error);
  const auto state = model.make_state(3);
  (void)model.decode(zeros({3, 8}, DType::int64), *state);
  const auto* const cache = dynamic_cast<KeyValueState*>(state.get());
  REQUIRE(cache);
  CHECK(cache->layers[0].k.shape() == Shape{3, 2, 8, 8});
  CHECK_ERROR(model.decode(zeros({3, 1}, DType::int64), *state), "1 to block_size = 8 tokens, got 9. Hint: ");
  CHECK_THROWS_WITH(model.loss(zeros({1, 2}, DType::int64), zeros({2, 1}, DType::int64)),
                    "[decoder] targets must have the shape of idx, got (2, 1) and (1, 2).");
}

}  // namespace gradus::models::test_gpt2
