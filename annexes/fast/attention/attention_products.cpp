#include "gradus/annexes/fast/attention/attention_products.hpp"

#include <algorithm>
#include <array>

#include "gradus/annexes/fast/bf16/bf16_product.hpp"
#include "gradus/autograd/kernels/blas/choose_product.hpp"
#include "gradus/autograd/kernels/blas/gemm.hpp"
#include "gradus/autograd/kernels/threads/aligned_buffer.hpp"

namespace gradus::kernels {
namespace {

constexpr int64_t kPadding = 16;  // scores are computed in whole vectors

/// Whether ProductLoops compute a product of the queries of a tile.
bool by_loops(const ScoreTile& tile, int64_t n, int64_t k, bool b_transposed) {
  return choose_product({.m = tile.queries,
                         .n = n,
                         .k = k,
                         .b_transposed = b_transposed,
                         .place = ProductPlace::attention}) == ProductCode::attention_loops;
}

}  // namespace

template <class T>
const T* PlainProducts<T>::columns(const ScoreTile& tile, KeyOrValue y) {
  static thread_local std::array<Scratch, 2> buffers;  // columns beyond the keys are computed with, not read
  const int64_t bytes = head_size_ * kScoreRow * static_cast<int64_t>(sizeof(T));
  T* const scratch = static_cast<T*>(buffers[y].of(std::max<int64_t>(bytes, 1)));
  auto& [key, keys] = transposed_[y];
  if (key != tile.key || keys < tile.keys) {
    const Rows<const T> from_key = from(rows_[y], tile.key);
    loops_.transpose(tile.keys, head_size_, from_key.data, from_key.stride, scratch, kScoreRow);
    key = tile.key;
    keys = tile.keys;
  }
  return scratch;
}

template <class T>
void PlainProducts<T>::scores(const ScoreTile& tile, Rows<const T> x, KeyOrValue y, T* out) {
  if (!by_loops(tile, tile.keys, head_size_, true)) {
    const Rows<const T> keys = from(rows_[y], tile.key);
    gemm_serial(Trans::no, Trans::yes, tile.queries, tile.keys, head_size_, x.data, x.stride, keys.data,
                keys.stride, out, kScoreRow);
    return;
  }
  const T* const transposed = columns(tile, y);
  for (int64_t row = 0; row < tile.queries; row += loops_.most_rows) {
    const int64_t rows = std::min(loops_.most_rows, tile.queries - row);
    const int64_t seen = ceil_div(tile.seen(row + rows - 1), kPadding) * kPadding;
    loops_.multiply(rows, seen, head_size_, x[row], x.stride, 1, transposed, kScoreRow, nullptr, 0,
                    out + row * kScoreRow, kScoreRow);
  }
}

template <class T>
void PlainProducts<T>::by_query(const ScoreTile& tile, const T* scores, KeyOrValue y, bool add, Rows<T> out) {
  const Rows<const T> keys = from(rows_[y], tile.key);
  if (!by_loops(tile, head_size_, tile.keys, false)) {
    gemm_serial(Trans::no, Trans::no, tile.queries, head_size_, tile.keys, scores, kScoreRow, keys.data,
                keys.stride, out.data, out.stride, add);
    return;
  }
  for (int64_t row = 0; row < tile.queries; row += loops_.most_rows) {
    const int64_t rows = std::min(loops_.most_rows, tile.queries - row);
    loops_.multiply(rows, head_size_, tile.seen(row + rows - 1), scores + row * kScoreRow, kScoreRow, 1,
                    keys.data, keys.stride, add ? out[row] : nullptr, out.stride, out[row], out.stride);
  }
}

template <class T>
void PlainProducts<T>::by_key(const ScoreTile& tile, const T* scores, Rows<const T> x, bool add,
                              Rows<T> out) {
  for (int64_t column = 0; column < tile.keys; column += loops_.most_rows) {
    const int64_t first = tile.first_row(column);
    loops_.multiply(std::min(loops_.most_rows, tile.keys - column), head_size_, tile.queries - first,
                    scores + first * kScoreRow + column, 1, kScoreRow, x[first], x.stride,
                    add ? out[column] : nullptr, out.stride, out[column], out.stride);
  }
}

template class PlainProducts<float>;
template class PlainProducts<double>;

namespace {

/// op(x), (rows, columns), in this thread's scratch for the side.
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
      key_tiles_(ceil_div(shape.k_len, kKeys)),
      rows_{k, v},
      is_packed_(static_cast<size_t>(4 * key_tiles_)) {}

PackedBf16 RoundedProducts::packed(const ScoreTile& tile, KeyOrValue y, Form form) {
  static thread_local std::array<std::array<Scratch, 2>, 2> buffers;
  const int64_t keys = std::min(kKeys, k_len_ - tile.key), place = tile.key / kKeys;
  const int64_t most =
      std::max(packed_bytes(Side::right, head_size_, kKeys), packed_bytes(Side::right, kKeys, head_size_));
  auto* const scratch = static_cast<std::byte*>(buffers[form][y].of(key_tiles_ * most));
  PackedBf16 all = packed_matrix(Side::right, form == columns ? head_size_ : keys,
                                 form == columns ? keys : head_size_, scratch + place * most);
  const auto index = static_cast<size_t>((form * 2 + y) * key_tiles_ + place);
  if (!is_packed_[index]) {
    const Rows<const float> from_key = from(rows_[y], tile.key);
    pack(form == columns ? Trans::yes : Trans::no, from_key.data, from_key.stride, all);
    is_packed_[index] = true;
  }
  // Later queries may see more of the keys.
  (form == columns ? all.columns : all.rows) = tile.keys;
  return all;
}

void RoundedProducts::scores(const ScoreTile& tile, Rows<const float> x, KeyOrValue y, float* out) {
  const PackedBf16 left = pack_now(Side::left, Trans::no, tile.queries, head_size_, x.data, x.stride);
  multiply_bf16(left, packed(tile, y, columns), out, kScoreRow);
}

void RoundedProducts::by_query(const ScoreTile& tile, const float* scores, KeyOrValue y, bool add,
                               Rows<float> out) {
  const PackedBf16 left = pack_now(Side::left, Trans::no, tile.queries, tile.keys, scores, kScoreRow);
  multiply_bf16(left, packed(tile, y, rows), out.data, out.stride, {.from = add ? out.data : nullptr});
}

void RoundedProducts::by_key(const ScoreTile& tile, const float* scores, Rows<const float> x, bool add,
                             Rows<float> out) {
  const PackedBf16 left = pack_now(Side::left, Trans::yes, tile.keys, tile.queries, scores, kScoreRow);
  const PackedBf16 right = pack_now(Side::right, Trans::no, tile.queries, head_size_, x.data, x.stride);
  multiply_bf16(left, right, out.data, out.stride, {.from = add ? out.data : nullptr});
}

}  // namespace gradus::kernels
