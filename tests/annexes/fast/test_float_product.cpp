// Products without BLAS, at each level, against sums in double.
#include "gradus/annexes/fast/product/float_product.hpp"

#include "autograd/kernels/plain.hpp"

namespace gradus::kernels::test_float_product {

using namespace vectors;

constexpr bool kBoth[] = {false, true};

enum class Start { none, c, row };

/// Operands with rows that are a little longer than need be, and what comes of them.
template <class T>
struct Product {
  bool ta, tb;
  int64_t m, n, k;
  Start start = Start::none;
  int64_t lda = (ta ? m : k) + 3, ldb = (tb ? k : n) + 1, ldc = n + 2;
  std::vector<T> a = values<T>(lda * (ta ? k : m), 1, 1), b = values<T>(ldb * (tb ? n : k), 1, 2),
                 c = values<T>(ldc * m, 1, 3), row = values<T>(n, 1, 4);

  /// Rows [begin, end) of it; all else of c stays.
  std::vector<T> made(int64_t begin, int64_t end) const {
    std::vector<T> out = c;
    T* const to = out.data() + begin * ldc;
    multiply_floats<T>({.m = end - begin,
                        .n = n,
                        .k = k,
                        .a = a.data() + begin * (ta ? 1 : lda),
                        .a_row = ta ? 1 : lda,
                        .a_k = ta ? lda : 1,
                        .b = b.data(),
                        .b_k = tb ? 1 : ldb,
                        .b_column = tb ? ldb : 1,
                        .start = start == Start::none ? nullptr
                                 : start == Start::c  ? to
                                                      : row.data(),
                        .start_row = start == Start::c ? ldc : 0,
                        .c = to,
                        .c_row = ldc});
    return out;
  }

  std::vector<double> wanted() const {
    const std::vector<double> left = plain::matrix(m, k, a, ta ? 1 : lda, ta ? lda : 1),
                              right = plain::matrix(n, k, b, tb ? ldb : 1, tb ? 1 : ldb);
    std::vector<double> want(c.begin(), c.end()), sums = plain::product(m, n, k, left, right).values;
    for (int64_t at = 0; at < ldc * m; ++at)
      if (const int64_t i = at / ldc, j = at % ldc; j < n)
        want[at] = sums[i * n + j] + (start == Start::c ? c[at] : start == Start::row ? row[j] : 0);
    return want;
  }
};

TEMPLATE_TEST_CASE("products without BLAS are three loops", "[float_product]", float, double) {
  const int64_t sizes[][3] = {{1, 1, 1},    {5, 3, 2},     {6, 64, 16},   {7, 65, 33},   {13, 33, 257},
                              {97, 30, 70}, {100, 150, 9}, {8, 300, 520}, {200, 16, 100}};
  at_each_level([&] {
    for (const bool ta : kBoth)
      for (const bool tb : kBoth)
        for (const Start start : {Start::none, Start::c, Start::row})
          for (const auto& [m, n, k] : sizes) {
            INFO("(" << m << ", " << k << ") @ (" << k << ", " << n << "), transposed " << ta << " " << tb
                     << ", start " << static_cast<int>(start));
            const Product<TestType> product{.ta = ta, .tb = tb, .m = m, .n = n, .k = k, .start = start};
            const std::vector<double> want = product.wanted();
            check_near(
                product.made(0, m), [&](int64_t at) { return want[at]; }, 20 * kTolerance<TestType>);
          }
  });
}

TEMPLATE_TEST_CASE("products without BLAS have the same bits wherever c is cut", "[float_product]", float,
                   double) {
  at_each_level([] {
    for (const bool ta : kBoth) {
      const Product<TestType> product{.ta = ta, .tb = true, .m = 37, .n = 70, .k = 600, .start = Start::c};
      const std::vector<TestType> whole = product.made(0, product.m);
      for (const int64_t cut : {1, 5, 6, 16, 36}) {
        INFO("cut at " << cut);
        const std::vector<TestType> upper = product.made(0, cut), lower = product.made(cut, product.m);
        std::vector<TestType> both(upper.begin(), upper.begin() + cut * product.ldc);
        both.insert(both.end(), lower.begin() + cut * product.ldc, lower.end());
        CHECK(same_bits(both, whole));
      }
    }
  });
}

TEST_CASE("products without BLAS do not read what they overwrite, and keep NaN", "[float_product]") {
  at_each_level([] {
    Product<float> product{.ta = false, .tb = false, .m = 20, .n = 40, .k = 30};
    std::fill(product.c.begin(), product.c.end(), static_cast<float>(kNaN));
    product.a[7 * product.lda + 11] = static_cast<float>(kNaN);
    const std::vector<float> out = product.made(0, product.m);
    for (int64_t i = 0; i < product.m; ++i) {
      const auto row = out.begin() + i * product.ldc;
      CHECK(std::count_if(row, row + product.n, [](float value) { return std::isnan(value); }) ==
            (i == 7 ? product.n : 0));
    }
  });
}

}  // namespace gradus::kernels::test_float_product
