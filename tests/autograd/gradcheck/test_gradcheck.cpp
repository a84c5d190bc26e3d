// The checker is checked: right gradients pass, wrong ones do not, and nothing passes by accident.
#include "autograd/gradcheck/own_rule.hpp"

namespace gradus::test_gradcheck {

using namespace gradus::testing;

Tensor truth(const Tensor& x, const Tensor& gy) { return 2.0 * x * gy; }

GradcheckReport check(const Rule& rule, int order = 1) {
  return gradcheck(with_rule(square, rule), {kX}, {.order = order});
}

// truth() but for the first element.
Rule with_first(double value) {
  return [value](In x, In gy) {
    const Tensor first = eq(arange(0, 6).reshape({2, 3}), 0.0);
    return masked_fill(truth(x, gy), first, value);
  };
}

TEST_CASE("gradcheck passes a right gradient at both orders, under NoGrad too") {
  for (const int order : {1, 2}) {
    const NoGrad off;
    const GradcheckReport r = check(truth, order);
    CHECK((r && r.passed));
    CHECK(r.message == "");
    CHECK(r.worst < 0.1);
    CHECK(r.checks > 20);
    CHECK_FALSE(grad_enabled());
  }
}

TEST_CASE("forward mode finds what differences are too coarse for, at both orders") {
  const auto slightly = [](In x, In gy) { return truth(x, gy) * (1 + 1e-9); };
  const GradcheckReport r = check(slightly, 2);
  CHECK((r.gaps[0] > 1e-10 && r.unwitnessed.empty()));
  CHECK_HAS(r.message, "forward mode gives", "relative gap");
  CHECK(check(truth, 2).gaps[1] < 1e-14);
  // Right at order 1, but the gradient's gradient lacks a share of 1e-9.
  const auto second = [](In x, In gy) { return 2.0 * (x * (1 + 1e-9) - x.detach() * 1e-9) * gy; };
  CHECK(check(second, 1).passed);
  CHECK(check(second, 2).gaps[1] > 1e-10);
  CHECK_FALSE(check(second, 2).passed);
}

TEST_CASE("where forward mode cannot follow, gradcheck says so, and the rate at which errors fall judges") {
  for (const double factor : {1.0, 1 + 1e-9, 1 - 1e-8}) {
    const auto raw_loop = [=](const std::vector<Tensor>& in) {
      Tensor y = zeros({2, 3}, DType::float64);
      for (int i = 0; i < 6; ++i) y.mutable_data<double>()[i] = std::pow(in[0].to_vector<double>()[i], 3);
      const auto rule = [=, x = in[0]](const Tensor& gy) { return 1.5 * factor * truth(x, gy) * x; };
      return record(OpName::custom("cubes"), y, {{in[0], rule}});
    };
    const GradcheckReport r = gradcheck(raw_loop, {kX}, {.order = 2});
    CHECK(r.unwitnessed == "the forward pass of cubes is not made of the library's operations");
    CHECK(r.passed == (factor == 1));
    CHECK(r.passed == (std::abs(r.rate - 4) < 0.2));
    if (!r.passed) CHECK_HAS(r.message, "the error of differences falls by");
  }
  const auto hidden = [&](const std::vector<Tensor>& in) {
    return in[0] * tensor(in[0].to_vector<double>(), {2, 3});
  };
  CHECK_HAS(gradcheck(hidden, {kX}).unwitnessed,
            "its values do not come from the library's operations alone");
}

TEST_CASE("gradcheck fails a gradient that is NaN or infinite") {
  for (const double bad : {kNan, kInf, -kInf}) {
    const GradcheckReport r = check(with_first(bad));
    CHECK((!r.passed && r.worst == kInf && !r.message.empty()));
  }
}

TEST_CASE("gradcheck fails where the value is NaN or infinite, whatever the gradient is") {
  const auto log_and_zero = [](const std::vector<Tensor>& in) { return log(in[0]); };
  CHECK_FALSE(gradcheck(log_and_zero, {f64({1.0, -1.0})}).passed);
  CHECK_FALSE(gradcheck(log_and_zero, {f64({1.0, 0.0})}).passed);
  // NaN on both sides does not agree either.
  CHECK_FALSE(gradcheck([](const std::vector<Tensor>& in) { return in[0] * kNan; }, {kX}).passed);
}

TEST_CASE("gradcheck fails rules that are wrong in other ways, and says how") {
  auto calls = std::make_shared<int>(0);
  const std::pair<Rule, const char*> rules[] = {
      {[](In x, In gy) { return truth(x, gy).mT(); }, "must give float64 (2, 3)"},
      {[](In x, In gy) { return truth(x, gy).select(0, 0); }, "must give"},
      {[](In x, In gy) { return truth(x, gy).to(DType::float32); }, "must give"},
      {[](In, In) { return Tensor(); }, ""},
      {[](In, In) -> Tensor { fail("mul", "no gradient here."); }, "no gradient here"},
      {[calls](In x, In gy) { return ++*calls == 2 ? truth(x, gy) * (1 + 1e-15) + 1e-15 : truth(x, gy); },
       "two backward passes"},
      // Too small for differences to see.
      {[](In x, In gy) { return truth(x, gy) + 1e-30; }, "a zero cotangent"},
      {[](In x, In gy) { return truth(x, clamp(gy, -10, 10)); }, "the rule is not linear"},
      {[](In x, In gy) { return truth(x, where(lt(abs(gy), 1e-9), gy * 0.0, gy)); },
       "the rule is not linear"},
  };
  for (const auto& [rule, words] : rules) {
    const GradcheckReport r = check(rule);
    CHECK_FALSE(r.passed);
    CHECK_HAS(r.message, words);
  }
}

TEST_CASE("gradcheck with nothing to check is an error or a failure, never a pass") {
  const auto first = [](const std::vector<Tensor>& in) { return in[0].to(DType::float64); };
  CHECK_ERROR(gradcheck(first, {i64({1, 2})}), "needs a float64 input to check");
  CHECK_ERROR(gradcheck(first, {}), "needs a float64 input to check");
  CHECK_ERROR(gradcheck(first, {Tensor()}), "input 0 is not");
  const auto constant = [](const std::vector<Tensor>&) { return f64({1.0}); };
  const GradcheckReport r = gradcheck(constant, {kX});
  CHECK_FALSE(r.passed);
  CHECK_HAS(r.message, "requires no gradient");
  CHECK_FALSE(GradcheckReport{}.passed);
}

TEST_CASE("gradcheck refuses float32 and senseless options") {
  const auto square = [](const std::vector<Tensor>& in) { return in[0] * in[0]; };
  CHECK_ERROR(gradcheck(square, {ones({2})}), "needs float64 inputs, input 0 is float32");
  CHECK_ERROR(gradcheck([](const std::vector<Tensor>& in) { return in[0].to(DType::float32); }, {kX}),
              "needs a float64 result, got float32");
  CHECK_ERROR(gradcheck(square, {kX}, {.order = 3}), "order must be 1 or 2, got 3");
  CHECK_ERROR(gradcheck(square, {kX}, {.eps = 0}), "above 0");
  CHECK_ERROR(gradcheck(square, {kX}, {.tolerance = kNan}), "above 0");
  CHECK_ERROR(gradcheck(square, {kX}, {.directions = 0}), "above 0");
}

TEST_CASE("gradcheck says where the worst error is and how to replay it") {
  const Tensor fifth = eq(arange(0, 6).reshape({2, 3}), 4.0);
  const auto rule = [&](In x, In gy) { return where(fifth, 1.5 * truth(x, gy), truth(x, gy)); };
  const GradcheckReport r = gradcheck(with_rule(square, rule), {kX}, {.seed = 42});
  CHECK_HAS(r.message, "order 1: input 0", "seed 42");
  const GradcheckReport again = gradcheck(with_rule(square, rule), {kX}, {.seed = 42});
  CHECK(again.message == r.message);
  CHECK(again.worst == r.worst);
  const auto worst = [&](uint64_t seed) {
    return gradcheck(with_rule(square, rule), {kX}, {.elementwise = 0, .seed = seed}).worst;
  };
  CHECK(worst(43) != worst(42));
}

TEST_CASE("gradcheck names the element when the error is too small for directions to be worse") {
  // Wrong at one element only, whose gradient is small beside the others'.
  const auto rule = [](In x, In gy) {
    return where(eq(arange(0, 3), 1.0), 1.001 * truth(x, gy), truth(x, gy));
  };
  const GradcheckReport r = gradcheck(with_rule(square, rule), {f64({1e4, 1.0, 2e4})});
  CHECK_HAS(r.message, "input 0 at (1", "output element 1");
}

TEST_CASE("gradcheck checks the inputs that require gradients, all floating ones otherwise") {
  // Right for the first input, wrong for the second.
  const auto f = [](const std::vector<Tensor>& in) {
    return record("mul", (in[0] * in[1]).detach(), {in[0], in[1]},
                  [a = in[0], b = in[1]](const Tensor& gy, const Tensor&, Needs) {
                    return std::vector<Tensor>{gy * b, 1.01 * gy * a};
                  });
  };
  const Tensor a = kX, b = f64({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK_FALSE(gradcheck(f, {a, b}).passed);
  CHECK(gradcheck(f, {a.detach().requires_grad_(), b}).passed);
  CHECK_FALSE(gradcheck(f, {a, b.detach().requires_grad_()}).passed);
}

TEST_CASE("gradcheck leaves its inputs as they were") {
  const Tensor x = leaf({1, 2, 3}, {3});
  CHECK(gradcheck([](const std::vector<Tensor>& in) { return in[0] * in[0]; }, {x}, {.order = 2}).passed);
  CHECK((!x.grad().defined() && x.to_vector<double>() == std::vector<double>{1, 2, 3}));
  CHECK(x.impl()->storage->version() == 1);  // written once, when it was made
}

TEST_CASE("gradcheck lets errors of the function pass, and fails functions that are none") {
  CHECK_ERROR(gradcheck([](const std::vector<Tensor>& in) { return matmul(in[0], in[0]); }, {kX}),
              "[matmul]");
  Generator generator(1);
  const GradcheckReport r =
      gradcheck([&](const std::vector<Tensor>& in) { return dropout(in[0], 0.5, generator); }, {kX});
  CHECK_FALSE(r.passed);
  CHECK_HAS(r.message, "two calls gave different values");
}

TEST_CASE("gradcheck at order 2 sees what order 1 cannot") {
  const Rule rules[] = {[](In x, In gy) { return truth(x, gy).detach(); },
                        [](In x, In gy) { return truth(x.detach(), gy); },
                        [](In x, In gy) { return truth(x, gy.detach()); },
                        [](In x, In gy) {
                          const Tensor g = truth(x, gy);
                          return g.detach() + 1.001 * (g - g.detach());
                        },
                        [](In x, In gy) { return grad_enabled() ? 1.00001 * truth(x, gy) : truth(x, gy); }};
  for (const Rule& rule : rules) {
    CHECK(check(rule, 1).passed);
    CHECK_FALSE(check(rule, 2).passed);
  }
  // A difference that no derivative shows.
  const auto shifted = [](In x, In gy) {
    return grad_enabled() ? truth(x, gy) + 1e-3 * sign(gy) : truth(x, gy);
  };
  CHECK(check(shifted, 1).passed);
  CHECK_HAS(check(shifted, 2).message, "with create_graph (first number) and without");
}

}  // namespace gradus::test_gradcheck
