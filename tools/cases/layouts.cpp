#include "gradus/tools/cases/layouts.hpp"

#include <limits>

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::cases {

Tensor transposed(const Tensor& x) {
  std::vector<int64_t> reversed;
  for (int d = x.dim() - 1; d >= 0; --d) reversed.push_back(d);
  return x.permute(reversed).contiguous().permute(reversed);
}

Tensor stepped(const Tensor& x) {
  Shape wide = x.shape();
  for (int d = 0; d < x.dim(); ++d) wide[d] = 2 * wide[d] + 1;
  if (wide.empty()) wide = {3};
  constexpr double kNoIndex = -1e9, kNaN = std::numeric_limits<double>::quiet_NaN();
  Tensor part = full(wide, is_floating(x.dtype()) ? kNaN : kNoIndex, x.dtype());
  for (int d = 0; d < x.dim(); ++d) part = part.slice(d, 1, wide[d] - 1, 2);
  if (x.dim() == 0) part = part.select(0, 1);
  part.copy_(x);
  return part;
}

Tensor expanded(const Tensor& x) {
  for (int d = 0; d < x.dim(); ++d)
    if (x.shape()[d] > 1) return x.slice(d, 0, 1).expand(x.shape());
  return x;
}

}  // namespace gradus::cases
