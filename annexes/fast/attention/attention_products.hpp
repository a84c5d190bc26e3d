// The products of attention between a tile of scores and rows of q, k and v, for one head on one thread.
// Forms of k and v that all tiles of queries need are computed once.
//
// Rows of q begin at the first query of the tile. Products skip most zeros of causal masking. kReadsHidden:
// scores of keys that a query does not see must be 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gradus/annexes/fast/attention/attention_loops.hpp"
#include "gradus/annexes/fast/bf16/bf16_pack.hpp"
#include "gradus/annexes/fast/product/float_product.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels {

// The size of a tile of scores: the scores, k and v stay in the second-level cache.
inline constexpr int64_t kQueries = 64, kKeys = 256;
// The distance of rows of scores: includes the margin; a power of two would use few cache sets.
inline constexpr int64_t kScoreRow = kKeys + 48;

/// Rows of head_size elements that belong to one head.
template <class T>
struct Rows {
  T* data;
  int64_t stride;

  T* operator[](int64_t row) const { return data + row * stride; }
};

template <class T>
Rows<T> from(Rows<T> rows, int64_t first) {
  return {rows[first], rows.stride};
}

/// One head of q of one batch entry.
struct Head {
  const AttentionShape& shape;
  int64_t index;  // of batch * heads

  template <class T>
  Rows<T> rows(T* data, View4 view) const {
    return {data + index / shape.heads * view.batch + index % shape.heads * view.head, view.row};
  }

  /// The rows of the head of k or v that serves this one.
  template <class T>
  Rows<T> kv_rows(T* data, View4 view) const {
    const int64_t kv_head = index % shape.heads / group(shape);
    return {data + index / shape.heads * view.batch + kv_head * view.head, view.row};
  }

  static int64_t group(const AttentionShape& shape) {
    return shape.heads / std::max<int64_t>(1, shape.kv_heads);
  }
};

/// The first key that a query sees.
inline int64_t first_key(const AttentionShape& shape, int64_t batch, int64_t query) {
  const int64_t of_window = shape.window > 0 ? query + shape.k_len - shape.q_len - shape.window + 1 : 0;
  return std::max<int64_t>({0, of_window, shape.starts ? shape.starts[batch * shape.q_len + query] : 0});
}

/// The scores of queries [query, query + queries) of a head for its keys [key, key + keys).
struct ScoreTile {
  const AttentionShape& shape;
  int64_t head, query, queries, key, keys;

  /// The number of keys that the query of a row sees, counted from the first.
  int64_t seen(int64_t row) const {
    return shape.causal ? std::clamp<int64_t>(query + row + 1 + shape.k_len - shape.q_len - key, 0, keys)
                        : keys;
  }

  /// The number of these keys that come before the first key of the row's query, which does not see them.
  int64_t skipped(int64_t row) const {
    return std::clamp<int64_t>(first_key(shape, head / shape.heads, query + row) - key, 0, seen(row));
  }

  /// The first row whose query sees the key of a column.
  int64_t first_row(int64_t column) const {
    return shape.causal ? std::clamp<int64_t>(key + column - (shape.k_len - shape.q_len) - query, 0, queries)
                        : 0;
  }
};

/// The number of keys that query end - 1 sees.
inline int64_t keys_seen(const AttentionShape& shape, int64_t end) {
  return shape.causal ? std::clamp<int64_t>(end + shape.k_len - shape.q_len, 0, shape.k_len) : shape.k_len;
}

/// The first key that any of the queries [first, first + count) sees, rounded down to a tile.
inline int64_t first_tile(const AttentionShape& shape, int64_t batch, int64_t first, int64_t count) {
  if (shape.window == 0 && !shape.starts) return 0;
  int64_t key = first_key(shape, batch, first);
  for (int64_t i = 1; i < count; ++i) key = std::min(key, first_key(shape, batch, first + i));
  return std::min(key, shape.k_len) / kKeys * kKeys;
}

/// The operands with a row for each key.
enum KeyOrValue : uint8_t { kKey, kValue };

/// Products in the precision of T, for all rows of a head.
template <class T>
class PlainProducts {
 public:
  static constexpr bool kReadsHidden = false;

  PlainProducts(const AttentionShape& shape, Rows<const T> k, Rows<const T> v)
      : head_size_(shape.head_size), rows_{k, v} {}

  /// out (queries, keys), rows kScoreRow apart, = x @ y^T; x: rows of queries.
  void scores(const ScoreTile& tile, Rows<const T> x, KeyOrValue y, T* out);
  /// out = or += scores @ y; out: rows of queries.
  void by_query(const ScoreTile& tile, const T* scores, KeyOrValue y, bool add, Rows<T> out);
  /// out = or += scores^T @ x; out: rows of keys, from the first key of the tile; x: rows of queries.
  void by_key(const ScoreTile& tile, const T* scores, Rows<const T> x, bool add, Rows<T> out);

 private:
  /// Keys or values as columns, (head_size, kScoreRow).
  const T* columns(const ScoreTile& tile, KeyOrValue y);

  const ProductLoops<T>& loops_ = isa_loops<ProductLoops<T>>();
  int64_t head_size_;
  Rows<const T> rows_[2];  // of k and v
  int64_t transposed_[2][2] =
      {};  // of k and v: the first key, and the number of keys, in this thread's scratch
};

/// The same with operands rounded to bfloat16 and sums in float32.
class RoundedProducts {
 public:
  static constexpr bool kReadsHidden = true;

  RoundedProducts(const AttentionShape& shape, Rows<const float> k, Rows<const float> v);
  void scores(const ScoreTile& tile, Rows<const float> x, KeyOrValue y, float* out);
  void by_query(const ScoreTile& tile, const float* scores, KeyOrValue y, bool add, Rows<float> out);
  void by_key(const ScoreTile& tile, const float* scores, Rows<const float> x, bool add, Rows<float> out);

 private:
  enum Form : uint8_t { columns, rows };
  PackedBf16 packed(const ScoreTile& tile, KeyOrValue y, Form form);

  int64_t head_size_, k_len_, key_tiles_;
  Rows<const float> rows_[2];
  std::vector<bool> is_packed_;  // [form][k or v][tile of keys]
};

}  // namespace gradus::kernels
