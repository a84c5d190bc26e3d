#include "gradus/autograd/kernels/elementwise/index.hpp"

#include <algorithm>

#include "gradus/autograd/kernels/threads/rows.hpp"

namespace gradus::kernels {

template <class T>
void index_select(int64_t outer, int64_t n_in, int64_t inner, int64_t count, T* out, const T* x,
                  const int64_t* index) {
  for_each_row(outer * count, inner, [&](int64_t r) {
    std::copy_n(x + (r / count * n_in + index[r % count]) * inner, inner, out + r * inner);
  });
}

// Threads share the outer and the inner dimension: within a column the additions keep their order.
template <class T>
void index_add(int64_t outer, int64_t n_out, int64_t inner, int64_t count, T* out, const int64_t* index,
               const T* src) {
  constexpr int64_t kColumns = 64;
  const int64_t strips = (inner + kColumns - 1) / kColumns;
  for_each_row(outer * strips, count * kColumns, [&](int64_t job) {
    const int64_t o = job / strips, begin = job % strips * kColumns, end = std::min(inner, begin + kColumns);
    for (int64_t k = 0; k < count; ++k) {
      T* to = out + (o * n_out + index[k]) * inner;
      const T* from = src + (o * count + k) * inner;
      for (int64_t i = begin; i < end; ++i) to[i] += from[i];
    }
  });
}

template <class T>
void gather(int64_t outer, int64_t n_in, int64_t inner, int64_t n_out, T* out, const T* x,
            const int64_t* index) {
  for_each_row(outer * n_out, inner, [&](int64_t r) {
    for (int64_t i = 0; i < inner; ++i)
      out[r * inner + i] = x[(r / n_out * n_in + index[r * inner + i]) * inner + i];
  });
}

template <class T>
void scatter_add(int64_t outer, int64_t n_out, int64_t inner, int64_t n_src, T* out, const int64_t* index,
                 const T* src) {
  for_each_row(outer, n_src * inner, [&](int64_t o) {
    for (int64_t at = o * n_src * inner; at < (o + 1) * n_src * inner; ++at)
      out[(o * n_out + index[at]) * inner + at % inner] += src[at];
  });
}

template <class T>
void triangle(bool lower, int64_t batch, int64_t rows, int64_t cols, T* out, const T* x, int64_t diagonal) {
  for_each_row(batch * rows, cols, [&](int64_t line) {
    const int64_t first = line * cols, on_diagonal = line % rows + diagonal;
    for (int64_t c = 0; c < cols; ++c) {
      const bool keep = lower ? c <= on_diagonal : c >= on_diagonal;
      out[first + c] = keep ? x[first + c] : T{0};
    }
  });
}

template void index_select(int64_t, int64_t, int64_t, int64_t, float*, const float*, const int64_t*);
template void index_select(int64_t, int64_t, int64_t, int64_t, double*, const double*, const int64_t*);
template void index_select(int64_t, int64_t, int64_t, int64_t, int64_t*, const int64_t*, const int64_t*);
template void index_select(int64_t, int64_t, int64_t, int64_t, bool*, const bool*, const int64_t*);
template void index_add(int64_t, int64_t, int64_t, int64_t, float*, const int64_t*, const float*);
template void index_add(int64_t, int64_t, int64_t, int64_t, double*, const int64_t*, const double*);
template void index_add(int64_t, int64_t, int64_t, int64_t, int64_t*, const int64_t*, const int64_t*);
template void gather(int64_t, int64_t, int64_t, int64_t, float*, const float*, const int64_t*);
template void gather(int64_t, int64_t, int64_t, int64_t, double*, const double*, const int64_t*);
template void gather(int64_t, int64_t, int64_t, int64_t, int64_t*, const int64_t*, const int64_t*);
template void gather(int64_t, int64_t, int64_t, int64_t, bool*, const bool*, const int64_t*);
template void scatter_add(int64_t, int64_t, int64_t, int64_t, float*, const int64_t*, const float*);
template void scatter_add(int64_t, int64_t, int64_t, int64_t, double*, const int64_t*, const double*);
template void scatter_add(int64_t, int64_t, int64_t, int64_t, int64_t*, const int64_t*, const int64_t*);
template void triangle(bool, int64_t, int64_t, int64_t, float*, const float*, int64_t);
template void triangle(bool, int64_t, int64_t, int64_t, double*, const double*, int64_t);
template void triangle(bool, int64_t, int64_t, int64_t, int64_t*, const int64_t*, int64_t);
template void triangle(bool, int64_t, int64_t, int64_t, bool*, const bool*, int64_t);

}  // namespace gradus::kernels
