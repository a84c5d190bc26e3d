// Dropout whose mask is a function of a key and a place, so that backward draws it again instead of keeping
// it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

template <class T>
struct DropoutLoops {
  void (*dropout)(int64_t n, T* out, const T* x, uint32_t threshold, T scale, uint64_t key, uint64_t block);
};

/// out[i] = keep(i) ? x[i] * scale : 0, scale = 1 / (1 - p), 0 <= p <= 1. keep(i) says whether word i % 4 of
/// block offset + i / 4 of the key's Philox stream (counter_hi 0), times 2^-32, is at least p. out
/// may be x.
template <class T>
void dropout(int64_t n, T* out, const T* x, double p, uint64_t key, uint64_t offset) {
  const double threshold = std::ceil(p * 0x1p32);  // word * 2^-32 >= p exactly when word >= threshold
  if (threshold >= 0x1p32) {
    std::fill_n(out, n, T{0});
    return;
  }
  const T scale = static_cast<T>(1.0 / (1.0 - p));
  parallel_for(n, kElementsChunk, [&](int64_t begin, int64_t end) {
    isa_loops<DropoutLoops<T>>().dropout(end - begin, out + begin, x + begin,
                                         static_cast<uint32_t>(threshold), scale, key,
                                         offset + static_cast<uint64_t>(begin) / 4);
  });
}

}  // namespace gradus::kernels
