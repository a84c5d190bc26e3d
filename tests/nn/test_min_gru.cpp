#include "gradus/nn/layers.hpp"

#include "autograd/compare.hpp"
#include "nn/gradcheck_module.hpp"

namespace gradus::nn::test_min_gru {

using namespace testing;

// The formulas of the paper, time step by time step.
std::vector<double> by_formula(const MinGRU& m, const Tensor& x, const Tensor& h_0) {
  const int64_t batch = x.shape()[0], steps = x.shape()[1], in = x.shape()[2],
                hidden = m.linear_z.bias.numel();
  const std::vector<double> xs = x.to_vector<double>();
  const auto dot = [&](const Linear& layer, int64_t b, int64_t t, int64_t j) {
    double total = layer.bias.to_vector<double>()[j];
    const std::vector<double> weight = layer.weight.to_vector<double>();
    for (int64_t i = 0; i < in; ++i) total += weight[j * in + i] * xs[(b * steps + t) * in + i];
    return total;
  };
  std::vector<double> out(static_cast<size_t>(batch * steps * hidden));
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t j = 0; j < hidden; ++j) {
      double h = h_0.defined() ? h_0.to_vector<double>()[b * hidden + j] : 0;
      for (int64_t t = 0; t < steps; ++t) {
        const double z = 1 / (1 + std::exp(-dot(m.linear_z, b, t, j)));
        h = (1 - z) * h + z * dot(m.linear_h, b, t, j);
        out[(b * steps + t) * hidden + j] = h;
      }
    }
  return out;
}

TEST_CASE("MinGRU is the formula of its paper, with and without an initial state") {
  Generator g(1);
  MinGRU m(3, 5, g);
  CHECK(m.num_parameters() == 2 * (15 + 5));
  m.to(DType::float64);
  const Tensor x = randn({2, 7, 3}, g, DType::float64), h_0 = randn({2, 5}, g, DType::float64);
  CHECK(difference(m(x), tensor(by_formula(m, x, {}), {2, 7, 5})) == "");
  CHECK(difference(m(x, h_0), tensor(by_formula(m, x, h_0), {2, 7, 5})) == "");
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
