#include "catch.hpp"
#include "model.hpp"

using namespace gradus;

TEST_CASE("the operation computes its formula") {
  Generator g(1);
  const Tensor x = randn({4, 5}, g);
  CHECK(amax(abs(softsign(x) - x / (1.0 + abs(x)))).item() < 1e-6);
}

TEST_CASE("the gradient rule is right, and so is the gradient's gradient") {
  Generator g(1);
  CHECK_THAT(softsign, PassesGradcheck({randn({4, 5}, g, DType::float64)}));
}

Tensor loss(const Model& model, const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); }

TEST_CASE("the model passes the checks that one makes before a long run") {
  Generator g(1);
  Model model(3, 8, 2, g);
  CHECK_THAT(model, nn::PassesChecks({randn({5, 3}, g), randn({5, 2}, g)}, loss));
}
