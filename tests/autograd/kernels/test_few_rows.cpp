// A few rows times a matrix of weights, at each level and for any number of threads.
#include "gradus/autograd/kernels/blas/few_rows.hpp"

#include "plain.hpp"

namespace gradus::kernels::test_few_rows {

using namespace vectors;

void store(const std::vector<float>& from, std::vector<float>& to) { to = from; }
void store(const std::vector<float>& from, std::vector<double>& to) { to.assign(from.begin(), from.end()); }
void store(const std::vector<float>& from, std::vector<bfloat16>& to) {
  to.resize(from.size());
  to_bfloat16(static_cast<int64_t>(from.size()), to.data(), from.data());
}

template <class T, class W>
void check_products(double tolerance) {
  for (const int64_t k : {1, 7, 17, 31, 64, 65, 1000})
    for (const int64_t n : {1, 3, 4, 5, 17, 700})
      for (const int64_t m : {1, 2, 8}) {
        INFO("m " << m << ", n " << n << ", k " << k);
        const int64_t ldx = k + 3;
        const std::vector<T> x = values<T>(m * ldx), bias = values<T>(n, 3, 3);
        std::vector<W> w;
        store(values<float>(n * k, 3, 2), w);
        std::vector<T> y(static_cast<size_t>(m * n)), again(y.size()), alone(static_cast<size_t>(n));
        {
          const Threads one(1);
          linear_few_rows(m, n, k, y.data(), x.data(), ldx, w.data(), bias.data());
        }
        const Threads three(3);
        linear_few_rows(m, n, k, again.data(), x.data(), ldx, w.data(), bias.data());
        CHECK(same_bits(y, again));
        const int64_t last = m - 1;
        linear_few_rows(1, n, k, alone.data(), x.data() + last * ldx, ldx, w.data(), bias.data());
        CHECK(same_bits(alone, std::vector<T>(y.begin() + last * n, y.end())));
        CHECK(plain::worst_error(
                  y, plain::product(m, n, k, plain::matrix(m, k, x, ldx), plain::matrix(n, k, w, k),
                                    [&](int64_t, int64_t j) { return bias[j]; })) < tolerance);
      }
}

TEST_CASE("few rows times float32, float64 and bfloat16 weights") {
  at_each_level([] {
    check_products<float, float>(1e-6);
    check_products<float, bfloat16>(1e-6);
    check_products<double, double>(1e-14);
    check_products<double, bfloat16>(1e-14);
  });
}

TEST_CASE("few rows without a bias, and NaN and infinity where their row or weight is") {
  const int64_t n = 6, k = 40;
  std::vector<float> x = values<float>(2 * k), w = values<float>(n * k, 3, 2), y(2 * n);
  linear_few_rows(2, n, k, y.data(), x.data(), k, w.data(), static_cast<const float*>(nullptr));
  CHECK(plain::worst_error(y, plain::product(2, n, k, plain::matrix(2, k, x, k), plain::matrix(n, k, w, k))) <
        1e-6);
  x[k + 1] = std::numeric_limits<float>::quiet_NaN();
  w[3 * k + 39] = std::numeric_limits<float>::infinity();
  linear_few_rows(2, n, k, y.data(), x.data(), k, w.data(), static_cast<const float*>(nullptr));
  for (int64_t j = 0; j < n; ++j) {
    CHECK(std::isfinite(y[static_cast<size_t>(j)]) == (j != 3));
    CHECK(std::isnan(y[static_cast<size_t>(n + j)]));
  }
}

}  // namespace gradus::kernels::test_few_rows
