// The mean from a sum. For the ops that take means of what may be nothing.
#pragma once

#include <limits>

#include "gradus/autograd/ops.hpp"

namespace gradus {

/// total / count; for a count of 0 NaN whose gradients are those of `total`, which are 0, not 0 / 0.
inline Tensor mean_of(const Tensor& total, int64_t count) {
  if (count == 0) return total + std::numeric_limits<double>::quiet_NaN();
  return total / static_cast<double>(count);
}

}  // namespace gradus
