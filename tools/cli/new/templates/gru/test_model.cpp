#include "catch.hpp"
#include "model.hpp"

using namespace gradus;

Tensor loss(const Model& model, const Tensor& x, const Tensor& y) { return model.loss(x, y); }

TEST_CASE("the model passes the checks that one makes before a long run") {
  Generator g(1);
  Model model(7, 8, g);
  const Tensor tokens = randint(0, 7, {3, 6}, g);
  CHECK_THAT(model, nn::PassesChecks({tokens.slice(1, 0, 5), tokens.slice(1, 1, 6)}, loss));
}

TEST_CASE("the gradients of the parameters are right, and so are their gradients") {
  Generator g(1);
  const Model model(5, 4, g);
  const Tensor x = randint(0, 5, {2, 3}, g), y = randint(0, 5, {2, 3}, g);
  const auto report =
      nn::gradcheck_module<Model>(model, {}, [&](const Model& m, const auto&) { return m.loss(x, y); });
  INFO(report.message);
  CHECK(report.passed);
}
