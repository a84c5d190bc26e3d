// The products of attention between a block of scores and rows of q, k, v; of one head, on one thread. What
// is made of k and v, and meets every block of queries, is made once. Internal.
//
// Rows that are q-like begin at the block's first query. What causal masking makes zero is left out as far as
// that is cheap; kReadsHidden says whether scores must be zero where a query does not see a key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gradus/autograd/kernels/attention/attention_blocks.hpp"
#include "gradus/autograd/kernels/bf16/bf16_pack.hpp"
#include "gradus/autograd/kernels/blas/product_loops.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels {

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

/// Of operands rounded to bfloat16, with sums in float32; the same members.
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
