// gelu, its tanh form and silu: an input times a gate that nearly closes on the left. What is left there
// keeps its digits, down to the smallest numbers, as do the slopes.
#include <algorithm>

#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "vectors.hpp"

namespace test_gates {

using gradus::kernels::Binary;
using gradus::kernels::Unary;
using namespace vectors;
using Real = long double;

const Real kPi = std::acos(Real{-1});

/// A value, and the larger of the terms it is the sum of: where they cancel, what counts is theirs.
struct Answer {
  Real value, size;
};

Answer sum_of(Real a, Real b) { return {a + b, std::max(std::fabs(a), std::fabs(b))}; }

Real density(Real x) { return std::exp(-x * x / 2) / std::sqrt(2 * kPi); }
Real normal_cdf(Real x) { return std::erfc(-x / std::sqrt(Real{2})) / 2; }
Real sigmoid(Real z) { return z < 0 ? std::exp(z) / (1 + std::exp(z)) : 1 / (1 + std::exp(-z)); }
Real twice_u(Real x) { return 2 * std::sqrt(2 / kPi) * (x + 0.044715L * x * x * x); }
Real twice_u_slope(Real x) { return 2 * std::sqrt(2 / kPi) * (1 + 3 * 0.044715L * x * x); }

Answer alone(Real x) { return {x, std::fabs(x)}; }

struct Gate {
  const char* name;
  Unary op;
  Binary grad;
  Answer (*value)(Real x);
  Answer (*slope)(Real x);
  double reach, double_reach;  // left of -reach float rounds all to 0; where the doubles are tried
};

const Gate kGates[] = {
    {"gelu", Unary::gelu, Binary::gelu_grad, [](Real x) { return alone(x * normal_cdf(x)); },
     [](Real x) { return sum_of(normal_cdf(x), x * density(x)); }, 14.6, 37},
    {"gelu_tanh", Unary::gelu_tanh, Binary::gelu_tanh_grad,
     [](Real x) { return alone(x * sigmoid(twice_u(x))); },
     [](Real x) {
       const Real z = twice_u(x);
       return sum_of(sigmoid(z), x * sigmoid(z) * sigmoid(-z) * twice_u_slope(x));
     },
     10.8, 20.8},
    {"silu", Unary::silu, Binary::silu_grad, [](Real x) { return alone(x * sigmoid(x)); },
     [](Real x) { return sum_of(sigmoid(x), x * sigmoid(x) * sigmoid(-x)); }, 109, 700},
};

/// From -reach to reach, with digits to the last place, and the same bits in T at every level.
template <class T>
std::vector<T> grid(double reach) {
  constexpr int kSteps = 60000;
  std::vector<T> x;
  for (int i = -kSteps; i <= kSteps; ++i) x.push_back(static_cast<T>(reach * (i + 0.3) / (kSteps + 1)));
  return x;
}

/// How many steps of T's grid, as it is at `want.size`, lie between.
template <class T>
double steps(T got, const Answer& want) {
  if (!std::isfinite(got)) return kInf;
  const T size = std::max(static_cast<T>(want.size), std::numeric_limits<T>::min());
  const T step = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
  return static_cast<double>(std::fabs(got - want.value) / step);
}

template <class T>
double worst(const std::vector<T>& x, const std::vector<T>& got, Answer (*oracle)(Real), T& where) {
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = steps(got[i], oracle(x[i]));
    if (error > most) most = error, where = x[i];
  }
  return most;
}

TEMPLATE_TEST_CASE("gated functions and their slopes are right to a few steps everywhere", "[math]", float,
                   double) {
  constexpr bool kFloat = sizeof(TestType) == 4;
  at_each_level([] {
    for (const Gate& gate : kGates) {
      const auto x = grid<TestType>(kFloat ? gate.reach : gate.double_reach);
      const std::vector<TestType> one(x.size(), 1);
      std::vector<TestType> y(x.size()), slope(x.size());
      const auto n = static_cast<int64_t>(x.size());
      gradus::kernels::unary(gate.op, packed<2>(n), y.data(), x.data());
      gradus::kernels::binary(gate.grad, packed<3>(n), slope.data(), one.data(), x.data());
      TestType where = 0;
      const double value_error = worst(x, y, gate.value, where);
      INFO(gate.name << ", values off by " << value_error << " at " << where);
      CHECK(value_error <= 6);
      const double slope_error = worst(x, slope, gate.slope, where);
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
