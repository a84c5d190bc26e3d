#include "gradus/train/optimizers/lion.hpp"

#include "autograd/compare.hpp"
#include "gradus/train/optimizers/registry.hpp"

namespace gradus::train::test_lion {

using namespace testing;

TEST_CASE("three steps of Lion have the numbers of its algorithm") {
  Tensor w = f64({1.0, 2.0}, {1, 2}).requires_grad_(), b = f64({1.0}, {1}).requires_grad_();
  Lion lion({{"w", w}, {"b", b}}, {.beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1});
  // By hand, rate 0.1. The second element's gradients are 0: it decays only. b is a vector and does not.
  const double gradients[] = {0.5, -0.02, -0.5};
  const double weights[] = {0.89, 0.7811, 0.873289}, biases[] = {0.9, 0.8, 0.9};
  const double momentum[] = {0.005, 0.00475, -0.0002975};
  double decayed = 2.0;
  for (int step = 0; step < 3; ++step) {
    const double scale = 0.25;
    w.set_grad(f64({gradients[step] / scale, 0.0}, {1, 2}));
    b.set_grad(f64({gradients[step] / scale}, {1}));
    lion.step(0.1, scale);
    decayed *= 0.99;
    CHECK(difference(w.detach(), f64({weights[step], decayed}, {1, 2}), 1e-14) == "");
    CHECK(difference(b.detach(), f64({biases[step]}, {1}), 1e-14) == "");
    CHECK(difference(lion.state_dict().at("momentum.w"), f64({momentum[step], 0.0}, {1, 2}), 1e-16) == "");
  }
  CHECK(lion.state_dict().size() == 3);
  CHECK_THROWS_WITH(Lion({{"w", w}}, {.beta2 = 1}), "[lion] betas must be in [0, 1), got 0.9 and 1.");
  CHECK_THROWS_AS(Lion({{"w", w}}, {.weight_decay = -1}), Error);
}

TEST_CASE("each row of the registry makes its optimizer, and knows its memory") {
  Tensor w = f64({1, 2, 3, 4}, {2, 2}).requires_grad_(), e = f64({1, 2, 3}, {3, 1}).requires_grad_();
  const NamedParameters parameters{{"w", w}, {"e", e, nn::Role::embedding}};
  for (const OptimizerKind& row : optimizers()) {
    const auto optimizer = row.make(parameters, {});
    CHECK(optimizer->name() == std::string(row.name));
    int64_t kept = 0;
    for (const auto& [name, buffer] : optimizer->state_dict())
      if (name != "steps") kept += buffer.numel();
    CHECK(row.memory(parameters, DType::float32).kept == 4.0 * static_cast<double>(kept));
  }
  CHECK(optimizer_kind("lion").memory(parameters, DType::float32).kept == 4 * 7);
  CHECK(optimizer_kind("muon").memory(parameters, DType::float32).kept == 4 * (4 + 2 * 3));
  CHECK_THROWS_WITH(optimizer_kind("lino"),
                    "[train] `optimizer` must be adamw, muon, lion or rmsprop, got 'lino'.");
}

}  // namespace gradus::train::test_lion
