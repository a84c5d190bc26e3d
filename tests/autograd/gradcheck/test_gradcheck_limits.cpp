// The checker accuses no right rule at the limits of float64, finds wrong ones there, and names kinks.
#include "autograd/compare.hpp"
#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/autograd/graph/record.hpp"

namespace gradus::test_gradcheck_limits {

using namespace gradus::testing;

TEST_CASE("right functions of any magnitude pass") {
  const struct {
    const char* name;
    GradcheckFunction f;
    std::vector<double> x;
  } cases[] = {
      {"x^2 + 1e5", [](const auto& in) { return in[0] * in[0] + 1e5; }, {1, 2}},
      {"log near 0", [](const auto& in) { return log(in[0]); }, {1e-4, 2e-4}},
      {"log nearer to 0", [](const auto& in) { return log(in[0]); }, {1e-9, 3e-20}},
      {"sqrt near 0", [](const auto& in) { return sqrt(in[0]); }, {1e-8, 1e-15}},
      {"1 / x near 0", [](const auto& in) { return 1.0 / in[0]; }, {1e-6, 2}},
      {"small values", [](const auto& in) { return 1e-20 * sin(in[0]); }, {1, 1e-3}},
      {"large values", [](const auto& in) { return 1e200 * sin(in[0]); }, {1, 1e-3}},
      {"what cancels", [](const auto& in) { return sum(softmax(in[0], 0)) - 1.0; }, {1, 2}},
      {"1 / x nearer to 0", [](const auto& in) { return 1.0 / in[0]; }, {1e-10, 2}},
      {"x log x", [](const auto& in) { return in[0] * log(in[0]); }, {1e-12, 1}},
      {"far from 0", [](const auto& in) { return exp(in[0] * 1e-10); }, {1e10, -3e9}},
      {"flat by rounding", [](const auto& in) { return tanh(in[0]) + sigmoid(in[0]); }, {15, 30}},
      {"beside a kink", [](const auto& in) { return relu(in[0]); }, {1e-9, -1e-9}},
  };
  for (const auto& c : cases) {
    const GradcheckReport r = gradcheck(c.f, {f64(c.x)}, {.order = 2});
    INFO(c.name << ": " << r.message);
    CHECK(r.passed);
    // The same values with a rule that is off by a thousandth.
    const auto wrong = [&](const std::vector<Tensor>& in) {
      const Tensor y = c.f({in[0].detach()});
      return record(OpName::custom("wrong"), y.detach().contiguous(),
                    {{in[0], [&c, at = Saved(in[0])](const Tensor& gy) {
                        const GradMode on(true);
                        const Tensor x = at->detach().requires_grad_();
                        return grad({c.f({x})}, {x}, {.grad_outputs = {gy}})[0] * 1.001;
                      }}});
    };
    const GradcheckReport w = gradcheck(wrong, {f64(c.x)});
    INFO(w.message);
    CHECK(w.passed == (std::string(c.name) == "what cancels"));  // whose gradient is 0
  }
}

TEST_CASE("right functions whose derivatives are lost in rounding pass") {
  const GradcheckFunction functions[] = {
      [](const auto& in) { return softmax(in[0], -1); },
      [](const auto& in) { return mean(softmax(in[0], -1)); },
      [](const auto& in) { return sigmoid(in[0]); },
      [](const auto& in) { return sum(in[0] - mean(in[0])); },
      [](const auto& in) { return norm(in[0] / norm(in[0])); },
      [](const auto& in) { return sum(layer_norm(in[0], {4}), {-1}); },
  };
  for (const auto& f : functions)
    for (const double size : {1.0, 10.0, 30.0, 100.0})
      for (uint64_t seed = 0; seed < 4; ++seed) {
        Generator g(seed);
        const GradcheckReport r = gradcheck(f, {size * randn({3, 4}, g, DType::float64)}, {.order = 2});
        INFO("function " << &f - functions << ", size " << size << ", seed " << seed << ": " << r.message);
        CHECK(r.passed);
      }
  for (const double x : {20, 25, 30, 40}) {
    CHECK(gradcheck(functions[0], {f64({x, 0})}, {.order = 2}).passed);
    const auto loss = [](const auto& in) { return cross_entropy(in[0], tensor({0})); };
    CHECK(gradcheck(loss, {f64({x, 0}, {1, 2})}, {.order = x < 37 ? 2 : 1}).passed);
  }
}

TEST_CASE("a rule that loses digits where its function is flat is right, and a wrong one there is found") {
  const double size = GENERATE(1.0, 1e3, 1e-3), factor = GENERATE(1.0, 1 + 1e-6);
  using Map = Tensor (*)(const Tensor&);
  const Map functions[] = {sigmoid, tanh}, slopes[] = {[](const Tensor&s) { return s * (1.0 - s); },
                                                       [](const Tensor&t) { return 1.0 - t * t; }};
  for (const double x : {0.5, 5.0, 10.0, 15.0, -15.0})
    for (const int i : {0, 1}) {
      const GradcheckReport r = gradcheck(
          [&](const std::vector<Tensor>& in) {
            const Tensor y = functions[i](in[0].detach());
            return record(
                OpName::custom("flat"), y * size,
                {{in[0], [&, y](const Tensor& gy) { return gy * slopes[i](y) * (size * factor); }}});
          },
          {tensor(std::vector<double>{x}, {1})});
      INFO("size " << size << ", factor " << factor << ", x " << x << ": " << r.message);
      CHECK((factor > 1 && std::abs(x) < 6 ? !r.passed : factor > 1 || r.passed));
    }
}

TEST_CASE("kinks, jumps, ends and coarse values are named, not accused") {
  struct Unjudged {
    GradcheckFunction f;
    std::vector<double> x;
    const char *text, *place;
  };
  const Unjudged cases[] = {
      {[](const auto& in) { return relu(in[0]); },
       {0, 1},
       "a kink: its slope is 0 on one side and 1 on the other",
       "at (0,)"},
      {[](const auto& in) { return relu(in[0] - 1.0) + 10.0; },
       {3, 1},
       "a kink: its slope is 0 on one side and 1",
       "at (1,)"},
      {[](const auto& in) { return in[0] * gt(in[0].detach(), 1.0).to(DType::float64); },
       {1, 2},
       "it jumps by 1",
       "at (0,)"},
      {[](const auto& in) { return amax(in[0]); }, {2, 2 + 1e-15}, "a kink", "at (0,)"},
      {[](const auto& in) { return abs(in[0]) + 1e4; }, {0, 1}, "a kink", "along"},  // beside rounding
      {[](const auto& in) { return sqrt(in[0]); }, {0, 1}, "not finite", "at (0,)"},
      {[](const auto& in) {
         const Tensor values = in[0].detach() * in[0].detach() + 1e14;
         return record(OpName::custom("mine"), tensor(values.template to_vector<double>(), values.shape()),
                       {{in[0], [x = Saved(in[0])](const Tensor& gy) { return 2.0 * gy * x; }}});
       },
       {1, 2},
       "too coarse to judge",
       "at (0,)"},
  };
  for (const Unjudged& c : cases) {
    const GradcheckReport r = gradcheck(c.f, {f64(c.x)});
    INFO(r.message);
    CHECK_FALSE(r.passed);
    CHECK_THAT(r.message, ContainsSubstring(c.text) && ContainsSubstring(c.place));
    CHECK(r.cause.empty());
    CHECK(r.wrong_op.number == 0);
  }
  // A wrong gradient elsewhere is what the message is about, and no op at a kink is taken for its cause.
  const auto wrong = [](const std::vector<Tensor>& in) {
    const Tensor y = relu(in[0]);
    return record(OpName::custom("wrong"), y.detach() * y.detach(),
                  {{y, [y = Saved(y)](const Tensor& gy) { return gy * y * 3.0; }}});
  };
  const GradcheckReport r = gradcheck(wrong, {f64({0, 1})});
  CHECK_THAT(r.message, !ContainsSubstring("smooth"));
  CHECK(r.wrong_op.number == 2);
}

TEST_CASE("a function whose shape depends on its numbers is checked where the shape stays") {
  const auto positive = [](double factor) {
    return [factor](const std::vector<Tensor>& in) {
      const Tensor x = in[0].index({gt(in[0].detach(), 0.0)});
      return record(OpName::custom("mine"), x.detach() * 3.0,
                    {{x, [factor](const Tensor& gy) { return gy * factor; }}});
    };
  };
  for (const Tensor& x : {f64({1, -2, 3, 0.5, -1, 2}), f64({-1, 2}), f64({1e-3, 1, -1e-3})}) {
    const GradcheckReport right = gradcheck(positive(3), {x});
    INFO(right.message);
    CHECK(right.passed);
    CHECK(!gradcheck(positive(2), {x}).passed);
  }
}

TEST_CASE("a rule that takes a strided upstream gradient for a packed one is found in each layout") {
  // The rule is right for every layout but one.
  using Strides = const Shape&;
  bool (*const layouts[])(const Tensor& g, Strides s) = {
      [](const Tensor& g, Strides) { return g.impl()->offset != 0 && g.is_contiguous(); },
      [](const Tensor&, Strides s) {
        return s[0] > s[1] && s[1] > 4 && s[2] == 1;
      },  // gaps before the last dim
      [](const Tensor&, Strides s) { return s[2] > 1 && s[1] > s[2]; },
      [](const Tensor&, Strides s) { return s[0] == 0 && s[1] != 0; },
      [](const Tensor&, Strides s) { return s[2] == 0 && s[1] != 0; },
      [](const Tensor&, Strides s) { return s[0] == 0 && s[1] == 0 && s[2] == 0; },
      [](const Tensor&, Strides s) { return s[1] == 1; },
      [](const Tensor&, Strides s) { return s[0] < s[1] && s[0] > 0; },
  };
  for (const auto& is_layout : layouts) {
    const auto f = [&](const std::vector<Tensor>& in) {
      return record(OpName::custom("mine"), in[0].detach() * 3.0,
                    {{in[0], [is_layout](const Tensor& gy) {
                        return gy * (is_layout(gy, gy.strides()) ? 2.0 : 3.0);
                      }}});
    };
    Generator g(1);
    const GradcheckReport r = gradcheck(f, {randn({2, 3, 4}, g, DType::float64)});
    INFO(r.message);
    CHECK_FALSE(r.passed);
    CHECK_THAT(r.message, ContainsSubstring("if the upstream gradient is"));
  }
}

}  // namespace gradus::test_gradcheck_limits
