#include "gradus/autograd/kernels/updates/adamw.hpp"

#include <cmath>
#include <vector>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {
namespace {

constexpr int64_t kUpdateBlock = 16384;  // elements

}  // namespace

template <class T>
void adamw(int64_t n, T* param, T* m, T* v, const T* grad, double lr, double beta1, double beta2, double eps,
           double weight_decay, int64_t step, double grad_scale) {
  const auto steps = static_cast<double>(step);
  const AdamWFactors<T> factors{static_cast<T>(grad_scale),
                                static_cast<T>(beta1),
                                static_cast<T>(1.0 - beta1),
                                static_cast<T>(beta2),
                                static_cast<T>(1.0 - beta2),
                                static_cast<T>(1.0 - lr * weight_decay),
                                static_cast<T>(lr / (1.0 - std::pow(beta1, steps))),
                                static_cast<T>(1.0 / std::sqrt(1.0 - std::pow(beta2, steps))),
                                static_cast<T>(eps)};
  parallel_for(n, kUpdateBlock, [&](int64_t begin, int64_t end) {
    isa_loops<AdamWLoops<T>>().adamw(end - begin, param + begin, m + begin, v + begin, grad + begin, factors);
  });
}

template <class T>
double sum_of_squares(int64_t n, const T* x) {
  std::vector<double> parts(static_cast<size_t>((n + kUpdateBlock - 1) / kUpdateBlock));
  parallel_for(n, kUpdateBlock, [&](int64_t begin, int64_t end) {
    parts[static_cast<size_t>(begin / kUpdateBlock)] =
        isa_loops<AdamWLoops<T>>().sum_of_squares(end - begin, x + begin);
  });
  double total = 0;
  for (const double part : parts) total += part;
  return total;
}

template void adamw(int64_t, float*, float*, float*, const float*, double, double, double, double, double,
                    int64_t, double);
template void adamw(int64_t, double*, double*, double*, const double*, double, double, double, double, double,
                    int64_t, double);
template double sum_of_squares(int64_t, const float*);
template double sum_of_squares(int64_t, const double*);

}  // namespace gradus::kernels
