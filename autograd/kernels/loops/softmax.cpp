// Softmax, its relatives and cross-entropy, of one row; and the loops of reductions, which are in rows.hpp.
#include <utility>

#include "gradus/autograd/kernels/elementwise/reduce.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/math.hpp"
#include "gradus/autograd/kernels/loops/rows.hpp"
#include "gradus/autograd/kernels/rows/softmax.hpp"

namespace gradus::kernels::GRADUS_ISA {

template <class T>
void softmax(int64_t cols, T* y, const T* x) {
  const T largest = extreme_number<T, Reduce::max>(cols, x);
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) y[i] = exp_(x[i] - largest);
  T total = 0;
  if (cols < kShortRow) {
    for (int64_t i = 0; i < cols; ++i) total += y[i];
  } else {
    total = sum(cols, y);
  }
  const T scale = T{1} / total;
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) y[i] *= scale;
}

template <class T>
T logsumexp(int64_t cols, const T* x) {
  const ShiftedSum<T> parts = shifted_sum(cols, x);
  return parts.shift + std::log(parts.sum);
}

template <class T>
void log_softmax(int64_t cols, T* y, const T* x) {
  const ShiftedSum<T> parts = shifted_sum(cols, x);
  const T log = std::log(parts.sum_of_shares());
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) y[i] = (x[i] - parts.shift) - log;
}

template <class T>
void softmax_grad(int64_t cols, T* gx, const T* gy, const T* y) {
  T along = 0;
#pragma omp simd reduction(+ : along)
  for (int64_t i = 0; i < cols; ++i) along += gy[i] * y[i];
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) gx[i] = y[i] * (gy[i] - along);
}

template <class T>
void log_softmax_grad(int64_t cols, T* gx, const T* gy, const T* y) {
  const T total = sum(cols, gy);
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) gx[i] = gy[i] - exp_(y[i]) * total;
}

GRADUS_BUILD(SoftmaxLoops, softmax<T>, log_softmax<T>, logsumexp<T>, softmax_grad<T>, log_softmax_grad<T>);

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
  // Near 1 the target's share is rounded too coarsely to give 1 - share, which is the sum of the others.
  if (share > T(0.5)) {
    gx[target] = T{0} - (sum(target, gx) + sum(classes - target - 1, gx + target + 1));
  } else {
    gx[target] -= scale;
  }
}

GRADUS_BUILD(CrossEntropyLoops, cross_entropy<T>, cross_entropy_grad<T>);

template <class T, int... kOp>
constexpr ReduceLoops<T> reduce_loops(std::integer_sequence<int, kOp...>) {
  return {{fold<T, Reduce{kOp}>...}, {fold_rows<T, Reduce{kOp}>...}};
}

GRADUS_BUILD(ReduceLoops, reduce_loops<T>(EachOf<Reduce>()));

}  // namespace gradus::kernels::GRADUS_ISA
