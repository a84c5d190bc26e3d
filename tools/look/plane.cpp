#include "gradus/tools/look/plane.hpp"

#include <cmath>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::look {
namespace {

constexpr int kSquarings = 40;
constexpr double kPure = 1e-14, kNothing = 1e-12;

double trace(const Tensor& square) { return sum(square * eye(square.size(0), DType::float64)).item(); }

/// The projection onto the eigenvector of the largest eigenvalue of a positive semidefinite matrix (N, N):
/// its powers tend to it, and each squaring doubles the power.
Tensor leading_projection(const Tensor& matrix) {
  Tensor power = matrix / trace(matrix);
  for (int i = 0; i < kSquarings; ++i) {
    const Tensor square = matmul(power, power);
    const double purity = trace(square);  // 1 if one eigenvalue is left
    power = square / purity;
    if (purity > 1 - kPure) break;
  }
  return power;
}

}  // namespace

Plane principal_plane(const Tensor& rows) {
  const NoGrad no_grad;
  const int64_t N = rows.size(0);
  const Tensor points = rows.to(DType::float64), centred = points - mean(points, {0}, /*keepdim=*/true);
  Tensor products =
      matmul(centred, centred.transpose(0, 1));  // (N, N); its eigenvectors give the coordinates
  const double total = trace(products);

  Plane plane;
  for (size_t i = 0; i < 2; ++i) {
    std::vector<double>& coordinates = i == 0 ? plane.x : plane.y;
    coordinates.assign(static_cast<size_t>(N), 0.0);
    if (!(trace(products) > kNothing * total)) continue;
    const Tensor projection = leading_projection(products);  // v v^T
    const double eigenvalue = trace(matmul(projection, products));
    int64_t largest = 0;
    for (int64_t row = 1; row < N; ++row)
      if (projection.at({row, row}) > projection.at({largest, largest})) largest = row;
    const double scale = std::sqrt(eigenvalue / projection.at({largest, largest}));
    for (int64_t row = 0; row < N; ++row)
      coordinates[static_cast<size_t>(row)] = scale * projection.at({row, largest});
    plane.variance[i] = eigenvalue / total;
    products = products - projection * eigenvalue;
  }
  return plane;
}

}  // namespace gradus::look
