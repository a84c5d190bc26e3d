// Convolution and pools with any stride, padding and dilation, against their definitions.
#include "autograd/against_float64.hpp"
#include "autograd/by_definition.hpp"
#include "gradus/annexes/layers/ops/windows.hpp"

namespace gradus::test_windows {

using namespace gradus::testing;

constexpr int64_t kHeight = 17, kWidth = 23, kKernel = 4;

struct Case {
  int64_t down, across, padding, dilation;
};

TEST_CASE("windows with strides from 1 to 7") {
  Generator g(1);
  const Tensor x = randn({1, 1, kHeight, kWidth}, g, DType::float64),
               w = randn({1, 1, kKernel, kKernel}, g, DType::float64);
  for (const Case c :
       {Case{1, 1, 0, 1}, {2, 3, 1, 1}, {3, 4, 2, 1}, {4, 5, 2, 1}, {5, 2, 1, 1}, {6, 6, 0, 2}, {7, 4, 2, 3}})
    for (const DType dtype : {DType::float32, DType::float64}) {
      INFO("strides " << c.down << " and " << c.across << ", " << name(dtype));
      const autograd::PerDim stride{c.down, c.across};
      const ConvOptions conv{.stride = stride, .padding = c.padding, .dilation = c.dilation};
      const MaxPoolOptions pool{.stride = stride, .padding = c.padding, .dilation = c.dilation};
      const AvgPoolOptions mean{.stride = stride, .padding = c.padding};
      using In = const std::vector<Tensor>&;
      const std::vector<Tensor> one{x.to(dtype)}, both{x.to(dtype), w.to(dtype)};
      CHECK(check_by_definition([&](In in) { return conv2d(in[0], in[1], {}, conv); }, both) == 1);
      CHECK(check_by_definition([&](In in) { return max_pool2d(in[0], kKernel, pool); }, one) == 1);
      check_by_definition([&](In in) { return avg_pool2d(in[0], kKernel, mean); }, one);
    }
}

TEST_CASE("the maximum of a window with a NaN is NaN") {
  for (const int64_t stride : {1, 2}) {
    const auto [y, index] =
        max_pool1d_with_indices(f64({1, 9, kNan, 2, 3, 5, 4}, {1, 1, 7}), 2, {.stride = stride});
    INFO("stride " << stride);
    CHECK(std::isnan(y.flatten().at({2 / stride})));
    CHECK(static_cast<int64_t>(index.flatten().at({2 / stride})) == 2);
    CHECK(y.flatten().at({0}) == 9);
  }
}

TEST_CASE("last windows may reach beyond the end, but not begin there") {
  const auto pooled = [](int64_t size, int64_t kernel, int64_t stride, bool counts_padding) {
    const Tensor x = arange(1, static_cast<double>(size + 1)).to(DType::float64).reshape({1, 1, size});
    return avg_pool1d(
               x, kernel,
               {.stride = stride, .padding = 1, .ceil_mode = true, .count_include_pad = counts_padding})
        .flatten();
  };
  CHECK(difference(pooled(8, 3, 2, true), f64({1, 3, 5, 7, 4})) == "");
  CHECK(difference(pooled(8, 3, 2, false), f64({1.5, 3, 5, 7, 8})) == "");
  CHECK(difference(pooled(7, 2, 3, true), f64({0.5, 3.5, 6.5})) == "");
  CHECK(difference(pooled(7, 2, 3, false), f64({1, 3.5, 6.5})) == "");
}

TEST_CASE("the padding of a pool is at most half of its kernel, in each dimension") {
  const Tensor x = zeros({1, 1, 9, 9});
  for (const bool across : {false, true}) {
    const autograd::PerDim kernel{across ? 8 : 4, across ? 4 : 8}, fits{across ? 4 : 2, across ? 2 : 4},
        padding = 3;
    CHECK(max_pool2d(x, kernel, {.padding = fits}).dim() == 4);
    CHECK_ERROR(max_pool2d(x, kernel, {.padding = padding}), "at most half of kernel_size");
    CHECK_ERROR(avg_pool2d(x, kernel, {.padding = padding}), "at most half of kernel_size");
  }
}

TEST_CASE("norms of channels keep their digits over long rows, and with huge and tiny values") {
  constexpr int64_t n = 1'200'000;
  Generator g(1);
  const Tensor long_row = rand({1, n}, g) + 1.0;
  const NamedOp rows[] = {
      {"batch_norm",
       [](const Tensor& x) {
         return batch_norm(x.reshape({30, 1, n / 30}), {}, {}, {}, {}, true, 0.1, 1e-5);
       }},
      {"group_norm",
       [](const Tensor& x) {
         return group_norm(x.reshape({1, 2, n / 2}), 1, {}, {}, 1e-5);
       }},
  };
  for (const NamedOp& c : rows) check_against_float64(c, long_row, 2e-6);
  const NamedOp norms[] = {
      {"group_norm", [](const Tensor& x) { return group_norm(x, 1, {}, {}, 0); }},
      {"batch_norm", [](const Tensor& x) { return batch_norm(x.mT(), {}, {}, {}, {}, true, 0.1, 0); }},
  };
  const Tensor unit = f64({1, 2, -3, 4, 0.5, 6}, {2, 3});
  for (const double scale : {1e20, 1e30, 1e-23, 1e-30, 1.0})
    for (const NamedOp& c : norms)
      for (const bool create_graph : {false, true})
        check_against_float64(c, (unit * scale).to(DType::float32), 2e-6, create_graph);
}

}  // namespace gradus::test_windows
