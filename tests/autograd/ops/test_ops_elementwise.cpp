// Elementwise ops where tests/annexes/cases/conform has no answer of PyTorch's: digits far out, bounds that
// are tensors, refusals, comparisons. test_math and test_gates compare the kernels with the C library.
#include "autograd/compare.hpp"

namespace gradus::test_ops_elementwise {

using namespace gradus::testing;

// f at the given points, and the gradient of its sum.
struct AtPoints {
  AtPoints(const std::vector<double>& points, const std::function<Tensor(const Tensor&)>& f) {
    const Tensor x = leaf(points, {static_cast<int64_t>(points.size())});
    value = f(x);
    gradient = grad({value}, {x}, {.grad_outputs = {ones(value.shape(), value.dtype())}})[0];
  }
  Tensor value, gradient;
};

TEST_CASE("the slope of gelu keeps its digits on the left, fused or composed") {
  for (const Gelu form : {Gelu::none, Gelu::tanh})
    for (const double at : {-1.5, -3.0, -4.5, -6.0, -8.0}) {
      const auto slope = [&](DType dtype, bool create_graph) {
        const Tensor x = full({}, at, dtype).requires_grad_();
        return grad({gelu(x, form)}, {x}, {.create_graph = create_graph})[0].item();
      };
      INFO("at " << at << ", form " << static_cast<int>(form));
      const double right = slope(DType::float64, false);
      CHECK(slope(DType::float64, true) == Catch::Approx(right).epsilon(1e-12));
      CHECK(slope(DType::float32, false) == Catch::Approx(right).epsilon(1e-6));
      CHECK(slope(DType::float32, true) == Catch::Approx(right).epsilon(2e-5));
    }
}

TEST_CASE("softplus keeps its digits on the left, and its ends") {
  for (const double at : {-1.0, -10.0, -17.0, -60.0, -80.0}) {
    const double right = std::log1p(std::exp(at));
    CHECK(softplus(full({}, at)).item() == Catch::Approx(right).epsilon(1e-6));
    CHECK(softplus(full({}, at, DType::float64)).item() == Catch::Approx(right).epsilon(1e-14));
  }
  for (const double at : {-15.0, -0.5, 0.3, 0.34, 2.0})
    CHECK(softplus(full({}, at, DType::float64), 3.0, 1.0).item() ==
          Catch::Approx(3 * at > 1 ? at : std::log1p(std::exp(3 * at)) / 3).epsilon(1e-14));
  const AtPoints p({-kInf, -800, 20.5, kInf, kNan}, [](const Tensor& x) { return softplus(x); });
  CHECK(difference(p.value, f64({0, 0, 20.5, kInf, kNan}), 0) == "");
  CHECK(difference(p.gradient, f64({0, 0, 1, 1, kNan}), 0) == "");
}

TEST_CASE("clamp by tensors: a bound gets the gradient of what it replaces") {
  const Tensor x = leaf({-2, -1, 0, 1, 2, kNan}, {6});
  const Tensor low = leaf({-1}, {1}),
               high = leaf({1, 1, 1, 1, -3, 1}, {6});  // one above the other at the end
  const Tensor y = clamp(x, low, high);
  CHECK(difference(y, f64({-1, -1, 0, 1, -3, kNan})) == "");
  y.backward(f64({1, 2, 4, 8, 16, 32}));
  CHECK(difference(x.grad(), f64({0, 2, 4, 8, 0, 0})) == "");
  CHECK(difference(low.grad(), f64({1})) == "");
  CHECK(difference(high.grad(), f64({0, 0, 0, 0, 16, 0})) == "");
  CHECK(difference(clamp(f64({-2, 2}), f64({0}).squeeze(), Tensor()), f64({0, 2})) == "");
  CHECK(difference(clamp(f64({-2, 2}), Tensor(), f64({0, 0, 1}).unsqueeze(1)),
                   f64({-2, 0, -2, 0, -2, 1}, {3, 2})) == "");
  CHECK(difference(clamp(f64({1, 1}), f64({kNan, 0}), f64({2, kNan})), f64({kNan, kNan})) == "");
  const AtPoints none({0, 3}, [](const Tensor& at) { return clamp(at, kNan, 1); });
  CHECK(difference(none.value, f64({kNan, kNan})) == "");
  CHECK(difference(none.gradient, f64({0, 0})) == "");
}

TEST_CASE("numbers take the tensor's dtype") {
  CHECK((1 - matrix({{1, 2}})).dtype() == DType::float32);
  CHECK(difference(1 - f64({1, 3}), f64({0, -2})) == "");
  CHECK(difference(f64({1, 3}) - 1, f64({0, 2})) == "");
  CHECK(difference(6 / f64({1, 3}), f64({6, 2})) == "");
  CHECK(difference(i64({4, 5}) * 3, i64({12, 15})) == "");
}

TEST_CASE("operands that do not fit are refused by name") {
  const Tensor x = f64({1, 2}), mask = bools({true, false});
  CHECK_ERROR(x + ones({2}), "[add] operands must have one dtype");
  CHECK_ERROR(ones({2, 3}) * ones({4}), "[mul] shapes must be equal or broadcast, got (2, 3) and (4,)");
  CHECK_ERROR(exp(i64({1})), "[exp] needs float32 or float64 values, got int64");
  CHECK_ERROR(clamp(x, f64({1, 2, 3}), Tensor()), "[clamp]");
  CHECK_ERROR(clamp(x, ones({2}), Tensor()), "[clamp]");
  CHECK_ERROR(masked_fill(x, f64({0, 1}), 0), "[masked_fill]");
  CHECK_ERROR(masked_fill(x, bools({true, false, true}), 0), "[masked_fill]");
  CHECK_ERROR(masked_fill(x, mask, f64({1})), "[masked_fill] the value must be a scalar, got shape (1,)");
  CHECK_ERROR(masked_fill(x, mask, full({}, 1)), "[masked_fill]");
}

TEST_CASE("comparisons give bool, NaN equals nothing") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor a = f64({1, 2, 3, kNan, kNan, 0}).to(dtype), b = f64({2, 2, 2, kNan, 2, -0.0}).to(dtype);
    CHECK(difference(eq(a, b), bools({false, true, false, false, false, true})) == "");
    CHECK(difference(ne(a, b), bools({true, false, true, true, true, false})) == "");
    CHECK(difference(lt(a, b), bools({true, false, false, false, false, false})) == "");
    CHECK(difference(le(a, b), bools({true, true, false, false, false, true})) == "");
    CHECK(difference(gt(a, b), bools({false, false, true, false, false, false})) == "");
    CHECK(difference(ge(a, b), bools({false, true, true, false, false, true})) == "");
    CHECK(difference(gt(a, 1.5), bools({false, true, true, false, false, false})) == "");
  }
  CHECK(difference(eq(i64({1, 2}), 2), bools({false, true})) == "");
  CHECK(difference(eq(bools({true, false}), bools({true, true})), bools({true, false})) == "");
  CHECK(eq(f64({1, 2}), f64({1, 2, 3, 4, 5, 6}, {3, 2})).shape() == Shape{3, 2});
  CHECK_FALSE(gt(leaf({1}, {1}), 0.0).requires_grad());
}

}  // namespace gradus::test_ops_elementwise
