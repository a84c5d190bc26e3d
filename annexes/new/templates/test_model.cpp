#include "catch.hpp"
#include "model.hpp"

using namespace gradus;

Tensor loss(const Model& model, const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); }

TEST_CASE("the model passes the checks that one makes before a long run") {
  Generator g(1);
  Model model(3, 8, 2, g);
  CHECK(nn::check_module(model, {randn({5, 3}, g), randn({5, 2}, g)}, loss));
}

TEST_CASE("the gradients of the inputs are right, and so are their gradients") {
  Generator g(1);
  Model model(3, 4, 2, g);
  model.to(DType::float64);
  CHECK_THAT(model, PassesGradcheck({randn({5, 3}, g, DType::float64)}));
}
