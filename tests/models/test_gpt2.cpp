#include "gradus/models/decoder.hpp"

#include "autograd/compare.hpp"
#include "gradus/models/key_value_state.hpp"
#include "models/llama.hpp"
#include "models/with_state.hpp"

namespace gradus::models::test_gpt2 {

using namespace testing;

constexpr const DecoderConfig& kSmall = kSmallGpt2;

DecoderConfig with_dropout(double p) {
  DecoderConfig config = kSmall;
  config.dropout = p;
  return config;
}

TEST_CASE("loss is the mean of -log p over the targets that count") {
  Generator g(3);
  Decoder model(kSmall, g);
  model.to(DType::float64);
  const Tensor idx = randint(0, 11, {2, 3}, g);
  const Tensor targets = tensor(std::vector<int64_t>{1, -100, 10, 0, 4, -100}, {2, 3});
  const Tensor logp = log_softmax(model(idx), -1).detach();
  const double expected =
      -(logp.at({0, 0, 1}) + logp.at({0, 2, 10}) + logp.at({1, 0, 0}) + logp.at({1, 1, 4})) / 4.0;
  CHECK(std::abs(model.loss(idx, targets).item() - expected) < 1e-12);
}

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

/// A decoder of which one thing is wrong.
class Faulty : public Decoder {
 public:
  enum Fault { sees_next, adds_first_row, positions_restart, keeps_a_layer };

  Faulty(Fault fault, Generator& g) : Decoder(kSmall, g), fault_(fault) {
    for (Tensor& p : parameters()) p.copy_(randn(p.shape(), g) * 0.5 + p.detach());
  }

  Tensor operator()(const Tensor& idx, Generator* dropout) const {
    const Tensor y = Decoder::operator()(idx, dropout);
    if (fault_ == sees_next) return y + pad(y.slice(1, 1, y.size(1)), 1, y.size(1), 0);
    return fault_ == adds_first_row ? y + y.slice(0, 0, 1) : y;
  }
  std::unique_ptr<DecodingState> make_state(int64_t batch) const {
    auto state = Decoder::make_state(batch);
    if (fault_ != keeps_a_layer) return state;
    auto kept = std::make_unique<KeptLayer>();
    kept->whole = std::move(state);
    return kept;
  }
  Tensor decode(const Tensor& idx, DecodingState& state) const {
    if (fault_ == positions_restart) state.length = 0;
    if (fault_ != keeps_a_layer) return Decoder::decode(idx, state);
    return Decoder::decode(idx, *dynamic_cast<KeptLayer&>(state).whole);
  }

 private:
  struct KeptLayer : DecodingState {
    std::unique_ptr<DecodingState> whole;
    void truncate(int64_t end) override {
      nn::KVCache& second = dynamic_cast<KeyValueState&>(*whole).layers[1];
      const int64_t kept = second.length;
      whole->truncate(end);
      second.length = kept;
    }
  };

  Fault fault_;
};

TEST_CASE("faults of a decoder are caught") {
  Generator g(13);
  for (const auto& [fault, check, seen] :
       {std::tuple(Faulty::sees_next, "causal", "got one that sees 1 position ahead: "),
        {Faulty::adds_first_row, "examples", " when each row moved up by one."},
        {Faulty::positions_restart, "decode", "when x was fed one by one."},
        {Faulty::keeps_a_layer, "decode", "when x was fed into a cleared cache."}}) {
    Faulty model(fault, g);
    const nn::ModuleReport report = check_outputs(model);
    const auto finding = std::ranges::find(report.findings, std::string(check), &nn::CheckFinding::name);
    CHECK_FALSE(*finding);
    CHECK_HAS(finding->message, seen);
  }
}

TEST_CASE("dropout drops embeddings, then what attention and the MLP add to them") {
  Generator g(7);
  Decoder model(with_dropout(0.3), g);
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

TEST_CASE("a state dict carries a model") {
  Generator g(8);
  const Decoder a(kSmall, g);
  Decoder b(kSmall, g);
  const Tensor idx = randint(0, 11, {1, 8}, g);
  REQUIRE(difference(b(idx), a(idx)) != "");
  b.load_state_dict(a.state_dict());
  CHECK(difference(b(idx), a(idx), 0.0) == "");

  DecoderConfig wider = kSmall;
  wider.vocab_size = 12;
  Decoder c(wider, g);
  CHECK_THROWS_WITH(
      c.load_state_dict(a.state_dict()),
      "[load_state_dict] names and shapes must be those of the module, got misshaped: wte.weight (11, 16) "
      "for (12, "
      "16). Hint: the values were saved from a model of another shape.");
}

TEST_CASE("sequences the model cannot read are refused") {
  Generator g(9);
  const Decoder model(kSmall, g);
  CHECK_THROWS_WITH(
      model(zeros({1, 9}, DType::int64)),
      "[decoder] a sequence must have 1 to block_size = 8 tokens, got 9. Hint: cut it, or train a model "
      "with a larger block_size.");
  CHECK_ERROR(model(zeros({1, 0}, DType::int64)), "got 0");
  CHECK_THROWS_WITH(model(zeros({4}, DType::int64)), "[decoder] idx must be (B, T), got (4,).");
  CHECK_THROWS_AS(model(full({1, 2}, 11, DType::int64)), Error);
  CHECK_THROWS_AS(model(full({1, 2}, -1, DType::int64)), Error);
  CHECK_THROWS_WITH(model.loss(zeros({1, 2}, DType::int64), zeros({2, 1}, DType::int64)),
                    "[decoder] targets must have the shape of idx, got (2, 1) and (1, 2).");
}

}  // namespace gradus::models::test_gpt2
