// The functions of one variable: exact limits, a few ulp in between, the same bits wherever an element lies.
#include "plain.hpp"

namespace test_math {

using gradus::kernels::Unary;
using plain::Exact;
using plain::Real;
using namespace vectors;

struct Function {
  const char* name;
  Unary op;
  Real (*oracle)(Real);
  double max_ulps;         // for float
  double from, to = kInf;  // where that holds
};

const Function kFunctions[] = {
    {"neg", Unary::neg, Exact::neg, 0, -kInf},
    {"abs", Unary::abs, Exact::absolute, 0, -kInf},
    {"sign", Unary::sign, [](Real x) { return Real((x > 0) - (x < 0)); }, 0, -kInf},
    {"exp", Unary::exp, Exact::exponential, 1.5, -kInf},
    {"log", Unary::log, Exact::logarithm, 1.5, -kInf},
    {"sqrt", Unary::sqrt, Exact::root, 0.51, -kInf},
    {"rsqrt", Unary::rsqrt, Exact::rsqrt, 1.5, -kInf},
    {"tanh", Unary::tanh, Exact::tangent, 2, -kInf},
    {"sigmoid", Unary::sigmoid, Exact::sigmoid, 3, -87},
    {"relu", Unary::relu, [](Real x) { return x < 0 ? 0 : x; }, 0, -kInf},
    {"gelu", Unary::gelu, Exact::gelu, 6, -1},
    {"gelu_tanh", Unary::gelu_tanh, Exact::gelu_tanh, 5, -1},
    {"silu", Unary::silu, Exact::silu, 4, -87},
    {"mish", Unary::mish, Exact::mish, 6, -87},
    {"sin", Unary::sin, Exact::sine, 1, -1e4, 1e4},
    {"cos", Unary::cos, Exact::cosine, 1, -1e4, 1e4},
    {"erf", Unary::erf, Exact::error, 2, -kInf},
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
std::vector<T> applied(Unary op, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  gradus::kernels::unary(op, packed<2>(static_cast<int64_t>(x.size())), y.data(), x.data());
  return y;
}

TEST_CASE("float functions are right to a few ulp", "[math]") {
  for (const Function& f : kFunctions) {
    std::vector<double> want;
    for (const float x : sweep()) want.push_back(static_cast<double>(f.oracle(x)));
    at_each_level([&] {
      const std::vector<float> y = applied(f.op, sweep());
      double worst = 0;
      float where = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        const float x = sweep()[i];
        if (x < f.from || x > f.to) continue;
        const double error = ulps(y[i], want[i]);
        if (!(error <= worst)) worst = error, where = x;
      }
      INFO(f.name << " at " << where);
      CHECK(worst <= f.max_ulps);
    });
  }
}

TEMPLATE_TEST_CASE("functions are their definitions, at infinities, NaN and zeros too", "[math]", float,
                   double) {
  std::vector<TestType> x = values<TestType>(sizeof(TestType) == 4 ? 0 : 1000, 8);
  for (const double special : {-kInf, kInf, kNaN, 0.0, -0.0}) x.push_back(static_cast<TestType>(special));
  at_each_level([&] {
    for (const Function& f : kFunctions) {
      INFO(f.name);
      const std::vector<TestType> y = applied(f.op, x);
      check_near(y, [&](int64_t i) { return f.oracle(x[static_cast<size_t>(i)]); });
      for (size_t i = 0; i < x.size(); ++i)
        if (y[i] == 0) CHECK(std::signbit(y[i]) == std::signbit(f.oracle(x[i])));
    }
  });
}

TEMPLATE_TEST_CASE("an element has the same bits at every place, offset and length", "[math]", float,
                   double) {
  const auto x = values<TestType>(100, 6);
  at_each_level([&] {
    for (const Function& f : kFunctions) {
      const std::vector<TestType> whole = applied(f.op, x);
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
