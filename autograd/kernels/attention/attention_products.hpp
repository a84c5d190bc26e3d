// The products of attention between a block of scores and rows of q, k, v; of one head, on one thread. What
// is made of k and v, and meets every block of queries, is made once. Internal.
//
// Rows that are q-like begin at the block's first query. Zeros of causal masking are left out as far as
// that is cheap; kReadsHidden says whether scores must be zero where a query does not see a key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gradus/autograd/kernels/attention/attention_loops.hpp"
#include "gradus/autograd/kernels/bf16/bf16_pack.hpp"
#include "gradus/autograd/kernels/blas/float_product.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels {

// The queries and keys of a block of scores: the scores, k and v then stay in the second-level cache.
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

/// The two operands that have a row for each key.
enum class ByKey : uint8_t { k, v };

/// In the precision of T.
template <class T>
class PlainProducts {
 public:
  static constexpr bool kReadsHidden = false;

  /// All rows of the head.
  PlainProducts(const AttentionShape& shape, Rows<const T> k, Rows<const T> v);

  /// out (queries, keys), rows kScoreRow apart = x @ y^T for q-like x and a k-like y.
  void scores(const Block& block, Rows<const T> x, ByKey y, T* out);
  /// q-like out = or += scores @ y for a k-like y.
  void by_query(const Block& block, const T* scores, ByKey y, bool add, Rows<T> out);
  /// k-like out, from the block's first key on, = or += scores^T @ x for q-like x.
  void by_key(const Block& block, const T* scores, Rows<const T> x, bool add, Rows<T> out);

 private:
  const T* columns(const Block& block, ByKey y);

  const ProductLoops<T>& loops_ = isa_loops<ProductLoops<T>>();
  int64_t head_size_;
  Rows<const T> rows_[2];  // of k and v
  struct Transposed {
    int64_t key = 0, keys = 0;
  };
  Transposed transposed_[2];  // the columns in this thread's scratch
};

/// With operands rounded to bfloat16 and sums in float32; the same members.
class RoundedProducts {
 public:
  static constexpr bool kReadsHidden = true;

  RoundedProducts(const AttentionShape& shape, Rows<const float> k, Rows<const float> v);
  void scores(const Block& block, Rows<const float> x, ByKey y, float* out);
  void by_query(const Block& block, const float* scores, ByKey y, bool add, Rows<float> out);
  void by_key(const Block& block, const float* scores, Rows<const float> x, bool add, Rows<float> out);

 private:
  enum Form : uint8_t { columns, rows };
  PackedBf16 packed(const Block& block, ByKey y, Form form);

  int64_t head_size_, k_len_, key_blocks_;
  Rows<const float> rows_[2];
  std::vector<bool> is_packed_;  // [form][k or v][block of keys]
};

}  // namespace gradus::kernels
