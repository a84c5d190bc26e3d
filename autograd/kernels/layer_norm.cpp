#include "gradus/autograd/kernels/layer_norm.hpp"

#include <vector>

#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/rows.hpp"

namespace gradus::kernels {
namespace {

constexpr int64_t kGradRows = 64;  // rows whose weight and bias gradients one thread sums

}  // namespace

template <class T>
void layer_norm(int64_t rows, int64_t cols, T eps, T* y, T* mean, T* rstd, const T* x, const T* weight,
                const T* bias) {
  for_each_row(rows, cols, [&](int64_t r) {
    level_kernels<T>().layer_norm(cols, eps, y + r * cols, mean + 2 * r, rstd + r, x + r * cols, weight,
                                  bias);
  });
}

template <class T>
void layer_norm_grad(int64_t rows, int64_t cols, T* gx, T* gw, T* gb, const T* gy, const T* x, const T* mean,
                     const T* rstd, const T* weight) {
  const int64_t blocks = (rows + kGradRows - 1) / kGradRows;
  std::vector<T> sums(static_cast<size_t>((gw || gb) ? 2 * blocks * cols : 0));
  parallel_for(rows, kGradRows, [&](int64_t begin, int64_t end) {
    T* block_gw = gw ? sums.data() + 2 * (begin / kGradRows) * cols : nullptr;
    T* block_gb = gb ? sums.data() + (2 * (begin / kGradRows) + 1) * cols : nullptr;
    for (int64_t r = begin; r < end; ++r) {
      const T *g = gy + r * cols, *row = x + r * cols;
      if (gx) level_kernels<T>().layer_norm_gx(cols, gx + r * cols, g, row, mean + 2 * r, rstd[r], weight);
      if (gw || gb) level_kernels<T>().layer_norm_gw(cols, block_gw, block_gb, g, row, mean + 2 * r, rstd[r]);
    }
  });
  const auto total = [&](T* out, int64_t which) {
    if (!out) return;
    std::fill_n(out, cols, T{0});
    level_kernels<T>().fold_rows[static_cast<int>(Reduce::sum)](blocks, cols, out, sums.data() + which * cols,
                                                                2 * cols);
  };
  total(gw, 0);
  total(gb, 1);
}

template void layer_norm(int64_t, int64_t, float, float*, float*, float*, const float*, const float*,
                         const float*);
template void layer_norm(int64_t, int64_t, double, double*, double*, double*, const double*, const double*,
                         const double*);
template void layer_norm_grad(int64_t, int64_t, float*, float*, float*, const float*, const float*,
                              const float*, const float*, const float*);
template void layer_norm_grad(int64_t, int64_t, double*, double*, double*, const double*, const double*,
                              const double*, const double*, const double*);

}  // namespace gradus::kernels
