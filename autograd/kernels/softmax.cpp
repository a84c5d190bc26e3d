#include "gradus/autograd/kernels/softmax.hpp"

#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/rows.hpp"

namespace gradus::kernels {

template <class T>
void softmax(int64_t rows, int64_t cols, T* y, const T* x) {
  for_each_row(rows, cols, [&](int64_t r) { level_kernels<T>().softmax(cols, y + r * cols, x + r * cols); });
}

template <class T>
void log_softmax(int64_t rows, int64_t cols, T* y, const T* x) {
  for_each_row(rows, cols,
               [&](int64_t r) { level_kernels<T>().log_softmax(cols, y + r * cols, x + r * cols); });
}

template <class T>
void logsumexp(int64_t rows, int64_t cols, T* out, const T* x) {
  for_each_row(rows, cols, [&](int64_t r) { out[r] = level_kernels<T>().logsumexp(cols, x + r * cols); });
}

template <class T>
void softmax_grad(int64_t rows, int64_t cols, T* gx, const T* gy, const T* y) {
  for_each_row(rows, cols, [&](int64_t r) {
    const int64_t at = r * cols;
    level_kernels<T>().softmax_grad(cols, gx + at, gy + at, y + at);
  });
}

template <class T>
void log_softmax_grad(int64_t rows, int64_t cols, T* gx, const T* gy, const T* y) {
  for_each_row(rows, cols, [&](int64_t r) {
    const int64_t at = r * cols;
    level_kernels<T>().log_softmax_grad(cols, gx + at, gy + at, y + at);
  });
}

template void softmax(int64_t, int64_t, float*, const float*);
template void softmax(int64_t, int64_t, double*, const double*);
template void log_softmax(int64_t, int64_t, float*, const float*);
template void log_softmax(int64_t, int64_t, double*, const double*);
template void logsumexp(int64_t, int64_t, float*, const float*);
template void logsumexp(int64_t, int64_t, double*, const double*);
template void softmax_grad(int64_t, int64_t, float*, const float*, const float*);
template void softmax_grad(int64_t, int64_t, double*, const double*, const double*);
template void log_softmax_grad(int64_t, int64_t, float*, const float*, const float*);
template void log_softmax_grad(int64_t, int64_t, double*, const double*, const double*);

}  // namespace gradus::kernels
