// Reductions of rows, running sums, softmax and its relatives, norms.
#pragma once

#include "gradus/autograd/reference/array.hpp"
#include "gradus/autograd/reference/dual.hpp"

namespace gradus::reference {

template <class T>
using Row = std::vector<T>;  ///< the elements that become one

/// f(row) of the elements along `dims`, which disappear from the shape; no dims: each element alone.
template <class T, class F>
Array<T> reduce(const Array<T>& x, const Sizes& dims, F f) {
  Sizes kept = x.shape, left;
  for (const int64_t d : dims) kept[static_cast<size_t>(d)] = 1;
  std::vector<Row<T>> rows(static_cast<size_t>(count(kept)));
  int64_t i = 0;
  for_each_index(x.shape,
                 [&](const Sizes& at) { rows[static_cast<size_t>(place(at, kept))].push_back(x[i++]); });
  Array<T> y(kept);
  for (int64_t r = 0; r < y.size(); ++r) y[r] = f(rows[static_cast<size_t>(r)]);
  return y;
}

/// f(row) along dimension d: a row of the same length.
template <class T, class F>
Array<T> along(const Array<T>& x, int64_t d, F f) {
  Array<T> y(x.shape);
  const Around a(x.shape, d);
  for_each_line(a, [&](int64_t o, int64_t k) {
    Row<T> row;
    for (int64_t i = 0; i < a.size; ++i) row.push_back(x[a.at(o, i, k)]);
    row = f(row);
    for (int64_t i = 0; i < a.size; ++i) y[a.at(o, i, k)] = row[static_cast<size_t>(i)];
  });
  return y;
}

/// x_1 + ... + x_n
template <class T>
T sum(const Row<T>& x) {
  T total(0);
  for (const T& v : x) total += v;
  return total;
}

/// x_1 + ... + x_n, divided by n.
template <class T>
T mean(const Row<T>& x) {
  return sum(x) / T(static_cast<double>(x.size()));
}

/// The largest, or a NaN; equal ones share the derivative.
template <class T>
T amax(const Row<T>& x) {
  T best = x.at(0), above(0);
  for (const T& v : x)
    if (v > best || plain(v) != plain(v)) best = v;
  double ties = 0;
  for (const T& v : x)
    if (v == best) {
      above += v - T(plain(best));
      ++ties;
    }
  return ties < 2 || std::isinf(plain(best)) ? best : T(plain(best)) + above / T(ties);
}
template <class T>
T amin(const Row<T>& x) {
  Row<T> negative;
  for (const T& v : x) negative.push_back(-v);
  return -amax(negative);
}

/// The sum of (x_i - mean)^2, divided by n - correction (not below 0).
template <class T>
T var(const Row<T>& x, int64_t correction) {
  const T middle = mean(x);
  T total(0);
  for (const T& v : x) total += (v - middle) * (v - middle);
  const double divisor = static_cast<double>(static_cast<int64_t>(x.size()) - correction);
  return total / T(divisor > 0 ? divisor : 0);
}

/// (sum |x_i|^p)^(1/p); for p = 0 the number of those that are not 0. Divided by a constant first, so that
/// powers neither overflow nor vanish. The derivative of a norm of 0 is 0.
template <class T>
T norm(const Row<T>& x, double p) {
  double scale = 0;
  for (const T& v : x) {
    const double size = std::abs(plain(v));
    if (size != 0 && !std::isinf(size) && (scale == 0 || (p > 0 ? size > scale : size < scale))) scale = size;
  }
  if (scale == 0) scale = 1;
  T total(0);
  for (const T& v : x) {
    const T z = v / T(scale);
    if (p == 2)
      total += z * z;
    else if (!(z == T(0)) || p < 0)
      total += p == 0 ? T(1) : pow(abs(z), T(p));
  }
  if (p == 0) return total;
  if (total == T(0)) return p > 0 ? T(0) : T(INFINITY);
  return T(scale) * (p == 2 ? sqrt(total) : pow(total, T(1 / p)));
}

/// The largest number, without tangents, that is finite; else 0. Shifted by it, exponentials do not overflow.
template <class T>
double shift_of(const Row<T>& x) {
  double most = -INFINITY;
  for (const T& v : x) most = plain(v) > most ? plain(v) : most;
  return std::isfinite(most) ? most : 0;
}

/// log(sum e^(x_i)), equal to m + log(sum e^(x_i - m)) for any m.
template <class T>
T logsumexp(const Row<T>& x) {
  const double m = shift_of(x);
  T total(0);
  for (const T& v : x) total += exp(v - T(m));
  return total == T(0) ? T(-INFINITY) : T(m) + log(total);
}

/// y_i = e^(x_i) / sum_j e^(x_j), equal to e^(x_i - m) / sum_j e^(x_j - m) for any m (Bridle, 1990).
template <class T>
Row<T> softmax(const Row<T>& x) {
  const double m = shift_of(x);
  T total(0);
  for (const T& v : x) total += exp(v - T(m));
  Row<T> y;
  for (const T& v : x) y.push_back(exp(v - T(m)) / total);
  return y;
}

/// y_i = x_i - log(sum_j e^(x_j))
template <class T>
Row<T> log_softmax(const Row<T>& x) {
  const double m = shift_of(x);
  T total(0);
  for (const T& v : x) total += exp(v - T(m));
  Row<T> y;
  for (const T& v : x) y.push_back((v - T(m)) - log(total));
  return y;
}

/// y_i = x_1 + ... + x_i; reverse: x_i + ... + x_n.
template <class T>
Row<T> cumsum(Row<T> x, bool reverse) {
  const size_t n = x.size();
  for (size_t i = 1; i < n; ++i) {
    if (reverse)
      x[n - 1 - i] += x[n - i];
    else
      x[i] += x[i - 1];
  }
  return x;
}

/// h_1 = b_1, h_t = a_t h_(t-1) + b_t along dimension d; reverse: from the other end (Martin and Cundy, arXiv
/// 1709.04057).
template <class T>
Array<T> linear_recurrence(const Array<T>& a, const Array<T>& b, int64_t d, bool reverse) {
  Array<T> h(a.shape);
  const Around w(a.shape, d);
  for_each_line(w, [&](int64_t o, int64_t k) {
    T last(0);
    for (int64_t t = 0; t < w.size; ++t) {
      const int64_t i = w.at(o, reverse ? w.size - 1 - t : t, k);
      h[i] = last = t == 0 ? b[i] : a[i] * last + b[i];
    }
  });
  return h;
}

// -- norms of rows: the last dimensions, `cols` elements
/// (x - mean) / sqrt(var + eps) * weight + bias (Ba, Kiros and Hinton, arXiv 1607.06450).
template <class T>
Array<T> layer_norm(const Array<T>& x, const Array<T>& weight, const Array<T>& bias, int64_t cols,
                    double eps) {
  Array<T> y(x.shape);
  for (int64_t first = 0; first < x.size(); first += cols) {
    const Row<T> row(x.data.begin() + first, x.data.begin() + first + cols);
    const T middle = mean(row), deviation = sqrt(var(row, 0) + T(eps));
    for (int64_t i = 0; i < cols; ++i) {
      const T xhat = (x[first + i] - middle) / deviation;
      const T scaled = weight.defined ? xhat * weight[i] : xhat;
      y[first + i] = bias.defined ? scaled + bias[i] : scaled;
    }
  }
  return y;
}

/// x / sqrt(mean(x^2) + eps) * weight (Zhang and Sennrich, arXiv 1910.07467). Divided by its largest element,
/// a constant, first, so that squares do not overflow.
template <class T>
Array<T> rms_norm(const Array<T>& x, const Array<T>& weight, int64_t cols, double eps) {
  Array<T> y(x.shape);
  for (int64_t first = 0; first < x.size(); first += cols) {
    double most = std::sqrt(eps);
    for (int64_t i = 0; i < cols; ++i) most = std::fmax(most, std::abs(plain(x[first + i])));
    if (most == 0) most = 1;
    Row<T> squares;
    for (int64_t i = 0; i < cols; ++i) squares.push_back(x[first + i] / T(most) * (x[first + i] / T(most)));
    const T rms = sqrt(mean(squares) + T(eps / most / most));
    for (int64_t i = 0; i < cols; ++i) {
      const T xhat = x[first + i] / T(most) / rms;
      y[first + i] = weight.defined ? xhat * weight[i] : xhat;
    }
  }
  return y;
}

/// -log softmax(x)[target] of each row of x (N, V); 0 for a target that is ignored.
template <class T>
Array<T> cross_entropy(const Array<T>& x, const Whole& target, int64_t ignore_index) {
  const int64_t classes = x.size(1);
  Array<T> losses({x.size(0)});
  for (int64_t n = 0; n < x.size(0); ++n) {
    if (target[n] == ignore_index) continue;
    const Row<T> row(x.data.begin() + n * classes, x.data.begin() + (n + 1) * classes);
    losses[n] = -log_softmax(row)[static_cast<size_t>(target[n])];
  }
  return losses;
}

}  // namespace gradus::reference
