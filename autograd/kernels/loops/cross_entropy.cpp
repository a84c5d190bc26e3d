// Loops of cross-entropy over one row.
#include <cmath>

#include "gradus/autograd/kernels/elementwise/rows.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/math.hpp"
#include "gradus/autograd/kernels/loops/sums.hpp"

namespace gradus::kernels::GRADUS_ISA {

template <class T>
void cross_entropy(int64_t classes, T* loss, T* row_sum, const T* x, int64_t target) {
  const ShiftedSum<T> parts = shifted_sum(classes, x);
  row_sum[0] = parts.shift;
  row_sum[1] = parts.sum_of_shares();
  *loss = std::log(row_sum[1]) - (x[target] - parts.shift);
}

template <class T>
void cross_entropy_grad(int64_t classes, T* gx, T scale, const T* x, const T* row_sum, int64_t target) {
  const T shift = row_sum[0], factor = scale / row_sum[1];
  const T share = exp_(x[target] - shift) / row_sum[1];  // before gx, which may be x, is written
#pragma omp simd
  for (int64_t i = 0; i < classes; ++i) gx[i] = factor * exp_(x[i] - shift);
  // 1 - share has few digits near share = 1; the sum of the other shares has all.
  if (share > T(0.5)) {
    gx[target] = T{0} - (sum(target, gx) + sum(classes - target - 1, gx + target + 1));
  } else {
    gx[target] -= scale;
  }
}

GRADUS_BUILD(CrossEntropyLoops, cross_entropy<T>, cross_entropy_grad<T>);

}  // namespace gradus::kernels::GRADUS_ISA
