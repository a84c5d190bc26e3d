// Ops that choose by order or by chance; none of them is differentiable.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/ops/check.hpp"
#include "gradus/autograd/raw.hpp"

namespace gradus {
namespace {

// Rows along `dim`, packed, that dimension last.
Tensor rows_along(const Tensor& x, int dim) {
  return raw::contiguous(x.dim() == 0 ? x.detach() : x.detach().transpose(dim, -1));
}

Tensor back_along(const Tensor& rows, int dim) {
  return rows.dim() == 0 ? rows : raw::contiguous(rows.transpose(dim, -1));
}

// The order of one row, NaN counting as largest, equal values in the order they came.
template <class T>
std::vector<int64_t> row_order(const T* row, int64_t n, bool descending) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const auto less = [](T a, T b) { return a < b || (b != b && a == a); };
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return descending ? less(row[j], row[i]) : less(row[i], row[j]);
  });
  return order;
}

Sorted first_of_each_row(const Tensor& x, int64_t keep, int dim, bool descending) {
  const Tensor rows = rows_along(x, dim);
  const int64_t n = x.dim() == 0 ? 1 : rows.shape().back();
  Shape shape = rows.shape();
  if (shape.size() > 0) shape[shape.size() - 1] = keep;
  Tensor values = empty(shape, x.dtype()), indices = empty(shape, DType::int64);
  int64_t* index = indices.mutable_data<int64_t>();
  dispatch_number("sort", x.dtype(), [&]<class T>() {
    const T* row = rows.data<T>();
    T* value = values.mutable_data<T>();
    for (int64_t r = 0, count = n == 0 ? 0 : rows.numel() / n; r < count; ++r, row += n) {
      const std::vector<int64_t> order = row_order(row, n, descending);
      for (int64_t i = 0; i < keep; ++i) {
        *index++ = order[static_cast<size_t>(i)];
        *value++ = row[order[static_cast<size_t>(i)]];
      }
    }
  });
  return {back_along(values, dim), back_along(indices, dim)};
}

// Index of the first running sum above u * total.
int64_t draw_one(const std::vector<double>& p, double total, double u) {
  double running = 0.0;
  int64_t last = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] == 0.0) continue;
    running += p[i];
    last = static_cast<int64_t>(i);
    if (u * total < running) break;
  }
  return last;
}

}  // namespace

Tensor argmax(const Tensor& x, int64_t dim, bool keepdim) {
  check_floating("argmax", x);
  const int d = wrap_dim("argmax", dim, x.dim());
  const Tensor rows = rows_along(x, d);
  const int64_t n = x.dim() == 0 ? 1 : rows.shape().back();
  if (n == 0) fail("argmax", "needs values to choose from, got shape ", x.shape(), ".");
  Shape shape = rows.shape();
  if (shape.size() > 0) shape[shape.size() - 1] = 1;
  Tensor out = empty(shape, DType::int64);
  dispatch_float("argmax", x.dtype(), [&]<class T>() {
    kernels::argmax(out.numel(), n, out.mutable_data<int64_t>(), rows.data<T>());
  });
  const Tensor index = back_along(out, d);
  return keepdim || x.dim() == 0 ? index : index.squeeze(d);
}

Sorted sort(const Tensor& x, int64_t dim, bool descending) {
  check_defined("sort", x);
  const int d = wrap_dim("sort", dim, x.dim());
  return first_of_each_row(x, x.dim() == 0 ? 1 : x.shape()[d], d, descending);
}

Sorted topk(const Tensor& x, int64_t k, int64_t dim) {
  check_defined("topk", x);
  const int d = wrap_dim("topk", dim, x.dim());
  const int64_t n = x.dim() == 0 ? 1 : x.shape()[d];
  if (k < 0 || k > n) fail("topk", "k must be in [0, ", n, "], got ", k, ".");
  return first_of_each_row(x, k, d, /*descending=*/true);
}

Tensor multinomial(const Tensor& p, int64_t num_samples, Generator& generator, bool replacement) {
  check_floating("multinomial", p);
  if (p.dim() == 0 || num_samples < 1)
    fail("multinomial", "needs weights (..., n) and at least one sample, got ", p.shape(), " and ",
         num_samples, ".");
  const Tensor rows = raw::contiguous(p.to(DType::float64).detach());
  const int64_t n = p.size(-1);
  Shape shape = p.shape();
  shape[shape.size() - 1] = num_samples;
  Tensor out = empty(shape, DType::int64);
  int64_t* sample = out.mutable_data<int64_t>();
  for (int64_t r = 0, count = n == 0 ? 0 : rows.numel() / n; r < count; ++r) {
    const double* row = rows.data<double>() + r * n;
    std::vector<double> weights(row, row + n);
    int64_t positive = 0;
    for (const double w : weights) {
      if (!(w >= 0.0) || !std::isfinite(w))
        fail("multinomial", "weights must be finite and not negative, got ", w, ".");
      positive += w > 0.0;
    }
    if (positive < (replacement ? 1 : num_samples))
      fail("multinomial", "needs at least ", replacement ? 1 : num_samples,
           " positive weights in a row, got ", positive, ".");
    for (int64_t i = 0; i < num_samples; ++i) {
      const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
      const int64_t drawn = draw_one(weights, total, generator.uniform());
      *sample++ = drawn;
      if (!replacement) weights[static_cast<size_t>(drawn)] = 0.0;
    }
  }
  return out;
}

}  // namespace gradus
