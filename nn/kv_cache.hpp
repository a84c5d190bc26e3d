// KVCache: what attention keeps of the positions it has seen, so that generation computes only new ones. A
// plain value; it belongs to one sequence batch and one layer.
#pragma once

#include <algorithm>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::nn {

/// Keys and values of the positions seen so far, for generation.
struct KVCache {
  Tensor k, v;         ///< (B, heads, capacity, hs); the first `length` positions are filled
  int64_t length = 0;  ///< positions

  void clear() { length = 0; }  ///< forgets all positions, keeps the memory
  /// Forgets those from `end` on.
  void truncate(int64_t end) { length = std::min(length, end); }
  /// Copies T more positions behind those that are there. keys, values: (B, heads, T, hs). Throws Error if
  /// there is no room for them.
  void append(const Tensor& keys, const Tensor& values);
  Tensor keys() const;    ///< of the positions seen: (B, heads, length, hs)
  Tensor values() const;  ///< likewise
};

/// Positions that may be continued together to the bits of one after another.
inline constexpr int64_t kFewPositions = 8;

/// Causal attention of the last T positions of a cache. q: (B, nh, T, hs) -> (B, nh, T, hs). Up to
/// kFewPositions have the bits that each had as the last.
Tensor attend(const Tensor& q, const KVCache& cache);

/// An empty cache for up to `capacity` positions beside weights of that dtype: in float64 for float64, else
/// in float32.
KVCache make_kv_cache(int64_t batch, int64_t heads, int64_t capacity, int64_t head_size, DType weights);

}  // namespace gradus::nn
