#include "gradus/autograd/kernels/cross_entropy.hpp"

#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/rows.hpp"

namespace gradus::kernels {

template <class T>
void cross_entropy(int64_t rows, int64_t classes, T* losses, T* row_sums, const T* x, const int64_t* target,
                   int64_t ignore_index) {
  for_each_row(rows, classes, [&](int64_t r) {
    const T* row = x + r * classes;
    const bool ignored = target[r] == ignore_index;
    level_kernels<T>().cross_entropy(classes, losses + r, row_sums + 2 * r, row, ignored ? 0 : target[r]);
    if (ignored) losses[r] = T{0};
  });
}

template <class T>
void cross_entropy_grad(int64_t rows, int64_t classes, T* gx, const T* grow, const T* x, const T* row_sums,
                        const int64_t* target, int64_t ignore_index) {
  for_each_row(rows, classes, [&](int64_t r) {
    T* out = gx + r * classes;
    if (target[r] == ignore_index) {
      std::fill_n(out, classes, T{0});
      return;
    }
    level_kernels<T>().cross_entropy_grad(classes, out, grow[r], x + r * classes, row_sums + 2 * r,
                                          target[r]);
  });
}

template void cross_entropy(int64_t, int64_t, float*, float*, const float*, const int64_t*, int64_t);
template void cross_entropy(int64_t, int64_t, double*, double*, const double*, const int64_t*, int64_t);
template void cross_entropy_grad(int64_t, int64_t, float*, const float*, const float*, const float*,
                                 const int64_t*, int64_t);
template void cross_entropy_grad(int64_t, int64_t, double*, const double*, const double*, const double*,
                                 const int64_t*, int64_t);

}  // namespace gradus::kernels
