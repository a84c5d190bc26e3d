// swiglu against its definition in long double, from where the gate is shut to where it is open.
#include "autograd/compare.hpp"
#include "autograd/kernels/plain.hpp"

namespace gradus::test_ops_swiglu {

using namespace gradus::testing;
using plain::Real;
using vectors::at_each_level;

/// The largest |a - b| in units of epsilon * |b|, of b that are not denormal.
double worst_error(const Tensor& a, const std::vector<double>& b, double epsilon, double least) {
  return plain::worst_error(a.to(DType::float64).to_vector<double>(), b,
                            [&](size_t i) { return epsilon * std::max(std::abs(b[i]), least); });
}

void check_definition(DType dtype, double reach, double epsilon, double least) {
  std::vector<double> values;
  for (int i = -2000; i <= 2000; ++i) values.push_back(reach * (i + 0.3) / 2000);
  const auto n = static_cast<int64_t>(values.size());
  Generator g(7);
  const auto leaf_of = [&](const Tensor& t) { return t.to(dtype).detach().requires_grad_(); };
  const Tensor gate = leaf_of(tensor(values, {n})), up = leaf_of(randn({n}, g, DType::float64)),
               gy = randn({n}, g, DType::float64).to(dtype);
  const Tensor y = swiglu(gate, up);
  const std::vector<Tensor> grads = grad({y}, {gate, up}, {.grad_outputs = {gy}});

  std::vector<double> expected_y, expected_gate, expected_up;
  const auto wide = [](const Tensor& t) { return t.detach().to(DType::float64).to_vector<double>(); };
  const std::vector<double> gates = wide(gate), ups = wide(up), gys = wide(gy);
  for (size_t i = 0; i < gates.size(); ++i) {
    expected_y.push_back(static_cast<double>(plain::Exact::silu(gates[i]) * ups[i]));
    expected_up.push_back(static_cast<double>(gys[i] * plain::Exact::silu(gates[i])));
    expected_gate.push_back(
        static_cast<double>(Real{gys[i]} * ups[i] * plain::slope<plain::WithSlope::silu>(gates[i])));
  }
  CHECK(worst_error(y, expected_y, epsilon, least) < 8);
  CHECK(worst_error(grads[1], expected_up, epsilon, least) < 8);
  // The slope's two terms cancel where it is 0, near -1.28: what counts there is their size.
  CHECK(worst_error(grads[0], expected_gate, epsilon, 1e-3) < 2000);
}

TEST_CASE("swiglu is silu(gate) * up with its gradients, wherever the gate stands, at every level") {
  at_each_level([&] {
    for (const double reach : {0.5, 6.0, 80.0}) {
      INFO("gates up to " << reach);
      check_definition(DType::float32, reach, 0x1p-23, 1e-30);
      check_definition(DType::float64, reach, 0x1p-52, 1e-300);
    }
    // Down to where e^gate is subnormal: what counts there is the step of those.
    check_definition(DType::float32, 110, 0x1p-23, std::numeric_limits<float>::min());
    check_definition(DType::float64, 750, 0x1p-52, std::numeric_limits<double>::min());
    CHECK(difference(swiglu(f64({-kInf, kInf, kNan, 0}), f64({1, 2, 3, 4})), f64({0, kInf, kNan, 0})) == "");
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Tensor gate = f64({-kInf, -1e30, -1000, 1000, kInf}).to(dtype).requires_grad_(),
                   up = f64({2, 3, 4, 5, 6}).to(dtype).requires_grad_();
      const Tensor gy = f64({-7, 8, 9, 10, 11}).to(dtype);
      const std::vector<Tensor> grads = grad({swiglu(gate, up)}, {gate, up}, {.grad_outputs = {gy}});
      CHECK(difference(grads[0], f64({0, 0, 0, 50, 66}).to(dtype)) == "");
      CHECK(difference(grads[1], f64({0, 0, 0, 10000, kInf}).to(dtype)) == "");
    }
  });
}

TEST_CASE("swiglu refuses operands that do not fit") {
  CHECK_THROWS_WITH(swiglu(ones({2, 3}), ones({3})),
                    "[swiglu] gate and up must be of one shape, got (2, 3) and (3,).");
  CHECK_ERROR(swiglu(ones({2}), ones({2}, DType::float64)), "[swiglu] operands must have one dtype");
  CHECK_ERROR(swiglu(zeros({2}, DType::int64), zeros({2}, DType::int64)),
              "[swiglu] needs float32 or float64");
}

}  // namespace gradus::test_ops_swiglu
