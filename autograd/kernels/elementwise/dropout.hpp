// Dropout whose mask is a function of a key and a place, so that backward draws it again instead
// of keeping it.
//
// Pointers belong to the caller; out may be x. Thread-safe; the mask does not depend on the number of
// threads.
#pragma once

#include <cstdint>

namespace gradus::kernels {

template <class T>
struct DropoutLoops {
  void (*dropout)(int64_t n, T* out, const T* x, uint32_t threshold, T scale, uint64_t key, uint64_t block);
};

/// out[i] = keep(i) ? x[i] * scale : 0, scale = 1 / (1 - p), 0 <= p <= 1. keep(i) says whether word i % 4 of
/// block offset + i / 4 of the key's Philox stream (counter_hi 0), times 2^-32, is at least p. T: float,
/// double.
template <class T>
void dropout(int64_t n, T* out, const T* x, double p, uint64_t key, uint64_t offset);

}  // namespace gradus::kernels
