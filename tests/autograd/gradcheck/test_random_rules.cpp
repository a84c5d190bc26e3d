// The checker finds each wrong one of many random rules, accuses no right one, and names kinks and values
// that are too coarse.
#include "autograd/compare.hpp"
#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/autograd/graph/record.hpp"

namespace gradus::test_random_rules {

using namespace gradus::testing;

using In = const Tensor&;
using Map = Tensor (*)(In);

struct Function {
  const char* name;
  Map value, slope;
  double low, high;  // magnitudes of x
  bool is_signed, has_kink;
};

const Function kFunctions[] = {
    {"sin", sin, cos, 1e-6, 10, true, false},
    {"exp", exp, exp, 1e-6, 10, true, false},
    {"square", [](In x) { return x * x; }, [](In x) { return 2.0 * x; }, 1e-3, 1e4, true, false},
    {"cube", [](In x) { return x * x * x; }, [](In x) { return 3.0 * x * x; }, 1e-3, 1e3, true, false},
    {"tanh", tanh, [](In x) { return 1.0 - tanh(x) * tanh(x); }, 1e-6, 3, true, false},
    {"log", log, [](In x) { return 1.0 / x; }, 1e-9, 1e4, false, false},
    {"sqrt", sqrt, [](In x) { return 0.5 / sqrt(x); }, 1e-9, 1e4, false, false},
    {"inverse", [](In x) { return 1.0 / x; }, [](In x) { return -1.0 / (x * x); }, 1e-3, 1e3, true, false},
    {"softplus", [](In x) { return softplus(x); }, sigmoid, 1e-6, 15, true, false},
    {"relu", relu, [](In x) { return gt(x, 0.0).to(x.dtype()); }, 1e-6, 1e3, true, true},
    {"abs", abs, sign, 1e-6, 1e3, true, true},
};

// gy's numbers as they lie in memory from its first one on, or from the first one of its storage on.
Tensor as_packed(const Tensor& gy, bool from_storage) {
  Tensor g = empty(gy.shape(), gy.dtype());
  const double* const from = gy.data<double>() - (from_storage ? gy.impl()->offset : 0);
  std::copy_n(from, gy.numel(), g.mutable_data<double>());
  return g;
}

// Linear maps of a matrix (m, n), and their transposes.
struct Linear {
  const char* name;
  Tensor (*forward)(const Tensor& x);
  Tensor (*back)(const Tensor& g, const Shape& shape);
};
const Linear kLinear[] = {
    {"same", [](In x) { return x; }, [](In g, const Shape&) { return g; }},
    {"transposed", [](In x) { return x.mT(); }, [](In g, const Shape&) { return g.mT(); }},
    {"sums", [](In x) { return sum(x, {1}); }, [](In g, const Shape& s) { return g.unsqueeze(1).expand(s); }},
    {"mean", [](In x) { return mean(x); },
     [](In g, const Shape& s) { return (g / static_cast<double>(s.numel())).expand(s); }},
    {"running", [](In x) { return cumsum(x, 1); }, [](In g, const Shape&) { return cumsum(g, 1, true); }},
    {"repeated",
     [](In x) {
       return x.unsqueeze(0).expand({2, x.size(0), x.size(1)});
     },
     [](In g, const Shape&) { return sum(g, {0}); }},
};

struct RightRule {
  const Function& function;
  const Linear& linear;
  double scale;
  Shape shape;

  Tensor without_slope(In gy) const { return linear.back(gy * scale, shape); }
  Tensor operator()(In at, In gy) const { return without_slope(gy) * function.slope(at); }
};

// A wrong rule, made of the right one.
struct Fault {
  const char* name;
  Tensor (*rule)(const RightRule& right, In at, In gy);
  int64_t strided = 0;  // wrong for some layouts of gy alone, if that has at least so many numbers
};
using Right = const RightRule&;
const Fault kFaults[] = {
    {"factor", [](Right right, In at, In gy) { return 2.0 * right(at, gy); }},
    {"sign", [](Right right, In at, In gy) { return neg(right(at, gy)); }},
    {"small factor", [](Right right, In at, In gy) { return 1.001 * right(at, gy); }},
    {"no slope", [](Right right, In, In gy) { return right.without_slope(gy) * 1.0; }},
    {"gy ignored", [](Right right, In at, In gy) { return right(at, ones(gy.shape(), DType::float64)); }},
    {"gy taken for packed", [](Right right, In at, In gy) { return right(at, as_packed(gy, false)); }, 2},
    {"gy without its offset",
     [](Right right, In at, In gy) {
       return right(at, as_packed(gy.is_contiguous() ? gy : gy.contiguous(), true));
     },
     1},
    {"one element",
     [](Right right, In at, In gy) {
       const auto n = static_cast<double>(at.numel());
       return where(eq(arange(0, n).reshape(at.shape()), n - 1), 1.01 * right(at, gy), right(at, gy));
     }},
    {"no gradient", [](Right, In at, In) { return zeros(at.shape(), DType::float64); }},
    {"writes",
     [](Right right, In at, In gy) {
       const Tensor result = right(at, gy);
       Tensor(gy).copy_(gy.detach() * 2.0);
       return result;
     },
     1},
    {"elsewhere", [](Right right, In at, In gy) { return right(at * 1.01, gy); }},
    {"something added", [](Right right, In at, In gy) { return right(at, gy) + 0.01 * abs(right(at, gy)); }},
    {"gy twice", [](Right right, In at, In gy) { return right(at, gy * gy); }},
};

struct Case {
  std::string name;
  Tensor x;
  GradcheckFunction f;
  bool is_wrong, is_inexact, has_kink, is_coarse;
};

Case random_case(uint64_t seed) {
  Generator g(seed);
  const auto below = [&](int n) { return static_cast<int>(g.uniform() * n); };
  const Function& function = kFunctions[below(std::size(kFunctions))];
  const Linear& linear = kLinear[below(std::size(kLinear))];
  const int64_t rows = 1 + below(4), cols = 2 + below(3);
  const double magnitude = function.low * std::pow(function.high / function.low, g.uniform());
  Tensor x = (rand({rows, cols}, g, DType::float64) * 0.9 + 0.1) * magnitude;
  if (function.is_signed) x = where(lt(rand({rows, cols}, g, DType::float64), 0.5), neg(x), x);
  const bool at_kink = function.has_kink && below(3) == 0;
  if (at_kink) x = masked_fill(x, eq(arange(0, static_cast<double>(x.numel())).reshape(x.shape()), 0.0), 0.0);
  const double scale = std::pow(10.0, 4 * below(4) - 8);
  const double size = linear.forward(abs(function.value(x)) * scale).to_vector<double>()[0];
  const double beyond[] = {0, 0, 0, 1e3, 1e5, 1e15};  // times the value
  const double offset = size * beyond[below(6)];
  const bool is_coarse = offset >= 1e14 * size && offset > 0;
  const Fault* const fault = below(2) == 0 ? nullptr : &kFaults[below(std::size(kFaults))];

  const Tensor values = linear.forward(function.value(x)) * scale + offset;
  const RightRule right{function, linear, scale, x.shape()};
  const auto given = [=](In at, In gy) { return fault ? fault->rule(right, at, gy) : right(at, gy); };
  const GradcheckFunction f = [=](const std::vector<Tensor>& in) {
    const Tensor at = in[0].detach();
    return record(OpName::custom("random"),
                  (linear.forward(function.value(at)) * scale + offset).contiguous(),
                  {{in[0], [given, at = Saved(in[0])](In gy) { return given(at, gy) + 0.0; }}});
  };
  // Some faults change nothing for some functions.
  const Tensor gy = randn(values.shape(), g, DType::float64);
  const Tensor want = right(x, gy);
  const bool is_zero = fault && std::string_view(fault->name) == "no gradient";
  const bool is_layout = fault && fault->strided > 0 && values.numel() >= fault->strided;
  const double apart = !fault                 ? 0
                       : is_coarse && is_zero ? 1e-5  // nothing shows a gradient that is less than rounding
                       : is_layout ? (amin(abs(want)).item() > 0 ? 1 : 1e-5)  // some of gy may not count
                                   : (amax(abs(given(x, gy) - want)) / (amax(abs(want)) + 1e-300)).item();
  const std::string name =
      concat("seed ", seed, ": ", function.name, ", ", linear.name, ", x ", magnitude, ", scale ", scale,
             ", offset ", offset, ", fault: ", fault ? fault->name : "none");
  return {name, x, f, apart > 1e-4, apart > 1e-12, at_kink, is_coarse};
}

void check_rules(uint64_t first, uint64_t last) {
  int wrong = 0, unjudged = 0;
  for (uint64_t seed = first; seed < last; ++seed) {
    const Case c = random_case(seed);
    const GradcheckReport r = gradcheck(c.f, {c.x}, {.seed = seed});
    INFO(c.name << ": " << r.message);
    const bool is_kink = r.message.find("not smooth") != std::string::npos,
               is_coarse = r.message.find("too coarse") != std::string::npos;
    if (c.is_wrong) {  // a gradient of 1e-15 of the value may pass
      CHECK((!r.passed || c.is_coarse));
    } else if (!c.is_inexact) {
      CHECK((r.passed || (is_kink && c.has_kink) || (is_coarse && c.is_coarse)));
    }
    if (is_kink) CHECK(c.has_kink);
    if (is_coarse) CHECK(c.is_coarse);
    wrong += c.is_wrong ? 1 : 0;
    unjudged += is_kink || is_coarse ? 1 : 0;
  }
  CHECK(wrong > static_cast<int>(last - first) / 4);
  CHECK(unjudged > static_cast<int>(last - first) / 50);
}

TEST_CASE("of 100 random rules each wrong one is found and no right one accused") { check_rules(0, 100); }
// Of the 1,000 that follow, two at the limits of float64 fail, seeds 1115 and 1252: abs near its kink beside
// values of 1e14 times the function.
TEST_CASE("of 1,000 random rules each wrong one is found and no right one accused", "[soak]") {
  check_rules(100, 1100);
}

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
      {[](const auto& in) { return sqrt(in[0]); }, {0, 1}, "not finite", "at (0,)"},
      {[](const auto& in) { return in[0] * in[0] + 1e14; }, {1, 2}, "too coarse to judge", "at (0,)"},
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

TEST_CASE("a rule that writes into its upstream gradient is found by that") {
  const auto f = [](const std::vector<Tensor>& in) {
    return record(OpName::custom("mine"), in[0].detach() * 3.0, {{in[0], [](const Tensor& gy) {
                                                                    Tensor same = gy;
                                                                    const Tensor result = gy * 3.0;
                                                                    same.mutable_data<double>()[0] *= 2.0;
                                                                    return result;
                                                                  }}});
  };
  CHECK_THAT(gradcheck(f, {f64({1, 2})}).message, ContainsSubstring("must not write into the gradient"));
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

}  // namespace gradus::test_random_rules
