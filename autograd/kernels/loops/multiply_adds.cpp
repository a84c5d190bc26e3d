// The peak rate of multiply-adds.
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/vector.hpp"
#include "gradus/autograd/kernels/machine_peak.hpp"

namespace gradus::kernels::GRADUS_ISA {

// Independent sums, enough for two units with a latency of four or five cycles.
constexpr int kSums = 12;

template <class T>
int64_t multiply_adds(int64_t rounds, T* sum) {
  Vector<T> sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = broadcast(static_cast<T>(i));
  const Vector<T> half = broadcast(*sum), one = half + half;
  for (int64_t round = 0; round < rounds; ++round)
    for (int i = 0; i < kSums; ++i) sums[i] = fused(sums[i], half, one);
  for (int i = 1; i < kSums; ++i) sums[0] += sums[i];
  *sum = sums[0][0];
  return rounds * kSums * kLanes<T> * 2;
}

GRADUS_BUILD(MultiplyAddLoops, multiply_adds);

}  // namespace gradus::kernels::GRADUS_ISA
