// Kinds of wrong rules that sums, one choice of inputs or signs hide, and right ones that look wrong.
#include "autograd/gradcheck/own_rule.hpp"

namespace gradus::test_rule_kinds {

using namespace gradus::testing;

// The values leave the library, so that only differences check the rule.
Tensor raw(const Tensor& y) { return tensor(y.to_vector<double>(), y.shape()); }

GradcheckFunction of(Tensor (*value)(In x), Tensor (*rule)(In x, In gy)) {
  return with_rule([=](In x) { return raw(value(x)); }, [=](In x, In gy) { return rule(x, gy) + 0.0; });
}
Tensor triple(const Tensor& x) { return 3.0 * x; }

TEST_CASE("a rule that is wrong where one input alone requires a gradient is found") {
  const double size = GENERATE(1.0, 1e-12);
  const auto f = [=](const std::vector<Tensor>& in) {
    return record(OpName::custom("mine"), in[0].detach() * in[1].detach() * size, {in[0], in[1]},
                  [=, a = Saved(in[0]), b = Saved(in[1])](const Tensor& gy, Needs needs) {
                    return std::vector<Tensor>{gy * b * size, gy * a * (needs[0] ? size : 2 * size)};
                  });
  };
  const GradcheckReport r = gradcheck(f, {f64({1, 2}), f64({3, 4})});
  CHECK_HAS(r.message, "input 1 gets another gradient if it alone requires one");
}

TEST_CASE("a rule that takes the magnitude of a single upstream number is found") {
  const auto f = of(triple, [](const Tensor&, const Tensor& gy) { return 3.0 * abs(gy); });
  for (uint64_t seed = 0; seed < 32; ++seed)
    CHECK(gradcheck(f, {tensor(std::vector<double>{2}, {})}, {.seed = seed}).is_wrong);
}

TEST_CASE("a rule of small gradients that ignores strides is found, beside one of large gradients") {
  const auto f = [](const std::vector<Tensor>& in) {
    const auto small = [](const Tensor& x, const Tensor& gy) {
      return gy * (x.is_contiguous() ? 3e-12 : 3.01e-12);
    };
    return record(OpName::custom("mine"), 3e-12 * in[0].detach() + 1e6 * in[1].detach(),
                  {{in[0], [small, x = Saved(in[0])](const Tensor& gy) { return small(x, gy); }},
                   {in[1], [](const Tensor& gy) { return 1e6 * gy; }}});
  };
  for (const int order : {1, 2})
    CHECK_HAS(gradcheck(f, {f64({1, 2}), f64({3, 4})}, {.order = order}).message, "strides are ignored");
}

TEST_CASE("a wrong gradient of one small element among many large ones is found") {
  std::vector<double> x(100, 1e6);
  x[70] = 1e-2;
  const auto f = [](const std::vector<Tensor>& in) {
    return record(OpName::custom("mine"), in[0].detach() * in[0].detach(),
                  {{in[0], [t = Saved(in[0])](const Tensor& gy) {
                      return gy * t * (2.0 + 0.2 * lt(t, 1.0).to(DType::float64));
                    }}});
  };
  CHECK(gradcheck(f, {f64(x)}).is_wrong);
}

TEST_CASE("a right rule whose values are rounded to float32 is not accused, and a wrong one is found") {
  const auto f = of([](const Tensor& x) { return (sin(x) + 1e5).to(DType::float32).to(DType::float64); },
                    [](const Tensor& x, const Tensor& gy) { return gy * cos(x); });
  const GradcheckReport r = gradcheck(f, {f64({1e-3, 2e-3})});
  INFO(r.message);
  CHECK_FALSE(r.is_wrong);
  CHECK_HAS(r.message, "too coarse");
  const auto wrong = of([](const Tensor& x) { return sin(x).to(DType::float32).to(DType::float64); },
                        [](const Tensor& x, const Tensor& gy) { return 2.0 * gy * cos(x); });
  CHECK(gradcheck(wrong, {f64({0.5, 1})}).is_wrong);
}

TEST_CASE("what float32 says of rounding forgives no missing rule and no rule that float32 changes") {
  const auto none = [](In, In gy) { return 0.0 * gy; };
  const auto times = [&](double factor) {
    return with_rule([factor](In x) { return factor * x.detach(); }, none);
  };
  Generator g(1);
  CHECK(gradcheck(times(1.38e-23), {f64({300, 250})}).is_wrong);
  CHECK(gradcheck(times(1e-16), {f64({1, 2})}, {.order = 2}).is_wrong);
  CHECK(gradcheck(times(1e-9), {randn({2000}, g, DType::float64)}).is_wrong);
  CHECK(gradcheck(with_rule([](In x) { return exp(x.detach()); }, none), {f64({-35, -40})}).is_wrong);
  for (const double factor : {0.0, -1.0, 1.001}) {
    const auto rule = [factor](In x, In gy) {
      return gy * cos(x) * (x.dtype() == DType::float64 ? factor : 1e8);
    };
    CHECK(gradcheck(with_rule([](In x) { return sin(x.detach()); }, rule), {f64({0.5, 1})}).is_wrong);
  }
}

TEST_CASE("a right rule at a kink that is nearer than rounding lets differences see is not accused") {
  for (const double offset : {5e8, 4e10, 1e13})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Generator g(seed);
      std::vector<double> x;
      for (int i = 0; i < 9; ++i)
        x.push_back((g.uniform() < 0.5 ? -1 : 1) * std::pow(10.0, 8 * g.uniform() - 6));
      const GradcheckReport r = gradcheck(
          [offset](const std::vector<Tensor>& in) {
            const auto rule = [t = Saved(in[0])](const Tensor& gy) { return gy * sign(t); };
            return record(OpName::custom("mine"), raw(abs(in[0].detach()) + offset), {{in[0], rule}});
          },
          {f64(x)}, {.seed = seed});
      INFO("offset " << offset << ", seed " << seed << ": " << r.message);
      CHECK_FALSE(r.is_wrong);
    }
}

}  // namespace gradus::test_rule_kinds
