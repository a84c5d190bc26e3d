#include "gradus/nn/kv_cache.hpp"

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::nn {

void KVCache::append(const Tensor& keys, const Tensor& values) {
  const int64_t end = length + keys.size(2);
  if (end > k.size(2))
    fail("attention", "a cache of ", k.size(2), " positions must hold all that was seen, got ", end, ".");
  k.slice(2, length, end).copy_(keys);
  v.slice(2, length, end).copy_(values);
  length = end;
}

Tensor KVCache::keys() const { return k.slice(2, 0, length); }

Tensor KVCache::values() const { return v.slice(2, 0, length); }

Tensor attend(const Tensor& q, const KVCache& cache) {
  const AttentionOptions options{.causal = true, .enable_gqa = q.size(1) != cache.k.size(1)};
  const Tensor keys = cache.keys(), values = cache.values();
  const int64_t count = q.size(2), first = cache.length - count;
  if (count == 1 || count > kFewPositions) return scaled_dot_product_attention(q, keys, values, options);
  std::vector<Tensor> rows;
  for (int64_t t = 0; t < count; ++t)
    rows.push_back(scaled_dot_product_attention(q.slice(2, t, t + 1), keys.slice(2, 0, first + t + 1),
                                                values.slice(2, 0, first + t + 1), options));
  return cat(rows, 2);
}

KVCache make_kv_cache(int64_t batch, int64_t heads, int64_t capacity, int64_t head_size, DType weights) {
  const Shape shape = {batch, heads, capacity, head_size};
  const DType dtype = weights == DType::float64 ? DType::float64 : DType::float32;
  return {empty(shape, dtype), empty(shape, dtype)};
}

}  // namespace gradus::nn
