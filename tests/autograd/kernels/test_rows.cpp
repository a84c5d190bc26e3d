// Kernels of rows (softmax, layer norm, cross-entropy) against loops in double.
#include "gradus/autograd/kernels/elementwise/rows.hpp"

#include "plain.hpp"

namespace gradus::kernels::test_rows {

using namespace vectors;

constexpr int64_t kRows = 5;

TEMPLATE_TEST_CASE("softmax and its relatives agree with their formulas", "[rows]", float, double) {
  using T = TestType;
  at_each_level([] {
    for (const int64_t n : kSizes) {
      INFO(n << " columns");
      const auto x = values<T>(kRows * n, 10, 1), gy = values<T>(kRows * n, 2, 2);
      std::vector<T> y(x.size()), gx(x.size()), lse(kRows);
      std::vector<plain::Real> wanted;
      for (int64_t r = 0; r < kRows; ++r) wanted.push_back(plain::logsumexp(n, &x[r * n]));

      softmax(kRows, n, y.data(), x.data());
      check_near(y, [&](int64_t i) { return std::exp(x[i] - wanted[i / n]); });
      softmax_grad(kRows, n, gx.data(), gy.data(), y.data());
      check_near(gx, [&](int64_t i) {
        double along = 0;
        for (int64_t j = i / n * n; j < i / n * n + n; ++j) along += static_cast<double>(gy[j]) * y[j];
        return y[i] * (gy[i] - along);
      });

      logsumexp(kRows, n, lse.data(), x.data());
      check_near(lse, [&](int64_t r) { return wanted[r]; });

      log_softmax(kRows, n, y.data(), x.data());
      check_near(y, [&](int64_t i) { return x[i] - wanted[i / n]; });
      log_softmax_grad(kRows, n, gx.data(), gy.data(), y.data());
      check_near(
          gx,
          [&](int64_t i) {
            double total = 0;
            for (int64_t j = i / n * n; j < i / n * n + n; ++j) total += gy[j];
            return gy[i] - std::exp(static_cast<double>(y[i])) * total;
          },
          10 * kTolerance<T>);
    }
  });
}

TEMPLATE_TEST_CASE("softmax and its relatives at -inf, +inf and NaN", "[rows]", float, double) {
  using T = TestType;
  static constexpr double kRowsOf[][3] = {{-kInf, -kInf, -kInf}, {0, 0, kNaN},
                                          {-kInf, -kInf, kNaN},  {kInf, kInf, kNaN},
                                          {-kInf, 2, -kInf},     {-1000, 10000, 10000}};  // fill, first, last
  at_each_level([] {
    for (const int64_t n : {3, 40})
      for (const auto& [fill, first, last] : kRowsOf) {
        INFO(n << " columns: " << first << ' ' << fill << " ... " << last);
        std::vector<T> x(n, static_cast<T>(fill)), y(n), lse(1);
        x.front() = static_cast<T>(first), x.back() = static_cast<T>(last);
        const plain::Real want = plain::logsumexp(n, x.data());
        logsumexp(1, n, lse.data(), x.data());
        check_near(lse, [&](int64_t) { return want; });
        log_softmax(1, n, y.data(), x.data());
        check_near(y, [&](int64_t i) { return x[i] - want; });
        softmax(1, n, y.data(), x.data());
        check_near(y, [&](int64_t i) { return std::exp(x[i] - want); });
        x.back() = static_cast<T>(kInf);
        softmax(1, n, y.data(), x.data());
        logsumexp(1, n, lse.data(), x.data());
        CHECK(std::isnan(y.back()));
        CHECK(lse[0] == static_cast<T>(kInf));
      }
  });
}

TEMPLATE_TEST_CASE("layer_norm and its gradients agree with their formulas", "[rows]", float, double) {
  using T = TestType;
  const T eps = static_cast<T>(1e-5);
  const int64_t rows = 150;  // more than one chunk of rows
  at_each_level([&] {
    for (const int64_t n : kSizes)
      for (const bool affine : {true, false}) {
        INFO(n << " columns, affine " << affine);
        const auto count = static_cast<double>(n);
        const auto x = values<T>(rows * n, 4, 1), gy = values<T>(rows * n, 1, 2), w = values<T>(n, 2, 3),
                   b = values<T>(n, 2, 4);
        std::vector<T> y(x.size()), gx(x.size()), mean(2 * rows), rstd(rows), gw(n), gb(n);
        const T* weight = affine ? w.data() : nullptr;
        layer_norm(rows, n, eps, y.data(), mean.data(), rstd.data(), x.data(), weight,
                   affine ? b.data() : nullptr);
        layer_norm_grad(rows, n, gx.data(), gw.data(), gb.data(), gy.data(), x.data(), mean.data(),
                        rstd.data(), weight);

        std::vector<double> want_y(x.size()), want_gx(x.size()), want_gw(n), want_gb(n);
        for (int64_t r = 0; r < rows; ++r) {
          double m = 0, var = 0, g_sum = 0, gx_sum = 0;
          for (int64_t i = 0; i < n; ++i) m += x[r * n + i];
          m /= count;
          for (int64_t i = 0; i < n; ++i) var += (x[r * n + i] - m) * (x[r * n + i] - m);
          const double s = 1 / std::sqrt(var / count + eps);
          for (int64_t i = 0; i < n; ++i) {
            const double hat = (x[r * n + i] - m) * s, g = gy[r * n + i] * (affine ? w[i] : 1.0);
            want_y[r * n + i] = affine ? hat * w[i] + b[i] : hat;
            g_sum += g;
            gx_sum += g * hat;
            want_gw[i] += gy[r * n + i] * hat;
            want_gb[i] += gy[r * n + i];
          }
          for (int64_t i = 0; i < n; ++i) {
            const double hat = (x[r * n + i] - m) * s, g = gy[r * n + i] * (affine ? w[i] : 1.0);
            want_gx[r * n + i] = s * (g - g_sum / count - hat * gx_sum / count);
          }
        }
        const double slack = sizeof(T) == 4 ? 2e-5 : 1e-12;
        check_near(
            y, [&](int64_t i) { return want_y[i]; }, slack);
        check_near(
            gw, [&](int64_t i) { return want_gw[i]; }, slack);
        check_near(
            gb, [&](int64_t i) { return want_gb[i]; }, slack);
        if (n > 1)
          check_near(
              gx, [&](int64_t i) { return want_gx[i]; }, 5 * slack);

        std::vector<T> alone(n);  // one gradient at a time gives the same
        layer_norm_grad<T>(rows, n, nullptr, alone.data(), nullptr, gy.data(), x.data(), mean.data(),
                           rstd.data(), weight);
        CHECK(same_bits(alone, gw));
        layer_norm_grad<T>(rows, n, nullptr, nullptr, alone.data(), gy.data(), x.data(), mean.data(),
                           rstd.data(), weight);
        CHECK(same_bits(alone, gb));
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

TEMPLATE_TEST_CASE("cross_entropy and its gradient agree with their formulas", "[rows]", float, double) {
  using T = TestType;
  at_each_level([] {
    for (const int64_t n : kSizes) {
      INFO(n << " classes");
      const auto x = values<T>(kRows * n, 10), grow = values<T>(kRows, 2, 2);
      const std::vector<int64_t> target = {0, n - 1, -100, n / 2, 0};
      std::vector<T> losses(kRows, 7), parts(2 * kRows), gx(x.size(), 7);
      cross_entropy<T>(kRows, n, losses.data(), parts.data(), x.data(), target.data(), -100);
      check_near(losses, [&](int64_t r) {
        return target[r] == -100 ? 0 : plain::logsumexp(n, &x[r * n]) - x[r * n + target[r]];
      });
      for (int64_t r = 0; r < kRows; ++r) {
        CHECK(parts[2 * r] == *std::max_element(&x[r * n], &x[r * n] + n));
        CHECK(near(parts[2 * r] + std::log(parts[2 * r + 1]),
                   static_cast<double>(plain::logsumexp(n, &x[r * n])), kTolerance<T>));
      }
      cross_entropy_grad<T>(kRows, n, gx.data(), grow.data(), x.data(), parts.data(), target.data(), -100);
      std::vector<T> in_place = x;
      cross_entropy_grad<T>(kRows, n, in_place.data(), grow.data(), in_place.data(), parts.data(),
                            target.data(), -100);
      CHECK(same_bits(in_place, gx));
      check_near(
          gx,
          [&](int64_t i) {
            const int64_t r = i / n;
            if (target[r] == -100) return plain::Real{0};
            return grow[r] * (std::exp(x[i] - plain::logsumexp(n, &x[r * n])) - (target[r] == i % n ? 1 : 0));
          },
          5 * kTolerance<T>);
    }
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
  const auto run = [&](int threads) {
    const Threads guard(threads);
    std::vector<std::vector<float>> r(5, std::vector<float>(rows * n));
    std::vector<float> mean(2 * rows), rstd(rows);
    softmax(rows, n, r[0].data(), x.data());
    r[1] = r[0];
    softmax_grad(rows, n, r[1].data(), gy.data(), r[1].data());
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
    softmax(rows, n, in_place.data(), in_place.data());
    CHECK(same_bits(in_place, one[0]));
    std::vector<float> apart(one[0].size());
    softmax_grad(rows, n, apart.data(), gy.data(), one[0].data());
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
