// KVCache: what attention keeps of the positions it has seen, so that generation computes only new ones. A
// plain value; it belongs to one sequence batch and one layer.
#pragma once

#include "gradus/autograd/tensor.hpp"

namespace gradus::nn {

/// Keys and values of the positions seen so far, for generation.
struct KVCache {
  Tensor k, v;         ///< (B, heads, capacity, hs); the first `length` positions are filled
  int64_t length = 0;  ///< positions

  void clear() { length = 0; }  ///< forgets all positions, keeps the memory
  /// Copies T more positions behind those that are there. keys, values: (B, heads, T, hs). Throws Error if
  /// there is no room for them.
  void append(const Tensor& keys, const Tensor& values);
  Tensor keys() const;    ///< of the positions seen: (B, heads, length, hs)
  Tensor values() const;  ///< likewise
};

/// An empty cache for up to `capacity` positions beside weights of that dtype: in float64 for float64, else
/// in float32.
KVCache make_kv_cache(int64_t batch, int64_t heads, int64_t capacity, int64_t head_size, DType weights);

}  // namespace gradus::nn
