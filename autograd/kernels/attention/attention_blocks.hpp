// How attention is cut: heads, and in them blocks of queries and keys. Internal.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradus/autograd/kernels/attention/attention_shape.hpp"

namespace gradus::kernels {

// Scores are made for so many queries and keys at a time: they, k and v then stay in the second-level cache.
inline constexpr int64_t kQueries = 64;
inline constexpr int64_t kKeys = 256;
// A row of scratch: room for the margin, and no power of two, whose columns would fall on few lines of cache.
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
  int64_t index;  // batch * heads + head

  template <class T>
  Rows<T> rows(T* data, View4 view) const {
    return {data + index / shape.heads * view.batch + index % shape.heads * view.head, view.row};
  }

  /// Of the head of k or v that serves this one.
  template <class T>
  Rows<T> kv_rows(T* data, View4 view) const {
    const int64_t kv_head = index % shape.heads / group(shape);
    return {data + index / shape.heads * view.batch + kv_head * view.head, view.row};
  }

  static int64_t group(const AttentionShape& shape) {
    return shape.heads / std::max<int64_t>(1, shape.kv_heads);
  }
};

/// The scores of some queries [query, query + queries) of a head for its keys [key, key + keys).
struct Block {
  const AttentionShape& shape;
  int64_t head, query, queries, key, keys;

  /// How many of the keys, always the first ones, the row's query sees.
  int64_t seen(int64_t row) const {
    return shape.causal ? std::clamp<int64_t>(query + row + 1 + shape.k_len - shape.q_len - key, 0, keys)
                        : keys;
  }

  /// The first row whose query sees a column's key.
  int64_t first_row(int64_t column) const {
    return shape.causal ? std::clamp<int64_t>(key + column - (shape.k_len - shape.q_len) - query, 0, queries)
                        : 0;
  }
};

/// How many keys the last of the queries before `end` sees.
inline int64_t keys_seen(const AttentionShape& shape, int64_t end) {
  return shape.causal ? std::clamp<int64_t>(end + shape.k_len - shape.q_len, 0, shape.k_len) : shape.k_len;
}

}  // namespace gradus::kernels
