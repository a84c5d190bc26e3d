#include "gradus/autograd/kernels/blas/few_rows.hpp"

#include <algorithm>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {
namespace {

// Sharing fewer weights than this takes longer than reading them on one thread.
constexpr int64_t kSmallRead = int64_t{1} << 18;
constexpr int64_t kStreams = 4;  // the rows that `dots` takes at once

template <class T>
void dots(int64_t n, const T* x, const T* const* rows, T* sums) {
  isa_loops<DotsLoops<T>>().dots(n, x, rows, sums);
}

template <class T>
void dots(int64_t n, const T* x, const bfloat16* const* rows, T* sums) {
  isa_loops<DotsLoops<T>>().of_bfloat16(n, x, rows, sums);
}

}  // namespace

template <class T, class W>
void linear_few_rows(int64_t m, int64_t n, int64_t k, T* y, const T* x, int64_t ldx, const W* w,
                     const T* bias) {
  const int64_t work = std::max<int64_t>(1, kStreams * m * k);
  parallel_for(n, std::max<int64_t>(1, kSmallRead / work) * kStreams, [&](int64_t begin, int64_t end) {
    // Four parts of the weights at a time: several streams read memory a third faster than one.
    const int64_t length = (end - begin + kStreams - 1) / kStreams;
    for (int64_t step = 0; step < length; ++step) {
      int64_t at[kStreams];
      const W* rows[kStreams];
      for (int64_t s = 0; s < kStreams; ++s) {
        at[s] = std::min(begin + s * length + step, end - 1);
        rows[s] = w + at[s] * k;
      }
      for (int64_t i = 0; i < m; ++i) {
        T sums[kStreams];
        dots(k, x + i * ldx, rows, sums);
        for (int64_t s = 0; s < kStreams; ++s) y[i * n + at[s]] = sums[s] + (bias ? bias[at[s]] : T{0});
      }
    }
  });
}

#define GRADUS_INSTANTIATE(T, W) \
  template void linear_few_rows(int64_t, int64_t, int64_t, T*, const T*, int64_t, const W*, const T*)
GRADUS_INSTANTIATE(float, float);
GRADUS_INSTANTIATE(float, bfloat16);
GRADUS_INSTANTIATE(double, double);
GRADUS_INSTANTIATE(double, bfloat16);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kernels
