// The functions of one variable: exact limits, a few ulp in between, and the same bits wherever an element
// lies.
#include <functional>

#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "vectors.hpp"

namespace test_math {

using gradus::kernels::Unary;
using namespace vectors;

double normal_cdf(double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); }
double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double times(double x, double factor) { return factor == 0 ? std::copysign(0.0, x) : x * factor; }
double gelu_tanh(double x) {
  return times(x, sigmoid(2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

struct Function {
  const char* name;
  Unary op;
  double (*oracle)(double);
  double max_ulps;  // for float
  double from, to;  // where that holds
};

const Function kFunctions[] = {
    {"neg", Unary::neg, [](double x) { return -x; }, 0, -kInf, kInf},
    {"abs", Unary::abs, [](double x) { return std::fabs(x); }, 0, -kInf, kInf},
    {"sign", Unary::sign, [](double x) { return double((x > 0) - (x < 0)); }, 0, -kInf, kInf},
    {"exp", Unary::exp, [](double x) { return std::exp(x); }, 1.5, -kInf, kInf},
    {"log", Unary::log, [](double x) { return std::log(x); }, 1.5, -kInf, kInf},
    {"sqrt", Unary::sqrt, [](double x) { return std::sqrt(x); }, 0.51, -kInf, kInf},
    {"rsqrt", Unary::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 1.5, -kInf, kInf},
    {"tanh", Unary::tanh, [](double x) { return std::tanh(x); }, 2, -kInf, kInf},
    {"sigmoid", Unary::sigmoid, sigmoid, 3, -87, kInf},
    {"relu", Unary::relu, [](double x) { return x < 0 ? 0.0 : x; }, 0, -kInf, kInf},
    {"gelu", Unary::gelu, [](double x) { return times(x, normal_cdf(x)); }, 6, -1, kInf},
    {"gelu_tanh", Unary::gelu_tanh, gelu_tanh, 5, -1, kInf},
    {"silu", Unary::silu, [](double x) { return times(x, sigmoid(x)); }, 4, -87, kInf},
    {"mish", Unary::mish, [](double x) { return times(x, x > 40 ? 1 : std::tanh(std::log1p(std::exp(x)))); },
     6, -87, kInf},
    {"sin", Unary::sin, [](double x) { return std::sin(x); }, 1, -1e4, 1e4},
    {"cos", Unary::cos, [](double x) { return std::cos(x); }, 1, -1e4, 1e4},
    {"erf", Unary::erf, [](double x) { return std::erf(x); }, 2, -kInf, kInf},
};

/// Floats of every size, both signs, subnormals, and the edges of the functions.
const std::vector<float>& sweep() {
  static const std::vector<float> all = [] {
    std::vector<float> x;
    for (uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += 30011)
      x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    for (int i = -110000; i <= 110000; ++i) x.push_back(static_cast<float>(i) * 1e-3F);
    for (const double v :
         {0.0, -0.0, kInf, -kInf, kNaN, 88.72284, 88.72283, -87.33655, -103.97208, -103.9721, 0.625, 1.0})
      x.push_back(static_cast<float>(v));
    return x;
  }();
  return all;
}

template <class T>
std::vector<T> apply(Unary op, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  gradus::kernels::unary(op, packed<2>(static_cast<int64_t>(x.size())), y.data(), x.data());
  return y;
}

TEST_CASE("float functions are right to a few ulp", "[math]") {
  at_each_level([] {
    for (const Function& f : kFunctions) {
      const std::vector<float> y = apply(f.op, sweep());
      double worst = 0;
      float where = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        const float x = sweep()[i];
        if (x < f.from || x > f.to) continue;
        const double error = ulps(y[i], f.oracle(x));
        if (!(error <= worst)) worst = error, where = x;
      }
      INFO(f.name << " at " << where);
      CHECK(worst <= f.max_ulps);
    }
  });
}

TEST_CASE("float gelus and silu are right in the left tail to 1e-5 of its size", "[math]") {
  at_each_level([] {
    for (const Unary op : {Unary::gelu, Unary::gelu_tanh, Unary::silu}) {
      const std::vector<float> y = apply(op, sweep());
      const auto oracle = kFunctions[static_cast<int>(op)].oracle;
      for (size_t i = 0; i < y.size(); ++i) {
        const float x = sweep()[i];
        const double want = oracle(x);
        if (x > -1 || std::fabs(want) < 1e-30) continue;
        if (std::fabs(y[i] - want) > 1e-5 * std::fabs(want))
          FAIL_CHECK("at " << x << ": " << y[i] << ", want " << want);
      }
    }
    SUCCEED();
  });
}

TEST_CASE("double functions are those of the C library", "[math]") {
  const auto x = values<double>(1000, 8);
  at_each_level([&] {
    for (const Function& f : kFunctions) {
      INFO(f.name);
      check_near(apply(f.op, x), [&](int64_t i) { return f.oracle(x[static_cast<size_t>(i)]); });
    }
  });
}

TEMPLATE_TEST_CASE("functions at infinities, NaN and zeros", "[math]", float, double) {
  const auto inf = static_cast<TestType>(kInf), nan = static_cast<TestType>(kNaN);
  const std::vector<TestType> x = {-inf, inf, nan, 0, static_cast<TestType>(-0.0)};
  const struct {
    Unary op;
    std::vector<TestType> want;  // a zero with its sign
  } cases[] = {
      {Unary::exp, {0, inf, nan, 1, 1}},
      {Unary::log, {nan, inf, nan, -inf, -inf}},
      {Unary::sqrt, {nan, inf, nan, 0, static_cast<TestType>(-0.0)}},
      {Unary::rsqrt, {nan, 0, nan, inf, -inf}},
      {Unary::tanh, {-1, 1, nan, 0, static_cast<TestType>(-0.0)}},
      {Unary::erf, {-1, 1, nan, 0, static_cast<TestType>(-0.0)}},
      {Unary::sigmoid, {0, 1, nan, 0.5, 0.5}},
      {Unary::gelu, {static_cast<TestType>(-0.0), inf, nan, 0, static_cast<TestType>(-0.0)}},
      {Unary::gelu_tanh, {static_cast<TestType>(-0.0), inf, nan, 0, static_cast<TestType>(-0.0)}},
      {Unary::silu, {static_cast<TestType>(-0.0), inf, nan, 0, static_cast<TestType>(-0.0)}},
  };
  at_each_level([&] {
    for (const auto& c : cases) {
      const std::vector<TestType> y = apply(c.op, x);
      for (size_t i = 0; i < x.size(); ++i) {
        INFO("op " << static_cast<int>(c.op) << " at " << x[i] << ": " << y[i]);
        if (std::isnan(c.want[i])) {
          CHECK(std::isnan(y[i]));
        } else {
          CHECK(y[i] == c.want[i]);
          CHECK(std::signbit(y[i]) == std::signbit(c.want[i]));
        }
      }
    }
  });
}

TEMPLATE_TEST_CASE("an element has the same bits at every place, offset and length", "[math]", float,
                   double) {
  const auto x = values<TestType>(100, 6);
  at_each_level([&] {
    for (const Function& f : kFunctions) {
      const std::vector<TestType> whole = apply(f.op, x);
      for (size_t begin = 0; begin < 20; ++begin)
        for (size_t n = 1; n <= 70; n += 3) {
          const std::vector<TestType> part(x.begin() + begin, x.begin() + begin + n);
          std::vector<TestType> shifted(begin + n);  // an output at every alignment too
          gradus::kernels::unary(f.op, packed<2>(n), shifted.data() + begin, x.data() + begin);
          shifted.erase(shifted.begin(), shifted.begin() + begin);
          const std::vector<TestType> want(whole.begin() + begin, whole.begin() + begin + n);
          if (!same_bits(shifted, want)) FAIL_CHECK(f.name << " of " << n << " from " << begin);
        }
    }
    SUCCEED();
  });
}

}  // namespace test_math
