// Values and edge conventions of elementwise ops. Unless a comment says otherwise, edges are those of
// PyTorch 1.13.
#include "autograd/compare.hpp"

namespace gradus::test_ops_elementwise {

using namespace gradus::testing;

using Op = Tensor (*)(const Tensor&);

// f at the given points, and the gradient of its sum.
struct AtPoints {
  AtPoints(const std::vector<double>& points, const std::function<Tensor(const Tensor&)>& f) {
    const Tensor x = leaf(points, {static_cast<int64_t>(points.size())});
    value = f(x);
    gradient = grad({value}, {x}, {.grad_outputs = {ones(value.shape(), value.dtype())}})[0];
  }
  Tensor value, gradient;
};

TEST_CASE("unary ops agree with the C library, in any layout") {
  struct Known {
    const char* name;
    Op op;
    double (*f)(double);
    double low, high;
  };
  const std::vector<Known> all = {
      {"neg", neg, [](double x) { return -x; }, -3, 3},
      {"abs", abs, [](double x) { return std::abs(x); }, -3, 3},
      {"exp", exp, [](double x) { return std::exp(x); }, -30, 30},
      {"log", log, [](double x) { return std::log(x); }, 1e-6, 50},
      {"sqrt", sqrt, [](double x) { return std::sqrt(x); }, 0, 50},
      {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }, 1e-3, 50},
      {"tanh", tanh, [](double x) { return std::tanh(x); }, -12, 12},
      {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -40, 40},
      {"relu", relu, [](double x) { return x > 0 ? x : 0; }, -3, 3},
      {"silu", silu, [](double x) { return x / (1 + std::exp(-x)); }, -40, 40},
      {"softplus", [](const Tensor& x) { return softplus(x); },
       [](double x) { return x > 20 ? x : std::log1p(std::exp(x)); }, -40, 40},
      {"softplus, beta and threshold", [](const Tensor& x) { return softplus(x, 3.0, 1.0); },
       [](double x) { return 3 * x > 1 ? x : std::log1p(std::exp(3 * x)) / 3; }, -15, 15},
      {"mish", mish, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, -40, 40},
      {"sin", sin, [](double x) { return std::sin(x); }, -20, 20},
      {"cos", cos, [](double x) { return std::cos(x); }, -20, 20},
      {"erf", erf, [](double x) { return std::erf(x); }, -5, 5},
      {"sign", sign, [](double x) { return double((x > 0) - (x < 0)); }, -3, 3},
      {"gelu", [](const Tensor& x) { return gelu(x); },
       [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }, -8, 8},
      {"gelu tanh", [](const Tensor& x) { return gelu(x, Gelu::tanh); },
       [](double x) {
         return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
       },
       -8, 8},
  };
  Generator generator(1);
  for (const Known& k : all) {
    INFO(k.name);
    const Tensor x = k.low + (k.high - k.low) * rand({7, 131}, generator, DType::float64);
    std::vector<double> expected = x.to_vector<double>();
    for (double& v : expected) v = k.f(v);
    const Tensor y = f64(expected, x.shape());
    CHECK(difference(k.op(x), y, 1e-14) == "");
    CHECK(difference(k.op(x.mT()), y.mT(), 1e-14) == "");
    CHECK(difference(k.op(x.slice(1, 3, 131, 7)), y.slice(1, 3, 131, 7), 1e-14) == "");
    // float32: within a few units in the last place of the same function at the rounded argument.
    const Tensor x32 = x.to(DType::float32);
    CHECK(difference(k.op(x32).to(DType::float64), k.op(x32.to(DType::float64)), 1e-6) == "");
  }
}

TEST_CASE("GELU has PyTorch's numbers") {
  const Tensor x = f64({-3, -1, -0.1, 0, 0.5, 1, 2});
  CHECK(difference(gelu(x),
                   f64({-0.00404969409489031, -0.15865525393145702, -0.0460172162722971, 0,
                        0.34573123063700656, 0.84134474606854293, 1.9544997361036416}),
                   1e-14) == "");
  CHECK(difference(gelu(x, Gelu::tanh),
                   f64({-0.0036373920817729943, -0.15880800939172324, -0.04601724895456484, 0,
                        0.34571400982514394, 0.84119199060827676, 1.9545976940877752}),
                   1e-14) == "");
}

TEST_CASE("relu and abs have gradient 0 at 0") {
  const AtPoints r({-1, 0, -0.0, 2}, Op(relu));
  CHECK(difference(r.value, f64({0, 0, 0, 2})) == "");
  CHECK(difference(r.gradient, f64({0, 0, 0, 1})) == "");
  const AtPoints a({-1, 0, -0.0, 2}, Op(abs));
  CHECK(difference(a.value, f64({1, 0, 0, 2})) == "");
  CHECK(difference(a.gradient, f64({-1, 0, 0, 1})) == "");
}

TEST_CASE("sqrt, rsqrt and log at 0") {
  const AtPoints s({0, 4}, Op(sqrt)), r({0, 4}, Op(rsqrt)), l({0, 4}, Op(log));
  CHECK(difference(s.value, f64({0, 2})) == "");
  CHECK(difference(s.gradient, f64({kInf, 0.25})) == "");
  CHECK(difference(r.value, f64({kInf, 0.5})) == "");
  CHECK(difference(r.gradient, f64({-kInf, -0.0625})) == "");
  CHECK(difference(l.value, f64({-kInf, std::log(4)})) == "");
  CHECK(difference(l.gradient, f64({kInf, 0.25})) == "");
  CHECK(difference(sqrt(f64({-1})), f64({kNan})) == "");
  CHECK(difference(log(f64({-1})), f64({kNan})) == "");
}

TEST_CASE("saturated values have finite gradients") {
  const std::vector<double> far = {-1e4, -800, 800, 1e4};
  for (const Op op : {Op(tanh), Op(sigmoid), Op(silu), Op(mish), Op([](const Tensor& x) { return gelu(x); }),
                      Op([](const Tensor& x) { return gelu(x, Gelu::tanh); }), Op(erf)}) {
    const AtPoints p(far, op);
    for (const double g : p.gradient.to_vector<double>()) CHECK((std::abs(g) < 1e-300 || g == 1));
    for (const double y : p.value.to_vector<double>()) CHECK(std::isfinite(y));
  }
}

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
  const AtPoints p({-kInf, -800, 20.5, kInf, kNan}, [](const Tensor& x) { return softplus(x); });
  CHECK(difference(p.value, f64({0, 0, 20.5, kInf, kNan}), 0) == "");
  CHECK(difference(p.gradient, f64({0, 0, 1, 1, kNan}), 0) == "");
}

TEST_CASE("gelu, silu and mish at infinity have their limits as values") {  // PyTorch: NaN at -inf
  const Tensor x = f64({-kInf, kInf}), limits = f64({0, kInf});
  for (const Tensor& y : {gelu(x), gelu(x, Gelu::tanh), silu(x), mish(x)}) CHECK(difference(y, limits) == "");
}

TEST_CASE("far outside gates are open or shut, with slopes of 1 and 0") {
  const std::vector<Op> gates{[](const Tensor& x) { return gelu(x); },
                              [](const Tensor& x) { return gelu(x, Gelu::tanh); }, Op(silu), Op(mish)};
  for (size_t i = 0; i < gates.size(); ++i)
    for (const double at : {200.0, 1e4, 1e7, 1e20, 3e38}) {
      INFO("gate " << i << " at " << at);
      const Tensor x = f32({-at, at}).requires_grad_();
      const Tensor y = gates[i](x);
      sum(y).backward();
      CHECK(difference(y, f32({0, at}), 0) == "");
      CHECK(difference(x.grad(), f32({0, 1}), 0) == "");
    }
}

TEST_CASE("NaN goes through") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor x = f64({kNan}).to(dtype);
    for (const Tensor& y : {neg(x), abs(x), exp(x), log(x), sqrt(x), rsqrt(x), tanh(x), sigmoid(x), relu(x),
                            silu(x), mish(x), sin(x), cos(x), erf(x), gelu(x), clamp(x, -1, 1)}) {
      INFO(y);
      CHECK(std::isnan(y.item()));
    }
  }
}

TEST_CASE("clamp passes gradients inside and at both bounds") {
  const AtPoints c({-2, -1, 0.5, 1, 3, kNan}, [](const Tensor& x) { return clamp(x, -1, 1); });
  CHECK(difference(c.value, f64({-1, -1, 0.5, 1, 1, kNan})) == "");
  CHECK(difference(c.gradient, f64({0, 1, 1, 1, 0, 0})) == "");
  const AtPoints m({0, 1.5, 3}, [](const Tensor& x) { return clamp(x, 2, 1); });
  CHECK(difference(m.value, f64({1, 1, 1})) == "");
  CHECK(difference(m.gradient, f64({0, 0, 0})) == "");
  const AtPoints n({0, 3}, [](const Tensor& x) { return clamp(x, kNan, 1); });
  CHECK(difference(n.value, f64({kNan, kNan})) == "");
  CHECK(difference(n.gradient, f64({0, 0})) == "");
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
  CHECK_ERROR(clamp(f64({1, 2}), f64({1, 2, 3}), Tensor()), "[clamp]");
  CHECK_ERROR(clamp(f64({1}), ones({1}), Tensor()), "[clamp]");
}

TEST_CASE("maximum and minimum share ties; NaN wins") {
  const Tensor a = leaf({1, 2, 3}, {3}), b = leaf({1, 5, 2}, {3});
  sum(maximum(a, b)).backward();
  CHECK(difference(a.grad(), f64({0.5, 0, 1})) == "");
  CHECK(difference(b.grad(), f64({0.5, 1, 0})) == "");
  const Tensor c = leaf({1, 2, 3}, {3}), d = leaf({1, 5, 2}, {3});
  sum(minimum(c, d)).backward();
  CHECK(difference(c.grad(), f64({0.5, 1, 0})) == "");
  CHECK(difference(d.grad(), f64({0.5, 0, 1})) == "");
  CHECK(difference(maximum(f64({kNan, 1}), f64({1, kNan})), f64({kNan, kNan})) == "");
  CHECK(difference(minimum(f64({kNan, 1}), f64({1, kNan})), f64({kNan, kNan})) == "");
}

TEST_CASE("pow at its edges") {
  const Tensor base = leaf({0, 0, -2, -2, 0, 3}, {6});
  const Tensor exponent = leaf({0, 2, 3, 0.5, 1, 0}, {6});
  const Tensor y = pow(base, exponent);
  CHECK(difference(y, f64({1, 0, -8, kNan, 0, 1})) == "");
  y.backward(ones({6}, DType::float64));
  CHECK(difference(base.grad(), f64({0, 0, 12, kNan, 1, 0})) == "");
  CHECK(difference(exponent.grad(), f64({0, 0, kNan, kNan, 0, std::log(3)})) == "");
  const AtPoints square({-3, 0, 2}, [](const Tensor& x) { return pow(x, 2.0); });
  CHECK(difference(square.gradient, f64({-6, 0, 4})) == "");
}

TEST_CASE("division by zero") {
  const Tensor a = leaf({1, -1, 0}, {3}), b = leaf({0, 0, 0}, {3});
  const Tensor y = a / b;
  CHECK(difference(y, f64({kInf, -kInf, kNan})) == "");
  y.backward(ones({3}, DType::float64));
  CHECK(difference(a.grad(), f64({kInf, kInf, kInf})) == "");
  CHECK(difference(b.grad(), f64({-kInf, kInf, kNan})) == "");
}

TEST_CASE("where lets NaN of the branch not taken into the gradient; masking before does not") {
  const AtPoints trap({0, 4}, [](const Tensor& x) { return where(gt(x, 0.0), sqrt(x), x); });
  CHECK(difference(trap.value, f64({0, 2})) == "");
  CHECK(difference(trap.gradient, f64({kNan, 0.25})) == "");
  const AtPoints safe({0, 4}, [](const Tensor& x) {
    const Tensor zero = le(x, 0.0);
    return where(zero, x, sqrt(masked_fill(x, zero, 1.0)));
  });
  CHECK(difference(safe.gradient, f64({1, 0.25})) == "");
}

TEST_CASE("masked_fill with -inf has gradient 0 there") {
  const Tensor x = leaf({1, 2, 3}, {3});
  const Tensor y = masked_fill(x, bools({false, true, false}), -kInf);
  CHECK(difference(y, f64({1, -kInf, 3})) == "");
  y.backward(f64({5, 6, 7}));
  CHECK(difference(x.grad(), f64({5, 0, 7})) == "");
  CHECK_ERROR(masked_fill(f64({1, 2}), f64({0, 1}), 0), "[masked_fill]");
  CHECK_ERROR(masked_fill(f64({1, 2}), bools({true, false, true}), 0), "[masked_fill]");
}

TEST_CASE("masked_fill broadcasts both ways, and a scalar's gradient is the sum over what it fills") {
  const Tensor mask = bools({true, false, true, false}).reshape({2, 2});
  CHECK(difference(masked_fill(f64({1, 2}), mask, 0.0), f64({0, 2, 0, 2}, {2, 2})) == "");
  const Tensor x = leaf({1, 2}, {2}), value = leaf({9}, {});
  const Tensor y = masked_fill(x, mask, value);
  CHECK(difference(y, f64({9, 2, 9, 2}, {2, 2})) == "");
  y.backward(f64({1, 2, 4, 8}, {2, 2}));
  CHECK(difference(x.grad(), f64({0, 10})) == "");
  CHECK(value.grad().item() == 5);
  CHECK_ERROR(masked_fill(x, mask, f64({1})), "[masked_fill] the value must be a scalar, got shape (1,)");
  CHECK_ERROR(masked_fill(x, mask, full({}, 1)), "[masked_fill]");
}

TEST_CASE("numbers take the tensor's dtype") {
  CHECK((1 - matrix({{1, 2}})).dtype() == DType::float32);
  CHECK(difference(1 - f64({1, 3}), f64({0, -2})) == "");
  CHECK(difference(f64({1, 3}) - 1, f64({0, 2})) == "");
  CHECK(difference(6 / f64({1, 3}), f64({6, 2})) == "");
  CHECK(difference(i64({4, 5}) * 3, i64({12, 15})) == "");
}

TEST_CASE("mixed dtypes and shapes that do not fit are refused by name") {
  CHECK_ERROR(f64({1}) + ones({1}), "[add] operands must have one dtype");
  CHECK_ERROR(ones({2, 3}) * ones({4}), "[mul] shapes must be equal or broadcast, got (2, 3) and (4,)");
  CHECK_ERROR(exp(i64({1})), "[exp] needs float32 or float64 values, got int64");
  CHECK_ERROR(exp(Tensor()), "[exp] needs a defined tensor");
  CHECK_ERROR(f64({1}) + Tensor(), "[add] needs a defined tensor");
}

TEST_CASE("comparisons give bool, NaN equals nothing") {
  const Tensor a = f64({1, 2, 3, kNan}), b = f64({2, 2, 2, kNan});
  CHECK(difference(eq(a, b), bools({false, true, false, false})) == "");
  CHECK(difference(ne(a, b), bools({true, false, true, true})) == "");
  CHECK(difference(lt(a, b), bools({true, false, false, false})) == "");
  CHECK(difference(le(a, b), bools({true, true, false, false})) == "");
  CHECK(difference(gt(a, b), bools({false, false, true, false})) == "");
  CHECK(difference(ge(a, b), bools({false, true, true, false})) == "");
  CHECK(difference(gt(a, 1.5), bools({false, true, true, false})) == "");
  CHECK(difference(eq(i64({1, 2}), 2), bools({false, true})) == "");
  CHECK(difference(eq(bools({true, false}), bools({true, true})), bools({true, false})) == "");
  CHECK(eq(f64({1, 2}), f64({1, 2, 3, 4, 5, 6}, {3, 2})).shape() == Shape{3, 2});
  CHECK_FALSE(gt(leaf({1}, {1}), 0.0).requires_grad());
}

}  // namespace gradus::test_ops_elementwise
