// What kernels compute, by its definition and in more digits than theirs, and how far a result is from it.
#pragma once

#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "gradus/autograd/reference/elementwise.hpp"
#include "vectors.hpp"

namespace plain {

using Real = long double;

inline double number(double x) { return x; }
inline double number(gradus::bfloat16 x) {  // a builtin, because nothing is inlined in tests
  return static_cast<double>(__builtin_bit_cast(float, uint32_t{x.bits} << 16));
}

// -- Functions of one number

using Exact = gradus::reference::Scalar<Real>;
using Dual = gradus::reference::Dual<Real>;
using WithSlope = gradus::reference::Scalar<Dual>;
template <Dual (*f)(Dual)>
Real slope(Real x) {
  return f(Dual(x, 1)).tangent;
}

// -- Products

/// A matrix from numbers that lie so far apart, one row after the other.
template <class T>
std::vector<double> matrix(int64_t rows, int64_t columns, const std::vector<T>& x, int64_t row_step,
                           int64_t column_step = 1) {
  std::vector<double> all;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) all.push_back(number(x[i * row_step + j * column_step]));
  return all;
}

/// A product, and for each number the sum of the sizes of its terms, of which rounding errors are parts.
struct Product {
  std::vector<double> values, sizes;
};

/// start(i, j) + a (m, k) @ b (n, k)^T, added up in Wide.
template <class Wide = double, class F>
Product product(int64_t m, int64_t n, int64_t k, const std::vector<double>& a, const std::vector<double>& b,
                F start) {
  Product all;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Wide sum = start(i, j), size = sum < 0 ? -sum : sum;
      const double *x = a.data() + i * k, *y = b.data() + j * k;
      for (const double* const end = x + k; x != end; ++x, ++y) {
        const Wide term = static_cast<Wide>(*x) * *y;
        sum += term;
        size += term < 0 ? -term : term;
      }
      all.values.push_back(static_cast<double>(sum));
      all.sizes.push_back(static_cast<double>(size));
    }
  return all;
}
template <class Wide = double>
Product product(int64_t m, int64_t n, int64_t k, const std::vector<double>& a, const std::vector<double>& b) {
  return product<Wide>(m, n, k, a, b, [](int64_t, int64_t) { return Wide{0}; });
}

// -- Comparison

/// The largest |got - want| in units of unit(i); infinite if only one of them is NaN or an infinity.
template <class T, class F>
double worst_error(const std::vector<T>& got, const std::vector<double>& want, F unit) {
  if (got.size() != want.size()) return vectors::kInf;
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const auto x = static_cast<double>(got[i]);
    if (x == want[i] || (std::isnan(x) && std::isnan(want[i]))) continue;
    const double error = std::fabs(x - want[i]) / unit(i);
    if (!(error <= worst)) worst = std::isnan(error) ? vectors::kInf : error;
  }
  return worst;
}
/// In units of the sizes of a product's terms.
template <class T>
double worst_error(const std::vector<T>& got, const Product& want) {
  return worst_error(got, want.values, [&](size_t i) { return want.sizes[i]; });
}

}  // namespace plain
