#include "gradus/nn/layers.hpp"

#include "autograd/compare.hpp"
#include "gradus/autograd/reference/products.hpp"
#include "gradus/autograd/reference/table.hpp"
#include "nn/gradcheck_module.hpp"

namespace gradus::nn::test_min_gru {

using namespace testing;

// The formulas of the paper, time step by time step.
Tensor by_formula(const MinGRU& m, const Tensor& x, const Tensor& h_0) {
  const auto of = [&](const Linear& layer) {
    const auto weight = reference::array_of<double>(layer.weight);
    return reference::linear(reference::array_of<double>(x), weight, reference::array_of<double>(layer.bias));
  };
  const auto z = reference::each(of(m.linear_z), reference::Scalar<double>::sigmoid),
             candidate = of(m.linear_h);
  const int64_t steps = x.size(1), hidden = candidate.size(2);
  reference::Array<double> h(candidate.shape);
  for (int64_t i = 0; i < h.size(); ++i) {
    const int64_t row = i / hidden;
    const double start = h_0.defined() ? h_0.at({row / steps, i % hidden}) : 0;
    h[i] = (1 - z[i]) * (row % steps == 0 ? start : h[i - hidden]) + z[i] * candidate[i];
  }
  return tensor(h.data, {x.size(0), steps, hidden});
}

TEST_CASE("MinGRU is the formula of its paper, with and without an initial state") {
  Generator g(1);
  MinGRU m(3, 5, g);
  CHECK(m.num_parameters() == 2 * (15 + 5));
  m.to(DType::float64);
  const Tensor x = randn({2, 7, 3}, g, DType::float64), h_0 = randn({2, 5}, g, DType::float64);
  CHECK(difference(m(x), by_formula(m, x, {})) == "");
  CHECK(difference(m(x, h_0), by_formula(m, x, h_0)) == "");
  CHECK(difference(m(x, zeros({2, 5}, DType::float64)), m(x), 0) == "");
}

TEST_CASE("gradients of MinGRU, orders 1 and 2") {
  Generator g(2);
  MinGRU m(3, 2, g);
  const Tensor x = randn({2, 4, 3}, g, DType::float64), h_0 = randn({2, 2}, g, DType::float64);
  testing::check_gradients(m, {x});
  testing::check_gradients(m, {x, h_0}, [](const MinGRU& f, const auto& in) { return f(in[0], in[1]); });
}

TEST_CASE("MinGRU decodes time step by time step what it computes at once") {
  Generator g(3);
  const MinGRU m(8, 16, g);
  const Tensor x = randn({2, 9, 8}, g), whole = m(x);
  Tensor state;
  for (int64_t t = 0; t < 9; ++t) {
    const Tensor y = m(x.slice(1, t, t + 1), state);
    CHECK(difference(y, whole.slice(1, t, t + 1), 1e-6) == "");
    state = y.select(1, 0);
  }
  // The same in pieces of several time steps.
  const Tensor first = m(x.slice(1, 0, 4)), second = m(x.slice(1, 4, 9), first.select(1, 3));
  CHECK(difference(cat({first, second}, 1), whole, 1e-6) == "");
}

TEST_CASE("MinGRU refuses shapes that do not fit") {
  Generator g(4);
  const MinGRU m(3, 5, g);
  CHECK_THROWS_WITH(m(ones({7, 3})), "[min_gru] x must be of shape (B, T, C), got (7, 3).");
  CHECK_THROWS_WITH(m(ones({2, 7, 3}), ones({2, 4})), "[min_gru] h_0 must be of shape (2, 5), got (2, 4).");
  CHECK(error_of([&] { m(ones({2, 7, 4})); }) != "");
  CHECK(error_of([&] { MinGRU(0, 5, g); }) != "");
}

}  // namespace gradus::nn::test_min_gru
