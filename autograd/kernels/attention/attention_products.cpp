#include "gradus/autograd/kernels/attention/attention_products.hpp"

#include <algorithm>
#include <array>

#include "gradus/autograd/kernels/bf16/bf16_product.hpp"
#include "gradus/autograd/kernels/blas/choose_product.hpp"
#include "gradus/autograd/kernels/blas/gemm.hpp"
#include "gradus/autograd/kernels/threads/aligned_buffer.hpp"

namespace gradus::kernels {
namespace {

// Scores are made in whole vectors; nobody reads those beyond the last key.
constexpr int64_t kPadding = 16;

/// Whether loops on tiles make a product of the scores, (queries, keys), with one operand of head_size.
bool by_loops(const Block& block, int64_t n, int64_t k, bool b_transposed) {
  return choose_product({.m = block.queries,
                         .n = n,
                         .k = k,
                         .b_transposed = b_transposed,
                         .place = ProductPlace::attention}) == ProductCode::attention_loops;
}

/// Keys or values as columns, (head_size, kScoreRow).
template <class T>
T* scratch_for_columns(ByKey y, int64_t head_size) {
  static thread_local std::array<Scratch, 2> buffers;  // some of it is computed with, and not read
  const int64_t bytes = head_size * kScoreRow * static_cast<int64_t>(sizeof(T));
  return static_cast<T*>(buffers[static_cast<size_t>(y)].of(std::max<int64_t>(bytes, 1)));
}

}  // namespace

template <class T>
PlainProducts<T>::PlainProducts(const AttentionShape& shape, Rows<const T> k, Rows<const T> v)
    : head_size_(shape.head_size), rows_{k, v} {}

template <class T>
const T* PlainProducts<T>::columns(const Block& block, ByKey y) {
  const auto which = static_cast<size_t>(y);
  T* const scratch = scratch_for_columns<T>(y, head_size_);
  Transposed& there = transposed_[which];
  if (there.key != block.key || there.keys < block.keys) {
    const Rows<const T> from_key = from(rows_[which], block.key);
    loops_.transpose(block.keys, head_size_, from_key.data, from_key.stride, scratch, kScoreRow);
    there = {block.key, block.keys};
  }
  return scratch;
}

template <class T>
void PlainProducts<T>::scores(const Block& block, Rows<const T> x, ByKey y, T* out) {
  if (!by_loops(block, block.keys, head_size_, true)) {
    const Rows<const T> keys = from(rows_[static_cast<size_t>(y)], block.key);
    gemm_serial(Trans::no, Trans::yes, block.queries, block.keys, head_size_, T{1}, x.data, x.stride,
                keys.data, keys.stride, T{0}, out, kScoreRow);
    return;
  }
  const T* const transposed = columns(block, y);
  for (int64_t row = 0; row < block.queries; row += loops_.most_rows) {
    const int64_t rows = std::min(loops_.most_rows, block.queries - row);
    const int64_t seen = (block.seen(row + rows - 1) + kPadding - 1) / kPadding * kPadding;
    loops_.multiply(rows, seen, head_size_, x[row], x.stride, 1, transposed, kScoreRow, nullptr, 0,
                    out + row * kScoreRow, kScoreRow);
  }
}

template <class T>
void PlainProducts<T>::by_query(const Block& block, const T* scores, ByKey y, bool add, Rows<T> out) {
  const Rows<const T> keys = from(rows_[static_cast<size_t>(y)], block.key);
  if (!by_loops(block, head_size_, block.keys, false)) {
    gemm_serial(Trans::no, Trans::no, block.queries, head_size_, block.keys, T{1}, scores, kScoreRow,
                keys.data, keys.stride, add ? T{1} : T{0}, out.data, out.stride);
    return;
  }
  for (int64_t row = 0; row < block.queries; row += loops_.most_rows) {
    const int64_t rows = std::min(loops_.most_rows, block.queries - row);
    loops_.multiply(rows, head_size_, block.seen(row + rows - 1), scores + row * kScoreRow, kScoreRow, 1,
                    keys.data, keys.stride, add ? out[row] : nullptr, out.stride, out[row], out.stride);
  }
}

template <class T>
void PlainProducts<T>::by_key(const Block& block, const T* scores, Rows<const T> x, bool add, Rows<T> out) {
  for (int64_t column = 0; column < block.keys; column += loops_.most_rows) {
    const int64_t first = block.first_row(column);
    loops_.multiply(std::min(loops_.most_rows, block.keys - column), head_size_, block.queries - first,
                    scores + first * kScoreRow + column, 1, kScoreRow, x[first], x.stride,
                    add ? out[column] : nullptr, out.stride, out[column], out.stride);
  }
}

template class PlainProducts<float>;
template class PlainProducts<double>;

namespace {

/// op(x), (rows, columns), in this thread's scratch for that side.
PackedBf16 pack_now(Side side, Trans trans, int64_t rows, int64_t columns, const float* x, int64_t ldx) {
  static thread_local std::array<Scratch, 2> buffers;
  void* const scratch = buffers[static_cast<size_t>(side)].of(packed_bytes(side, rows, columns));
  PackedBf16 packed = packed_matrix(side, rows, columns, scratch);
  pack(trans, x, ldx, packed);
  return packed;
}

}  // namespace

RoundedProducts::RoundedProducts(const AttentionShape& shape, Rows<const float> k, Rows<const float> v)
    : head_size_(shape.head_size),
      k_len_(shape.k_len),
      key_blocks_((shape.k_len + kKeys - 1) / kKeys),
      rows_{k, v},
      is_packed_(static_cast<size_t>(4 * key_blocks_)) {}

PackedBf16 RoundedProducts::packed(const Block& block, ByKey y, Form form) {
  static thread_local std::array<std::array<Scratch, 2>, 2> buffers;
  const int64_t keys = std::min(kKeys, k_len_ - block.key), place = block.key / kKeys;
  const int64_t most =
      std::max(packed_bytes(Side::right, head_size_, kKeys), packed_bytes(Side::right, kKeys, head_size_));
  auto* const scratch = static_cast<std::byte*>(buffers[form][static_cast<size_t>(y)].of(key_blocks_ * most));
  PackedBf16 all = packed_matrix(Side::right, form == columns ? head_size_ : keys,
                                 form == columns ? keys : head_size_, scratch + place * most);
  const auto index = static_cast<size_t>((form * 2 + static_cast<int64_t>(y)) * key_blocks_ + place);
  if (!is_packed_[index]) {
    const Rows<const float> from_key = from(rows_[static_cast<size_t>(y)], block.key);
    pack(form == columns ? Trans::yes : Trans::no, from_key.data, from_key.stride, all);
    is_packed_[index] = true;
  }
  // These queries may see fewer of the keys than later ones.
  all.strip_tiles = all.depth();
  (form == columns ? all.columns : all.rows) = block.keys;
  return all;
}

void RoundedProducts::scores(const Block& block, Rows<const float> x, ByKey y, float* out) {
  const PackedBf16 left = pack_now(Side::left, Trans::no, block.queries, head_size_, x.data, x.stride);
  multiply_bf16(left, packed(block, y, columns), out, kScoreRow);
}

void RoundedProducts::by_query(const Block& block, const float* scores, ByKey y, bool add, Rows<float> out) {
  const PackedBf16 left = pack_now(Side::left, Trans::no, block.queries, block.keys, scores, kScoreRow);
  multiply_bf16(left, packed(block, y, rows), out.data, out.stride, {.from_c = add});
}

void RoundedProducts::by_key(const Block& block, const float* scores, Rows<const float> x, bool add,
                             Rows<float> out) {
  const PackedBf16 left = pack_now(Side::left, Trans::yes, block.keys, block.queries, scores, kScoreRow);
  const PackedBf16 right = pack_now(Side::right, Trans::no, block.queries, head_size_, x.data, x.stride);
  multiply_bf16(left, right, out.data, out.stride, {.from_c = add});
}

}  // namespace gradus::kernels
