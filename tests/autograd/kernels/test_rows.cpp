// Kernels of rows (softmax, layer norm, cross-entropy) against their definitions.
#include "gradus/autograd/kernels/elementwise/rows.hpp"

#include "autograd/by_definition.hpp"
#include "gradus/autograd/reference/reduce.hpp"
#include "plain.hpp"

namespace gradus::kernels::test_rows {

using namespace vectors;

constexpr int64_t kRows = 5;

using testing::check_by_definition;
using In = const std::vector<Tensor>&;

// Random rows, the same in every run.
Tensor normal(const Shape& shape, DType dtype, uint64_t seed, double spread = 2) {
  Generator generator(seed);
  return (randn(shape, generator, DType::float64) * spread).to(dtype);
}

TEST_CASE("rows of each length agree with their definitions at each level, and so do their gradients",
          "[rows]") {
  at_each_level([] {
    for (const DType dtype : {DType::float32, DType::float64})
      for (const int64_t n : kSizes) {
        INFO(n << " columns, " << name(dtype));
        const Tensor x = normal({kRows, n}, dtype, 1), w = normal({n}, dtype, 2), b = normal({n}, dtype, 3);
        const Tensor many = normal({150, n}, dtype, 4);  // more than one chunk of rows
        const Tensor target = tensor(std::vector<int64_t>{0, n - 1, -100, n / 2, 0}, {kRows});
        CHECK(check_by_definition([](In in) { return softmax(in[0], 1); }, {x}) == 1);
        CHECK(check_by_definition([](In in) { return log_softmax(in[0], 1); }, {x}) == 1);
        CHECK(check_by_definition([](In in) { return logsumexp(in[0], {1}); }, {x}) > 0);
        const auto loss = [&](In in) { return cross_entropy(in[0], target, -100, Reduction::none); };
        CHECK(check_by_definition(loss, {x}) == 1);
        if (n == 1) continue;  // whose gradient is 0 but for rounding
        CHECK(check_by_definition([n](In in) { return layer_norm(in[0], {n}, in[1], in[2]); },
                                  {many, w, b}) == 1);
        CHECK(check_by_definition([n](In in) { return layer_norm(in[0], {n}); }, {many}) == 1);
      }
  });
}

TEMPLATE_TEST_CASE("gradients of rows have the same bits alone and in place", "[rows]", float, double) {
  using T = TestType;
  const int64_t rows = 150, n = 33;
  const auto x = values<T>(rows * n, 4, 1), gy = values<T>(rows * n, 1, 2), w = values<T>(n, 2, 3);
  std::vector<T> y(x.size()), gx(x.size()), mean(2 * rows), rstd(rows), gw(n), gb(n), alone(n);
  layer_norm<T>(rows, n, static_cast<T>(1e-5), y.data(), mean.data(), rstd.data(), x.data(), w.data(),
                nullptr);
  const auto gradients = [&](T* to_x, T* to_w, T* to_b) {
    layer_norm_grad<T>(rows, n, to_x, to_w, to_b, gy.data(), x.data(), mean.data(), rstd.data(), w.data());
  };
  gradients(gx.data(), gw.data(), gb.data());
  gradients(nullptr, alone.data(), nullptr);
  CHECK(same_bits(alone, gw));
  gradients(nullptr, nullptr, alone.data());
  CHECK(same_bits(alone, gb));

  const std::vector<int64_t> target = {0, n - 1, -100, n / 2, 0};
  std::vector<T> losses(kRows), parts(2 * kRows), in_place = x;
  cross_entropy<T>(kRows, n, losses.data(), parts.data(), x.data(), target.data(), -100);
  cross_entropy_grad<T>(kRows, n, gx.data(), gy.data(), x.data(), parts.data(), target.data(), -100);
  cross_entropy_grad<T>(kRows, n, in_place.data(), gy.data(), in_place.data(), parts.data(), target.data(),
                        -100);
  CHECK(std::equal(gx.begin(), gx.begin() + kRows * n, in_place.begin()));
}

TEMPLATE_TEST_CASE("softmax and its relatives at -inf, +inf and NaN", "[rows]", float, double) {
  using T = TestType;
  static constexpr double kRowsOf[][3] = {{-kInf, -kInf, -kInf}, {0, 0, kNaN},
                                          {-kInf, -kInf, kNaN},  {kInf, kInf, kNaN},
                                          {-kInf, 2, -kInf},     {-1000, 10000, 10000}};  // fill, first, last
  at_each_level([] {
    const SoftmaxLoops<T>& loops = isa_loops<SoftmaxLoops<T>>();
    for (const int64_t n : {3, 40})
      for (const auto& [fill, first, last] : kRowsOf) {
        INFO(n << " columns: " << first << ' ' << fill << " ... " << last);
        std::vector<T> x(n, static_cast<T>(fill)), y(n), lse(1);
        x.front() = static_cast<T>(first), x.back() = static_cast<T>(last);
        const plain::Real want = reference::logsumexp(reference::Row<plain::Real>(x.begin(), x.end()));
        lse[0] = loops.logsumexp(n, x.data());
        check_near(lse, [&](int64_t) { return want; });
        loops.log_softmax(n, y.data(), x.data());
        check_near(y, [&](int64_t i) { return x[i] - want; });
        loops.softmax(n, y.data(), x.data());
        check_near(y, [&](int64_t i) { return std::exp(x[i] - want); });
        x.back() = static_cast<T>(kInf);
        loops.softmax(n, y.data(), x.data());
        lse[0] = loops.logsumexp(n, x.data());
        CHECK(std::isnan(y.back()));
        CHECK(lse[0] == static_cast<T>(kInf));
      }
  });
}

TEST_CASE("layer_norm stands rows far from zero", "[rows]") {
  at_each_level([] {
    std::vector<float> x(64), y(64);
    for (int i = 0; i < 64; ++i)
      x[i] = 1e8F + static_cast<float>(8 * (i % 4));  // 8 is one step of float there
    float mean[2], rstd;
    layer_norm<float>(1, 64, 0, y.data(), mean, &rstd, x.data(), nullptr, nullptr);
    check_near(
        y, [](int64_t i) { return (static_cast<double>(i % 4) - 1.5) / std::sqrt(1.25); }, 1e-6);
    CHECK(near(rstd, 1 / std::sqrt(80.0), 1e-6));
    CHECK(static_cast<double>(mean[0]) + mean[1] == 1e8 + 12);

    std::vector<float> constant(64, 1e8F + 8);
    layer_norm<float>(1, 64, 1e-5F, y.data(), mean, &rstd, constant.data(), nullptr, nullptr);
    CHECK(same_bits(y, std::vector<float>(64, 0)));
  });
}

TEST_CASE("cross_entropy keeps its digits where the logits are large", "[rows]") {
  const std::vector<float> x = {1e6F, 1e6F, 1e6F, 1e6F};
  const int64_t target = 1;
  float loss, parts[2];
  cross_entropy<float>(1, 4, &loss, parts, x.data(), &target, -100);
  CHECK(near(loss, std::log(4.0), 1e-6));  // logsumexp is rounded to 1/16 there
}

TEST_CASE("kernels of rows give the same bits for any number of threads and in place", "[rows]") {
  const int64_t rows = 700, n = 65;
  const auto x = values<float>(rows * n), gy = values<float>(rows * n, 1, 2), w = values<float>(n, 1, 3);
  const auto by_rows = [&](auto choose, auto*... of) {
    loop_over_rows(rows, n, choose(isa_loops<SoftmaxLoops<float>>()), of...);
  };
  const auto softmax = [](const auto& loops) { return loops.softmax; };
  const auto softmax_grad = [](const auto& loops) { return loops.softmax_grad; };
  const auto run = [&](int threads) {
    const Threads guard(threads);
    std::vector<std::vector<float>> r(5, std::vector<float>(rows * n));
    std::vector<float> mean(2 * rows), rstd(rows);
    by_rows(softmax, r[0].data(), x.data());
    r[1] = r[0];
    by_rows(softmax_grad, r[1].data(), gy.data(), r[1].data());
    layer_norm<float>(rows, n, 1e-5F, r[2].data(), mean.data(), rstd.data(), x.data(), w.data(), w.data());
    r[4].resize(2 * n);
    layer_norm_grad(rows, n, r[3].data(), r[4].data(), r[4].data() + n, gy.data(), x.data(), mean.data(),
                    rstd.data(), w.data());
    return r;
  };
  at_each_level([&] {
    const auto one = run(1), two = run(2);
    for (size_t i = 0; i < one.size(); ++i) CHECK(same_bits(one[i], two[i]));
    auto in_place = x;
    by_rows(softmax, in_place.data(), in_place.data());
    CHECK(same_bits(in_place, one[0]));
    std::vector<float> apart(one[0].size());
    by_rows(softmax_grad, apart.data(), gy.data(), one[0].data());
    CHECK(same_bits(apart, one[1]));
  });
}

TEST_CASE("layer_norm of a row with NaN keeps no finite statistics") {
  const double x[3] = {1.0, std::nan(""), 2.0};
  double y[3], mean[2] = {}, rstd = 0;
  kernels::layer_norm<double>(1, 3, 1e-5, y, mean, &rstd, x, nullptr, nullptr);
  CHECK(std::isnan(mean[0]));
  CHECK(std::isnan(rstd));
  CHECK(std::isnan(y[0]));
}

// Sums whose roundings tell the order of their terms: 1 is lost beside 2^24.
TEST_CASE("short rows add up in PyTorch's order, long ones in the same lanes at every level") {
  std::vector<std::vector<float>> results;
  at_each_level([&] {
    const auto sum_of = [](const std::vector<float>& x) {
      return isa_loops<ReduceLoops<float>>().fold[static_cast<int>(Reduce::sum)](
          static_cast<int64_t>(x.size()), x.data());
    };
    CHECK(sum_of({0x1p24F, 1, 1, 0, -0x1p24F, 1}) == 3.0F);  // ((2^24 - 2^24 + 1) + 1) + 1
    CHECK(sum_of({0x1p24F, 1, -0x1p24F}) == 0.0F);
    std::vector<float> all;
    for (const int64_t n : {8, 15, 16, 100, 1023, 5000}) all.push_back(sum_of(values<float>(n, 3, 7)));
    results.push_back(all);
  });
  for (const auto& all : results) CHECK(same_bits(all, results.front()));
}

}  // namespace gradus::kernels::test_rows
