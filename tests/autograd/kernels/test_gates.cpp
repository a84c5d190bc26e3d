// gelu, its tanh form and silu: an input times a gate that nearly closes on the left. What is left there
// keeps its digits, down to the smallest numbers, as do the slopes.
#include "plain.hpp"

namespace test_gates {

using gradus::kernels::Binary;
using gradus::kernels::Unary;
using plain::Exact;
using plain::Real;
using plain::WithSlope;
using namespace vectors;

struct Gate {
  const char* name;
  Unary op;
  Binary grad;
  Real (*value)(Real x), (*slope)(Real x);
  double reach, double_reach;  // left of -reach float rounds all to 0; where the doubles are tried
};

const Gate kGates[] = {
    {"gelu", Unary::gelu, Binary::gelu_grad, Exact::gelu, plain::slope<WithSlope::gelu>, 14.6, 37},
    {"gelu_tanh", Unary::gelu_tanh, Binary::gelu_tanh_grad, Exact::gelu_tanh,
     plain::slope<WithSlope::gelu_tanh>, 10.8, 20.8},
    {"silu", Unary::silu, Binary::silu_grad, Exact::silu, plain::slope<WithSlope::silu>, 109, 700},
    {"mish", Unary::mish, Binary::mish_grad, Exact::mish, plain::slope<WithSlope::mish>, 0,
     0},  // only far out
};

/// From -reach to reach, with digits to the last place, and the same bits in T at every level.
template <class T>
std::vector<T> grid(double reach) {
  constexpr int kSteps = 60000;
  std::vector<T> x;
  for (int i = -kSteps; i <= kSteps; ++i) x.push_back(static_cast<T>(reach * (i + 0.3) / (kSteps + 1)));
  return x;
}

/// The most steps of T's grid between an oracle and `got`; for a slope, at the size of its larger term.
template <class T>
double worst(const Gate& gate, Real (*oracle)(Real), const std::vector<T>& x, const std::vector<T>& got,
             T& where) {
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const Real want = oracle(x[i]), term = oracle == gate.slope ? gate.value(x[i]) / x[i] : 0;
    const auto terms = static_cast<T>(std::max(std::fabs(want - term), term));
    const T size = std::max(terms, std::numeric_limits<T>::min());
    const T step = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
    const double error = std::isfinite(got[i]) ? static_cast<double>(std::fabs(got[i] - want) / step) : kInf;
    if (error > most) most = error, where = x[i];
  }
  return most;
}

TEMPLATE_TEST_CASE("gated functions and their slopes are right to a few steps everywhere", "[math]", float,
                   double) {
  constexpr bool kFloat = sizeof(TestType) == 4;
  at_each_level([] {
    for (const Gate& gate : kGates) {
      if (gate.reach == 0) continue;
      const auto x = grid<TestType>(kFloat ? gate.reach : gate.double_reach);
      const std::vector<TestType> one(x.size(), 1);
      std::vector<TestType> y(x.size()), slope(x.size());
      const auto n = static_cast<int64_t>(x.size());
      gradus::kernels::unary(gate.op, packed<2>(n), y.data(), x.data());
      gradus::kernels::binary(gate.grad, packed<3>(n), slope.data(), one.data(), x.data());
      TestType where = 0;
      const double value_error = worst(gate, gate.value, x, y, where);
      INFO(gate.name << ", values off by " << value_error << " at " << where);
      CHECK(value_error <= 6);
      const double slope_error = worst(gate, gate.slope, x, slope, where);
      INFO(gate.name << ", slopes off by " << slope_error << " at " << where);
      CHECK(slope_error <= 8);
    }
  });
}

TEMPLATE_TEST_CASE("far out gates are open or closed, and so are their slopes", "[math]", float, double) {
  const auto inf = static_cast<TestType>(kInf), most = std::numeric_limits<TestType>::max();
  const std::vector<TestType> x = {-inf, -most, -1e5, -1500, 1500, 1e5, most, inf}, one(x.size(), 1);
  at_each_level([&] {
    for (const Gate& gate : kGates) {
      INFO(gate.name);
      std::vector<TestType> y(x.size()), slope(x.size());
      gradus::kernels::unary(gate.op, packed<2>(8), y.data(), x.data());
      gradus::kernels::binary(gate.grad, packed<3>(8), slope.data(), one.data(), x.data());
      for (size_t i = 0; i < x.size(); ++i) {
        CHECK(y[i] == (x[i] < 0 ? TestType{0} : x[i]));
        CHECK(std::signbit(y[i]) == (x[i] < 0));
        CHECK(slope[i] == (x[i] < 0 ? TestType{0} : TestType{1}));
      }
    }
  });
}

}  // namespace test_gates
