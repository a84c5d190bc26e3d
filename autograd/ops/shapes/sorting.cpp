// Ops that choose by order or by value.
#include <algorithm>
#include <numeric>

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {

namespace {

// Rows along `dim`, packed, that dimension last.
Tensor rows_along(const Tensor& x, int dim) {
  return raw::contiguous(x.dim() == 0 ? x.detach() : x.detach().transpose(dim, -1));
}

Tensor back_along(const Tensor& rows, int dim) {
  return rows.dim() == 0 ? rows : raw::contiguous(rows.transpose(dim, -1));
}

// The order of one row, NaN counts as largest, equal values keep their order.
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

ValuesAndIndices first_of_each_row(const Tensor& x, int64_t keep, int dim, bool descending) {
  const Tensor rows = rows_along(x, dim);
  const int64_t n = x.dim() == 0 ? 1 : rows.shape().back();
  Shape shape = rows.shape();
  if (!shape.empty()) shape[shape.size() - 1] = keep;
  Tensor indices = empty(shape, DType::int64);
  int64_t* index = indices.mutable_data<int64_t>();
  dispatch_number("sort", x.dtype(), [&]<class T>() {
    const T* row = rows.data<T>();
    for (int64_t r = 0, count = n == 0 ? 0 : rows.numel() / n; r < count; ++r, row += n)
      index = std::copy_n(row_order(row, n, descending).begin(), keep, index);
  });
  const Tensor places = back_along(indices, dim);
  return {gather(x, dim, places), places};
}

Tensor place_of(kernels::Reduce extreme, std::string_view op, const Tensor& x, int64_t dim, bool keepdim) {
  check_defined(op, x);
  const int d = wrap_dim(op, dim, x.dim());
  const Tensor rows = rows_along(x, d);
  const int64_t n = x.dim() == 0 ? 1 : rows.shape().back();
  if (n == 0) fail(op, "needs values to choose from, got shape ", x.shape(), ".");
  Shape shape = rows.shape();
  if (!shape.empty()) shape[shape.size() - 1] = 1;
  Tensor out = empty(shape, DType::int64);
  dispatch_number(op, x.dtype(), [&]<class T>() {
    kernels::place_of(extreme, out.numel(), n, out.mutable_data<int64_t>(), rows.data<T>());
  });
  const Tensor index = back_along(out, d);
  return keepdim || x.dim() == 0 ? index : index.squeeze(d);
}

}  // namespace

Tensor argmax(const Tensor& x, int64_t dim, bool keepdim) {
  return place_of(kernels::Reduce::max, "argmax", x, dim, keepdim);
}
Tensor argmin(const Tensor& x, int64_t dim, bool keepdim) {
  return place_of(kernels::Reduce::min, "argmin", x, dim, keepdim);
}

ValuesAndIndices sort(const Tensor& x, int64_t dim, bool descending) {
  check_defined("sort", x);
  const int d = wrap_dim("sort", dim, x.dim());
  return first_of_each_row(x, x.dim() == 0 ? 1 : x.shape()[d], d, descending);
}

ValuesAndIndices topk(const Tensor& x, int64_t k, int64_t dim, bool largest, bool /*sorted*/) {
  check_defined("topk", x);
  const int d = wrap_dim("topk", dim, x.dim());
  const int64_t n = x.dim() == 0 ? 1 : x.shape()[d];
  if (k < 0 || k > n) fail("topk", "k must be in [0, ", n, "], got ", k, ".");
  return first_of_each_row(x, k, d, largest);
}

Tensor nonzero(const Tensor& x) {
  check_defined("nonzero", x);
  const std::vector<bool> holds = ne(x, 0.0).to_vector<bool>();
  std::vector<int64_t> found;
  for (size_t i = 0; i < holds.size(); ++i) {
    if (!holds[i]) continue;
    const Shape place = x.shape().index_of(static_cast<int64_t>(i));
    found.insert(found.end(), place.begin(), place.end());
  }
  return tensor(found, {std::count(holds.begin(), holds.end(), true), x.dim()});
}

Tensor one_hot(const Tensor& index, int64_t num_classes) {
  check_defined("one_hot", index);
  if (num_classes < -1 || num_classes == 0)
    fail("one_hot", "num_classes must be at least 1, or -1 to count them, got ", num_classes, ".");
  if (num_classes == -1 && index.numel() == 0)
    fail("one_hot", "needs num_classes if there is no index, got -1.");
  const int64_t n = num_classes == -1 ? static_cast<int64_t>(amax(index).item()) + 1 : num_classes;
  check_index("one_hot", index, n);
  return eq(index.unsqueeze(-1), arange(0, static_cast<double>(n))).to(DType::int64);
}

}  // namespace gradus
