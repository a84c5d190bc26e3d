#include "catch.hpp"
#include "model.hpp"

using namespace gradus;

Tensor loss(const Model& model, const Tensor& x, const Tensor& y) { return cross_entropy(model(x), y); }

TEST_CASE("the model passes the checks that one makes before a long run") {
  Generator g(1);
  Model model(4, 3, g);
  CHECK_THAT(model, nn::PassesChecks({randn({4, 1, 4, 4}, g), randint(0, 3, {4}, g)}, loss));
}

TEST_CASE("the gradients of the inputs are right, and so are their gradients") {
  Generator g(1);
  Model model(4, 3, g);
  model.to(DType::float64);
  CHECK_THAT(model, PassesGradcheck({randn({2, 1, 4, 4}, g, DType::float64)}));
}
