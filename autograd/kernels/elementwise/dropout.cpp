#include "gradus/autograd/kernels/elementwise/dropout.hpp"

#include <algorithm>
#include <cmath>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {
namespace {

constexpr int64_t kDropoutBlock =
    16384;  // elements; a multiple of those that one batch of Philox blocks covers

}  // namespace

template <class T>
void dropout(int64_t n, T* out, const T* x, double p, uint64_t key, uint64_t offset) {
  const double threshold = std::ceil(p * 0x1p32);  // word * 2^-32 >= p exactly when word >= threshold
  if (threshold >= 0x1p32) {
    std::fill_n(out, n, T{0});
    return;
  }
  const T scale = static_cast<T>(1.0 / (1.0 - p));
  parallel_for(n, kDropoutBlock, [&](int64_t begin, int64_t end) {
    isa_loops<DropoutLoops<T>>().dropout(end - begin, out + begin, x + begin,
                                         static_cast<uint32_t>(threshold), scale, key,
                                         offset + static_cast<uint64_t>(begin) / 4);
  });
}

template void dropout(int64_t, float*, const float*, double, uint64_t, uint64_t);
template void dropout(int64_t, double*, const double*, double, uint64_t, uint64_t);

}  // namespace gradus::kernels
