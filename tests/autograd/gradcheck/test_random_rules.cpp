// The checker finds each wrong one of many random rules and accuses no right one.
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
    {"sigmoid", sigmoid, [](In x) { return sigmoid(x) * (1.0 - sigmoid(x)); }, 1e-6, 40, true, false},
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
    {"small factor", [](Right right, In at, In gy) { return (1 + 1e-7) * right(at, gy); }},
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
  const double beyond[] = {0, 0, 1e3, 1e5, 1e9, 1e15};  // times the value
  const double offset = size * beyond[below(6)];
  const bool is_coarse = offset >= 1e8 * size && offset > 0;
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
  return {name, x, f, apart > 1e-8, apart > 1e-12, at_kink, is_coarse};
}

void check_rules(uint64_t first, uint64_t last) {
  int wrong = 0, unjudged = 0;
  for (uint64_t seed = first; seed < last; ++seed) {
    const Case c = random_case(seed);
    const GradcheckReport r = gradcheck(c.f, {c.x}, {.shrinking = 0, .seed = seed});
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
  CHECK(unjudged > static_cast<int>(last - first) / 60);
}

TEST_CASE("of 100 random rules each wrong one is found and no right one accused") { check_rules(0, 100); }
TEST_CASE("of 1,000 random rules each wrong one is found and no right one accused", "[soak]") {
  check_rules(100, 1100);
}

}  // namespace gradus::test_random_rules
