#include "gradus/autograd/kernels/updates/muon.hpp"

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {
namespace {

constexpr int64_t kMuonBlock = 16384;  // elements

}  // namespace

template <class T>
void look_ahead(int64_t n, T* ahead, T* sum, const T* grad, double momentum, double grad_scale) {
  parallel_for(n, kMuonBlock, [&](int64_t begin, int64_t end) {
    isa_loops<MuonLoops<T>>().look_ahead(end - begin, ahead + begin, sum + begin, grad + begin,
                                         static_cast<T>(momentum), static_cast<T>(grad_scale));
  });
}

template <class T>
void weighted_sum(int64_t n, T* out, double a, const T* x, double b, const T* y) {
  parallel_for(n, kMuonBlock, [&](int64_t begin, int64_t end) {
    isa_loops<MuonLoops<T>>().weighted_sum(end - begin, out + begin, static_cast<T>(a), x + begin,
                                           static_cast<T>(b), y + begin);
  });
}

template void look_ahead(int64_t, float*, float*, const float*, double, double);
template void look_ahead(int64_t, double*, double*, const double*, double, double);
template void weighted_sum(int64_t, float*, double, const float*, double, const float*);
template void weighted_sum(int64_t, double*, double, const double*, double, const double*);

}  // namespace gradus::kernels
