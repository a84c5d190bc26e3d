// Decoder::distillation_loss: the loss with the probabilities of a teacher.
#include <cmath>
#include <map>

#include "models/llama.hpp"
#include "nn/gradcheck_module.hpp"

namespace gradus::models::test_distillation {

using namespace testing;

Decoder make_model(uint64_t seed, int64_t members = 1) {
  const DecoderConfig config{.arch = "llama",
                             .vocab_size = 7,
                             .block_size = 4,
                             .n_layer = 1,
                             .n_head = 2,
                             .n_embd = 8,
                             .bias = false,
                             .n_member = members};
  return wide_model(config, seed);
}

Tensor idx() { return tensor(std::vector<int64_t>{3, 1, 4, 1, 5, 0, 2, 6}, {2, 4}); }
Tensor targets() { return tensor(std::vector<int64_t>{1, 4, -100, 5, 0, -100, 6, 5}, {2, 4}); }

/// The formula, one target at a time in float64.
double by_hand(const Decoder& model, const Decoder& teacher, double weight) {
  const NoGrad no_grad;
  const std::vector<double> own = model(idx()).to(DType::float64).to_vector<double>(),
                            theirs = teacher(idx()).to(DType::float64).to_vector<double>();
  const std::vector<int64_t> y = targets().to_vector<int64_t>();
  double sum = 0;
  int count = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    if (y[i] < 0) continue;
    double of_own = 0, of_theirs = 0;
    for (size_t v = 7 * i; v < 7 * i + 7; ++v) of_own += std::exp(own[v]), of_theirs += std::exp(theirs[v]);
    for (size_t v = 0; v < 7; ++v) {
      const double wanted = weight * std::exp(theirs[7 * i + v]) / of_theirs +
                            (static_cast<int64_t>(v) == y[i] ? 1 - weight : 0);
      sum -= wanted * (own[7 * i + v] - std::log(of_own));
    }
    ++count;
  }
  return sum / count;
}

TEST_CASE("a model learns from the text and from the probabilities of a teacher") {
  const Decoder model = make_model(1), teacher = make_model(2);
  Generator g(3);
  for (const double weight : {0.25, 0.7, 1.0}) {
    const Tensor loss = model.distillation_loss(idx(), targets(), teacher, {weight}, g);
    CHECK(loss.item() == Approx(by_hand(model, teacher, weight)).epsilon(1e-6));
  }
  // Without weight it is loss(), also where all targets count and in several sequences a row.
  const Tensor starts = tensor(std::vector<int64_t>{0, 0, 2, 2, 0, 1, 1, 1}, {2, 4});
  const Tensor none = model.distillation_loss(idx(), idx(), teacher, {0}, g, starts);
  CHECK(none.item() == Approx(model.loss(idx(), idx(), nullptr, starts).item()).epsilon(1e-6));

  model.distillation_loss(idx(), targets(), teacher, {0.5}, g).backward();
  for (const auto& [name, p] : model.named_parameters()) CHECK(p.grad().defined());
  for (const auto& [name, p] : teacher.named_parameters()) CHECK(!p.grad().defined());
}

TEST_CASE("the gradient of the distillation loss is that of its differences") {
  Decoder model = make_model(1), teacher = make_model(2);
  model.to(DType::float64);
  teacher.to(DType::float64);
  check_gradients(model, {}, [&](const Decoder& m, const auto&) {
    Generator g(3);
    return m.distillation_loss(idx(), targets(), teacher, {0.6}, g);
  });
}

TEST_CASE("an ensemble teaches by one member at a time, on average by their mean") {
  const Decoder model = make_model(1), ensemble = make_model(2, 3);
  Generator g(4);
  std::map<double, int> losses;
  for (int i = 0; i < 600; ++i) {
    const NoGrad no_grad;
    ++losses[model.distillation_loss(idx(), targets(), ensemble, {0.7}, g).item()];
  }
  REQUIRE(losses.size() == 3);
  double mean = 0;
  for (const auto& [loss, times] : losses) {
    mean += loss / 3;
    CHECK(std::abs(times - 200) < 50);  // more than 4 standard deviations
  }
  CHECK(mean == Approx(by_hand(model, ensemble, 0.7)).epsilon(1e-6));
}

}  // namespace gradus::models::test_distillation
