// Means for ops: of what may be nothing, and of what lies far from zero.
#pragma once

#include <limits>

#include "gradus/autograd/ops/ops.hpp"

namespace gradus {

/// total / count; for a count of 0 NaN whose gradients are those of `total`, which are 0, not 0 / 0.
inline Tensor mean_of(const Tensor& total, int64_t count) {
  if (count == 0) return total + std::numeric_limits<double>::quiet_NaN();
  return total / static_cast<double>(count);
}

/// x - mean(x) over dims. The mean is rounded as coarsely as x is large; what that leaves is taken off as
/// well.
inline Tensor centred(const Tensor& x, const Dims& dims) {
  const Tensor near = x - mean(x, dims, /*keepdim=*/true);
  return near - mean(near, dims, /*keepdim=*/true);
}

}  // namespace gradus
