// Principal component analysis in two dimensions. Thread-safe: no state.
#pragma once

#include <array>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::look {

/// Points in the plane in which they vary most.
struct Plane {
  std::vector<double> x, y;             ///< from the mean, along the first and the second principal component
  std::array<double, 2> variance = {};  ///< the shares of both in the variance of the points
};

/// The plane of the rows of a matrix (N, C), for N of some hundreds: its cost grows with N^3. The largest of
/// the values of x, by size, is positive, and that of y. Zeros where the points do not vary.
Plane principal_plane(const Tensor& rows);

}  // namespace gradus::look
