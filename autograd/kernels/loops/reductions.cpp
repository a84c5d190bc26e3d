// Loops of sum, max and min.
#include <utility>

#include "gradus/autograd/kernels/elementwise/reduce.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/sums.hpp"

namespace gradus::kernels::GRADUS_ISA {

// out = op(out, row) for each row, by columns. A NaN makes max and min NaN.
template <class T, Reduce kOp>
void fold_rows(int64_t rows, int64_t cols, T* out, const T* x, int64_t row_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = x + r * row_stride;
#pragma omp simd
    for (int64_t c = 0; c < cols; ++c) {
      const T a = out[c], b = row[c];
      if constexpr (kOp == Reduce::sum) out[c] = a + b;
      if constexpr (kOp == Reduce::max) out[c] = b > a || b != b ? b : a;
      if constexpr (kOp == Reduce::min) out[c] = b < a || b != b ? b : a;
    }
  }
}

template <class T>
bool has_nan(int64_t n, const T* x) {
  int32_t any = 0;
#pragma omp simd reduction(| : any)
  for (int64_t i = 0; i < n; ++i) any |= x[i] != x[i] ? 1 : 0;
  return any != 0;
}

template <class T, Reduce kOp>
T fold(int64_t n, const T* x) {
  if constexpr (kOp == Reduce::sum) return sum(n, x);
  if (has_nan(n, x)) return static_cast<T>(__builtin_nan(""));
  return extreme_number<T, kOp>(n, x);
}

template <class T, int... kOp>
constexpr ReduceLoops<T> reduce_loops(std::integer_sequence<int, kOp...>) {
  return {{fold<T, Reduce{kOp}>...}, {fold_rows<T, Reduce{kOp}>...}};
}

GRADUS_BUILD(ReduceLoops, reduce_loops<T>(EachOf<Reduce>()));

}  // namespace gradus::kernels::GRADUS_ISA
