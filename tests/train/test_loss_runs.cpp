// Twenty steps of a small model have PyTorch 1.13's losses, with SGD and RMSprop (make_loss_runs.py).
#include <nlohmann/json.hpp>

#include "autograd/compare.hpp"
#include "gradus/files/file.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/sequential.hpp"
#include "gradus/train/optimizers/rmsprop.hpp"
#include "gradus/train/optimizers/sgd.hpp"
#include "test_files.hpp"

namespace gradus::train::test_loss_runs {

using namespace testing;
using nlohmann::json;

Tensor read(const json& t, DType dtype = DType::float64) {
  return tensor(t.at("data").get<std::vector<double>>(), Shape(t.at("shape").get<std::vector<int64_t>>()))
      .to(dtype);
}

Tensor loss_of(const std::string& name, const Tensor& y, const Tensor& target) {
  const Tensor weight = f64({0.5, 2.0, 1.0});
  if (name == "l1_loss") return l1_loss(y, target);
  if (name == "huber_loss") return huber_loss(y, target, Reduction::mean, 0.6);
  if (name == "smooth_l1_loss") return smooth_l1_loss(y, target, Reduction::mean, 0.4);
  if (name == "nll_loss") return nll_loss(log_softmax(y, 1), target, weight);
  if (name == "kl_div") return kl_div(log_softmax(y, 1), target, Reduction::batchmean);
  if (name == "binary_cross_entropy_with_logits")
    return binary_cross_entropy_with_logits(y, target, weight, Reduction::mean, f64({3.0, 1.0, 0.5}));
  return mse_loss(y, target);
}

RMSpropOptions rmsprop_options(const json& given) {
  const RMSpropOptions usual;
  return {.alpha = given.value("alpha", usual.alpha),
          .eps = given.value("eps", usual.eps),
          .weight_decay = given.value("weight_decay", usual.weight_decay),
          .momentum = given.value("momentum", usual.momentum),
          .centered = given.value("centered", usual.centered)};
}

TEST_CASE("twenty steps have PyTorch's losses and end at its parameters") {
  const json runs = json::parse(files::read(test_files() / "train/loss_runs.json"));
  CHECK(runs.size() == 10);
  for (const json& run : runs) {
    const std::string name = run.at("name");
    INFO(name << run.at("options"));
    Generator g(1);
    nn::Sequential model{nn::Linear(4, 5, g), tanh, nn::Linear(5, 3, g)};
    model.to(DType::float64);
    nn::StateDict start;
    for (const auto& [key, value] : run.at("start").items()) start[key] = read(value);
    model.load_state_dict(start);
    const Tensor x = read(run.at("x")),
                 target = read(run.at("target"), name == "nll_loss" ? DType::int64 : DType::float64);
    const NamedParameters parameters = model.named_parameters();
    SGD sgd(parameters);
    RMSprop rmsprop(parameters, rmsprop_options(run.at("options")));
    for (const double expected : run.at("losses")) {
      model.zero_grad();
      const Tensor loss = loss_of(name, model(x), target);
      CHECK(std::abs(loss.item() - expected) <= 1e-12);
      loss.backward();
      name == "rmsprop" ? rmsprop.step(0.01) : sgd.step(0.1);
    }
    for (const auto& [key, value] : model.state_dict())
      CHECK(difference(value, read(run.at("end").at(key)), 1e-12) == "");
  }
}

TEST_CASE("RMSprop scales gradients, keeps the buffers of its options, and checks them") {
  Tensor w = f64({1.0, 2.0}, {1, 2}).requires_grad_();
  RMSprop rmsprop({{"w", w}}, {.alpha = 0.75, .eps = 1e-8, .momentum = 0.5, .centered = true});
  w.set_grad(f64({4.0, 0.0}, {1, 2}));
  rmsprop.step(0.1, 0.5);  // g = 2: the mean of squares is 1, of gradients 0.5
  CHECK(difference(w.detach(), f64({1 - 0.1 * 2 / (std::sqrt(0.75) + 1e-8), 2.0}, {1, 2}), 1e-15) == "");
  const nn::StateDict state = rmsprop.state_dict();
  CHECK(state.size() == 4);
  CHECK(difference(state.at("square_avg.w"), f64({1.0, 0.0}, {1, 2})) == "");
  CHECK(difference(state.at("grad_avg.w"), f64({0.5, 0.0}, {1, 2})) == "");
  CHECK(state.contains("momentum_buffer.w"));
  CHECK(RMSprop({{"w", w}}).state_dict().size() == 2);
  CHECK_THROWS_WITH(RMSprop({{"w", w}}, {.alpha = 1}),
                    "[rmsprop] alpha and momentum must be in [0, 1), got 1 and 0.");
  CHECK_THROWS_AS(RMSprop({{"w", w}}, {.momentum = 1}), Error);
  CHECK_THROWS_AS(RMSprop({{"w", w}}, {.eps = 0}), Error);
  CHECK_THROWS_AS(RMSprop({{"w", w}}, {.weight_decay = -1}), Error);
}

}  // namespace gradus::train::test_loss_runs
