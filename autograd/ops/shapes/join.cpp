#include <algorithm>
#include <iterator>

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim) {
  if (tensors.empty()) fail("cat", "needs at least one tensor.");
  // An empty vector joins with any tensor, as in PyTorch: loops start with it before shapes are known.
  const auto is_nothing = [](const Tensor& t) { return t.dim() == 1 && t.numel() == 0; };
  for (const Tensor& t : tensors) check_same_dtype("cat", tensors.front(), t);
  const auto some = std::find_if_not(tensors.begin(), tensors.end(), is_nothing);
  const Tensor& first = some == tensors.end() ? tensors.front() : *some;
  if (first.dim() == 0) fail("cat", "scalars cannot be joined. Hint: use stack().");
  const int d = wrap_dim("cat", dim, first.dim());
  Shape shape = resized(first.shape(), d, 0);
  std::vector<int64_t> sizes;
  for (const Tensor& t : tensors) {
    if (is_nothing(t)) {
      sizes.push_back(0);
      continue;
    }
    Shape other = t.shape();
    if (other.size() == shape.size()) other[d] = first.shape()[d];
    if (other != first.shape())
      fail("cat", "shapes must be equal but for dim ", d, ", got ", first.shape(), " and ", t.shape(), ".");
    sizes.push_back(t.shape()[d]);
    shape[d] += sizes.back();
    check_sizes("cat", shape);
  }
  Tensor out = empty(shape, first.dtype());
  int64_t start = 0;
  for (size_t i = 0; i < tensors.size(); start += sizes[i++]) {
    if (sizes[i] == 0) continue;
    Tensor part = out.slice(d, start, start + sizes[i]);
    raw::copy_into(part, tensors[i]);
  }
  std::vector<bool> nothing;
  std::transform(tensors.begin(), tensors.end(), std::back_inserter(nothing), is_nothing);
  autograd::trace_attributes(d);
  return record("cat", std::move(out), tensors, [d, sizes, nothing](const Tensor& gy, Needs) {
    std::vector<Tensor> pieces = gy.split(sizes, d);
    for (size_t i = 0; i < pieces.size(); ++i)
      if (nothing[i]) pieces[i] = pieces[i].reshape({0});
    return pieces;
  });
}

Tensor stack(const std::vector<Tensor>& tensors, int64_t dim) {
  if (tensors.empty()) fail("stack", "needs at least one tensor.");
  check_defined("stack", tensors.front());
  const int d = wrap_dim("stack", dim, tensors.front().dim() + 1);
  std::vector<Tensor> rows;
  for (const Tensor& t : tensors) {
    check_same_dtype("stack", tensors.front(), t);
    if (t.shape() != tensors.front().shape())
      fail("stack", "shapes must be equal, got ", tensors.front().shape(), " and ", t.shape(), ".");
    rows.push_back(t.detach().unsqueeze(d));
  }
  Tensor out = cat(rows, d);
  autograd::trace_attributes(d);
  return record("stack", std::move(out), tensors, [d](const Tensor& gy, Needs) {
    std::vector<Tensor> pieces;
    for (int64_t i = 0; i < gy.size(d); ++i) pieces.push_back(gy.select(d, i));
    return pieces;
  });
}

Tensor pad(const Tensor& x, int64_t dim, int64_t size, int64_t start, int64_t step) {
  check_defined("pad", x);
  if (x.dim() == 0) fail("pad", "a scalar has no dimension to pad.");
  const int d = wrap_dim("pad", dim, x.dim());
  const int64_t count = x.shape()[d];
  if (start < 0 || step < 1 || (count > 0 && (start >= size || count - 1 > (size - 1 - start) / step)))
    fail("pad", count, " elements from ", start, " by ", step, " must lie in a dim of size ", size, ".");
  Tensor out = zeros(resized(x.shape(), d, size), x.dtype());
  const int64_t end = count > 0 ? start + (count - 1) * step + 1 : start;
  Tensor part = out.slice(d, start, end, step);
  raw::copy_into(part, x);
  autograd::trace_attributes(d, start, step);
  return record("pad", std::move(out),
                {{x, [d, start, end, step](const Tensor& gy) { return gy.slice(d, start, end, step); }}});
}

}  // namespace gradus
