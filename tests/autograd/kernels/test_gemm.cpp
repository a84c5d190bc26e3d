#include "gradus/autograd/kernels/blas/gemm.hpp"

#include "gradus/files/error.hpp"
#include "plain.hpp"

namespace gradus::kernels::test_gemm {

using vectors::Threads;

constexpr Trans kBoth[] = {Trans::no, Trans::yes};

/// One product with random operands, rows `pad` longer than need be.
template <class T>
struct Case {
  Case(Trans trans_a, Trans trans_b, int64_t rows, int64_t columns, int64_t depth, int64_t pad = 0)
      : ta(trans_a),
        tb(trans_b),
        m(rows),
        n(columns),
        k(depth),
        lda((ta == Trans::yes ? m : k) + pad),
        ldb((tb == Trans::yes ? k : n) + pad),
        ldc(n + pad),
        a(vectors::values<T>(lda * (ta == Trans::yes ? k : m), 1, 1)),
        b(vectors::values<T>(ldb * (tb == Trans::yes ? n : k), 1, 2)),
        c(vectors::values<T>(ldc * m, 1, 3)) {}

  std::vector<T> run(bool add) const {
    std::vector<T> result = c;
    gemm(ta, tb, m, n, k, a.data(), lda, b.data(), ldb, result.data(), ldc, add);
    return result;
  }

  using Wide = std::conditional_t<sizeof(T) == 4, double, long double>;

  std::vector<double> naive(bool add) const {
    const bool a_turned = ta == Trans::yes, b_turned = tb == Trans::yes;
    if (sums.empty())
      sums = plain::product<Wide>(m, n, k, plain::matrix(m, k, a, a_turned ? 1 : lda, a_turned ? lda : 1),
                                  plain::matrix(n, k, b, b_turned ? ldb : 1, b_turned ? 1 : ldb))
                 .values;
    std::vector<double> result(c.begin(), c.end());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double& value = result[i * ldc + j];
        value = sums[i * n + j] + (add ? value : 0);
      }
    return result;
  }

  Trans ta, tb;
  int64_t m, n, k, lda, ldb, ldc;
  std::vector<T> a, b, c;
  mutable std::vector<double> sums;  // without c, as soon as they are needed
};

// In units of `error`: between orders of summation up to 13 was seen, for a wrong term it is above 10^5.
constexpr double kTolerance = 40;

/// The largest difference in units of the rounding error that a sum of k products may have.
template <class T>
double error(const std::vector<T>& result, const std::vector<double>& expected, int64_t k) {
  const double unit = std::numeric_limits<T>::epsilon() * (2 + std::sqrt(double(k)));
  return plain::worst_error(result, expected, [&](size_t) { return unit; });
}

TEMPLATE_TEST_CASE("gemm agrees with three loops, and has the same bits for any number of threads", "[gemm]",
                   float, double) {
  const auto check = [](Trans ta, Trans tb, int64_t m, int64_t n, int64_t k, int64_t pad) {
    const Case<TestType> test(ta, tb, m, n, k, pad);
    CAPTURE(ta, tb, m, n, k, pad);
    std::vector<std::vector<TestType>> results;
    for (const int threads : {1, 2, 3}) {
      const Threads guard(threads);
      results.push_back(test.run(true));
      CHECK(results.back() == results.front());
    }
    CHECK(error(results[0], test.naive(true), k) < kTolerance);
    if (pad < 5) CHECK(error(test.run(false), test.naive(false), k) < kTolerance);
  };
  // The last ones are cut into tiles.
  const int64_t large[][3] = {{768, 65, 128}, {300, 300, 50}, {65, 513, 64},  {1, 2000, 700}, {2000, 1, 700},
                              {1100, 70, 31}, {2, 1029, 600}, {16, 17, 5000}, {520, 2, 1024}};
  for (const Trans ta : kBoth)
    for (const Trans tb : kBoth) {
      for (const int64_t m : {1, 2, 7, 33})
        for (const int64_t n : {1, 3, 17, 64})
          for (const int64_t k : {1, 5, 31, 130})
            for (const int64_t pad : {0, 3}) check(ta, tb, m, n, k, pad);
      for (const auto& [m, n, k] : large)
        if ((ta == tb) != (m + n > 1000)) check(ta, tb, m, n, k, 5);  // two of the four layouts for each size
    }
}

TEMPLATE_TEST_CASE("gemm_batch gives what gemm gives item by item", "[gemm]", float, double) {
  const int64_t sizes[][4] = {
      {3, 20, 30, 40}, {48, 64, 64, 32}, {20, 1, 64, 50}, {20, 64, 1, 50}, {2, 200, 300, 64}};
  for (const Trans ta : kBoth)
    for (const Trans tb : kBoth)
      for (const auto& [batch, m, n, k] : sizes) {
        CAPTURE(ta, tb, batch, m, n, k);
        const auto a = vectors::values<TestType>((batch + 1) * m * k, 1, 4);
        const auto b = vectors::values<TestType>(n * k, 1, 5);  // shared by all items: a broadcast operand
        std::vector<int64_t> a_offset, b_offset(batch, 0), c_offset;
        for (int64_t i = 0; i < batch; ++i) {
          a_offset.push_back((batch - i) * m * k);
          c_offset.push_back(i * m * n);
        }
        const int64_t lda = ta == Trans::yes ? m : k, ldb = tb == Trans::yes ? k : n;
        std::vector<std::vector<TestType>> results;
        for (const int threads : {1, 2}) {
          const Threads guard(threads);
          results.emplace_back(batch * m * n, std::nan(""));
          gemm_batch(batch, a_offset.data(), b_offset.data(), c_offset.data(), ta, tb, m, n, k, a.data(), lda,
                     b.data(), ldb, results.back().data(), n);
        }
        CHECK(results[0] == results[1]);
        for (int64_t i = 0; i < batch; ++i) {
          Case<TestType> item(ta, tb, m, n, k);
          item.a.assign(&a[a_offset[i]], &a[a_offset[i]] + m * k);
          item.b = b;
          const auto* c = &results[0][c_offset[i]];
          REQUIRE(error(std::vector<TestType>(c, c + m * n), item.naive(false), k) < kTolerance);
        }
      }
}

TEMPLATE_TEST_CASE("linear is x @ w^T + bias", "[gemm]", float, double) {
  const int64_t sizes[][3] = {{1, 5, 3},      {4, 1, 9}, {1, 3000, 500}, {13, 17, 19}, {768, 65, 128},
                              {33, 1030, 70}, {5, 6, 0}, {0, 4, 4},      {8, 40, 33},  {9, 40, 33}};
  for (const auto& [m, n, k] : sizes)
    for (const bool with_bias : {false, true}) {
      CAPTURE(m, n, k, with_bias);
      Case<TestType> test(Trans::no, Trans::yes, m, n, k);
      test.lda = k + 2;
      test.a = vectors::values<TestType>(m * test.lda, 1, 6);
      const auto bias = vectors::values<TestType>(n, 1, 7);
      std::vector<std::vector<TestType>> results;
      for (const int threads : {1, 2}) {
        const Threads guard(threads);
        results.emplace_back(m * n, std::nan(""));
        linear(m, n, k, results.back().data(), test.a.data(), test.lda, test.b.data(),
               with_bias ? bias.data() : nullptr);
      }
      for (int64_t i = 0; i < m * n; ++i) test.c[i] = with_bias ? bias[i % n] : 0;
      CHECK(error(results[0], test.naive(true), k) < kTolerance);
      CHECK(results[0] == results[1]);
    }
}

TEMPLATE_TEST_CASE("c is read only to add to it, also with k = 0", "[gemm]", float, double) {
  const auto nan = std::numeric_limits<TestType>::quiet_NaN();
  const int64_t sizes[][3] = {{5, 7, 0}, {5, 7, 3}, {1, 7, 3},     {5, 1, 3},
                              {1, 1, 1}, {1, 7, 0}, {500, 300, 20}};
  for (const auto& [m, n, k] : sizes) {
    CAPTURE(m, n, k);
    Case<TestType> test(Trans::no, Trans::no, m, n, k);
    CHECK(error(test.run(true), test.naive(true), k) < kTolerance);
    test.c.assign(test.c.size(), nan);
    CHECK(error(test.run(false), test.naive(false), k) < kTolerance);
  }
}

TEMPLATE_TEST_CASE("NaN and infinity in the operands come through", "[gemm]", float, double) {
  for (const int64_t m : {1, 20})
    for (const int64_t n : {1, 30}) {
      Case<TestType> test(Trans::no, Trans::yes, m, n, 40);
      test.a[11] = std::numeric_limits<TestType>::quiet_NaN();
      const auto result = test.run(false);
      for (int64_t j = 0; j < n; ++j) CHECK(std::isnan(result[j]));
      if (m > 1) CHECK(std::isfinite(result[n]));
    }
}

TEMPLATE_TEST_CASE("gram is gemm with the transpose, and symmetric", "[gemm]", float, double) {
  const Threads two(2);
  for (const int64_t m : {1, 5, 64, 65, 128, 200, 300})
    for (const int64_t k : {1, 33, 128, 700}) {
      CAPTURE(m, k);
      const std::vector<TestType> a = vectors::values<TestType>(m * k, 1, 5);
      std::vector<TestType> c(m * m), whole(m * m);
      const bool tall = k % 2 == 0;  // a^T a
      const Trans trans = tall ? Trans::yes : Trans::no, other = tall ? Trans::no : Trans::yes;
      const int64_t lda = tall ? m : k;
      gram(trans, m, k, a.data(), lda, c.data());
      gemm(trans, other, m, m, k, a.data(), lda, a.data(), lda, whole.data(), m);
      TestType largest = 0;
      bool is_symmetric = true;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < m; ++j) {
          largest = std::max(largest, std::abs(c[i * m + j] - whole[i * m + j]));
          is_symmetric &= i / 64 == j / 64 || c[i * m + j] == c[j * m + i];
        }
      CHECK(is_symmetric);
      CHECK(largest <= static_cast<TestType>(k) * 4 * std::numeric_limits<TestType>::epsilon());
    }
}

TEST_CASE("a matrix of one row may have any row distance", "[gemm]") {
  const float a[] = {1, 2, 3}, b[] = {4, 5, 6};
  float c[9] = {};
  gemm(Trans::no, Trans::no, 1, 1, 3, a, 0, b, 1, c, 0);
  CHECK(c[0] == 32);
  gemm(Trans::yes, Trans::no, 3, 3, 1, a, 1, b, 1, c, 3);
  CHECK(std::vector<float>(c, c + 9) == std::vector<float>{4, 5, 6, 8, 10, 12, 12, 15, 18});
}

TEST_CASE("sizes that BLAS cannot hold are refused", "[gemm]") {
  const int64_t huge = int64_t{1} << 31;
  float unused = 0;
  CHECK_THROWS_AS(gemm(Trans::no, Trans::no, huge, 2, 2, &unused, 2, &unused, 2, &unused, 2), Error);
}

// Of equal terms each rounding errs to the same side: a running sum of 10^6 is off by 10^-3.
TEST_CASE("long sums of products keep their digits, whatever code computes them", "[gemm]") {
  const int64_t k = 1'000'000;
  const std::vector<float> a(3 * k, 0.1F), b(3 * k, 0.3F), bias(3, 5.0F);
  const double right = k * double{0.1F} * double{0.3F};
  for (const Trans ta : kBoth)
    for (const Trans tb : kBoth)
      for (const auto& [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {1, 3}, {3, 1}, {3, 3}}) {
        INFO("m " << m << ", n " << n << ", transposed " << (ta == Trans::yes) << (tb == Trans::yes));
        std::vector<float> c(20, 2.0F);
        gemm(ta, tb, m, n, k, a.data(), ta == Trans::yes ? m : k, b.data(), tb == Trans::yes ? k : n,
             c.data(), 5, true);
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) CHECK(std::abs(c[i * 5 + j] / (right + 2) - 1) < 1e-5);
          CHECK(c[i * 5 + n] == 2.0F);
        }
        linear(m, n, k, c.data(), a.data(), k, b.data(), bias.data());
        for (int64_t i = 0; i < m * n; ++i) CHECK(std::abs(c[i] / (right + 5) - 1) < 1e-5);
      }
  std::vector<float> squares(9);
  gram(Trans::yes, 3, k, a.data(), 3, squares.data());
  for (const float square : squares) CHECK(std::abs(square / (k * double{0.1F} * double{0.1F}) - 1) < 1e-5);
}

// Terms of different sizes, which only their own partners match.
TEMPLATE_TEST_CASE("long products agree with three loops", "[gemm]", float, double) {
  for (const Trans ta : kBoth)
    for (const Trans tb : kBoth)
      for (const int64_t k : {2049, 33'001})
        for (const auto& [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {1, 9}, {9, 1}, {70, 20}}) {
          INFO("m " << m << ", n " << n << ", k " << k << ", transposed " << (ta == Trans::yes)
                    << (tb == Trans::yes));
          const Case<TestType> c(ta, tb, m, n, k, 2);
          CHECK(error(c.run(true), c.naive(true), k) < kTolerance);
          CHECK(error(c.run(false), c.naive(false), k) < kTolerance);
        }
}

// The sums are exact in no order, so the bits tell the order: 1 is lost beside 2^24.
TEST_CASE("a tiny product adds in three chains, those of a batch in one", "[gemm]") {
  const std::vector<float> a = {0x1p24F, 1, 1, -0x1p24F, 1, 0}, b(6, 1.0F);
  float single = 0, batch = 0;
  const int64_t start = 0;
  gemm(Trans::no, Trans::no, 1, 1, 6, a.data(), 6, b.data(), 1, &single, 1);
  CHECK(single == 3.0F);  // (2^24 - 2^24) + (1 + 1) + (1 + 0)
  gemm_batch(1, &start, &start, &start, Trans::no, Trans::no, 1, 1, 6, a.data(), 6, b.data(), 1, &batch, 1);
  CHECK(batch == 1.0F);  // ((2^24 + 1) + 1) - 2^24 + 1
  linear<float>(1, 1, 6, &single, a.data(), 6, b.data(), nullptr);
  CHECK(single == 3.0F);
}

}  // namespace gradus::kernels::test_gemm
