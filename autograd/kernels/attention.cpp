#include "gradus/autograd/kernels/attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "gradus/autograd/kernels/attention_loops.hpp"
#include "gradus/autograd/kernels/dropout.hpp"
#include "gradus/autograd/kernels/gemm.hpp"
#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/parallel.hpp"

namespace gradus::kernels {
namespace {

// Scores are made for so many queries and keys at a time: they, k and v then stay in the second-level cache.
constexpr int64_t kQueries = 64;
constexpr int64_t kKeys = 256;
// A row of scratch: room for the margin, and no power of two, whose columns would fall on few lines of cache.
constexpr int64_t kRow = kKeys + 48;
// Scores are made in whole vectors: some more than asked for, which nobody reads.
constexpr int64_t kPadding = 16;
// For fewer queries than this, transposing keys costs more than it saves.
constexpr int64_t kFewQueries = 4;
// Multiply-adds that one thread does sooner than it could share them.
constexpr int64_t kSmallAttention = int64_t{1} << 20;

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
int64_t keys_seen(const AttentionShape& shape, int64_t end) {
  return shape.causal ? std::clamp<int64_t>(end + shape.k_len - shape.q_len, 0, shape.k_len) : shape.k_len;
}

/// A thread's buffers, zero at first: what lies beyond a row's scores is computed with, though not read.
template <class T>
struct alignas(64) Scratch {
  T scores[kQueries * kRow] = {};
  T grads[kQueries * kRow] = {};
  T factor[kRow];
  T ones[kRow];
  T max[kQueries];
  T sum[kQueries];

  Scratch() {
    std::fill(std::begin(factor), std::end(factor), T{1});
    std::fill(std::begin(ones), std::end(ones), T{1});
  }

  static Scratch& mine(const AttentionShape& shape) {
    static thread_local const auto scratch = std::make_unique<Scratch>();
    const auto needed = static_cast<size_t>(shape.head_size) * sizeof(T) * kRow / sizeof(CacheLine);
    if (scratch->transposed_.size() < needed) scratch->transposed_.resize(needed);
    return *scratch;
  }

  /// Room for keys or values as columns: (head_size, kRow).
  T* transposed() { return reinterpret_cast<T*>(transposed_.data()); }

  /// What dropout multiplies the weights of a row by; nullptr for all ones.
  const T* factors(const Block& block, int64_t row) {
    const AttentionShape& shape = block.shape;
    if (shape.dropout == 0) return nullptr;
    const int64_t first = (block.head * shape.q_len + block.query + row) * shape.k_len + block.key;
    const int64_t before = first % 4;  // the generator draws four numbers at a time
    dropout(before + block.seen(row), factor, ones, shape.dropout, shape.key,
            shape.offset + static_cast<uint64_t>(first / 4));
    return factor + before;
  }

 private:
  struct alignas(64) CacheLine {
    std::byte bytes[64];
  };
  std::vector<CacheLine> transposed_;
};

/// Products between a block's scores and rows of q, k, v; what causal masking makes zero is left out. Rows
/// that are q-like begin at the block's first query, k-like ones at its first key.
template <class T>
struct BlockProducts {
  const Block& block;
  T* transposed;
  const AttentionLoops<T>& loops = level_loops<AttentionLoops<T>>();

  /// scores = x @ y^T for q-like x and k-like y.
  void scores(T* out, Rows<const T> x, Rows<const T> y) const {
    const int64_t size = block.shape.head_size;
    if (block.queries < kFewQueries) {
      gemm_serial(Trans::no, Trans::yes, block.queries, block.keys, size, T{1}, x.data, x.stride, y.data,
                  y.stride, T{0}, out, kRow);
      return;
    }
    loops.transpose(block.keys, size, y.data, y.stride, transposed, kRow);
    for (int64_t row = 0; row < block.queries; row += loops.tile_rows) {
      const int64_t rows = std::min(loops.tile_rows, block.queries - row);
      const int64_t columns = (block.seen(row + rows - 1) + kPadding - 1) / kPadding * kPadding;
      loops.multiply(rows, columns, size, x[row], x.stride, 1, transposed, kRow, false, out + row * kRow,
                     kRow);
    }
  }

  /// q-like out = or += scores @ y for k-like y.
  void by_query(const T* scores, Rows<const T> y, bool add, Rows<T> out) const {
    const int64_t size = block.shape.head_size;
    if (block.queries < kFewQueries) {
      gemm_serial(Trans::no, Trans::no, block.queries, size, block.keys, T{1}, scores, kRow, y.data, y.stride,
                  add ? T{1} : T{0}, out.data, out.stride);
      return;
    }
    for (int64_t row = 0; row < block.queries; row += loops.tile_rows) {
      const int64_t rows = std::min(loops.tile_rows, block.queries - row);
      loops.multiply(rows, size, block.seen(row + rows - 1), scores + row * kRow, kRow, 1, y.data, y.stride,
                     add, out[row], out.stride);
    }
  }

  /// k-like out = or += scores^T @ x for q-like x.
  void by_key(const T* scores, Rows<const T> x, bool add, Rows<T> out) const {
    for (int64_t column = 0; column < block.keys; column += loops.tile_rows) {
      const int64_t first = block.first_row(column);
      loops.multiply(std::min(loops.tile_rows, block.keys - column), block.shape.head_size,
                     block.queries - first, scores + first * kRow + column, 1, kRow, x[first], x.stride, add,
                     out[column], out.stride);
    }
  }
};

template <class T>
void scale_row(int64_t n, T* row, T factor) {
  for (int64_t i = 0; i < n; ++i) row[i] *= factor;
}

template <class T>
void zero_rows(int64_t rows, int64_t n, Rows<T> x) {
  for (int64_t row = 0; row < rows; ++row) std::fill_n(x[row], n, T{0});
}

template <class T>
T dot(int64_t n, const T* a, const T* b) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

/// Attention of the queries [first, first + count) of one head.
template <class T>
struct HeadForward {
  Head head;
  Rows<T> out;
  Rows<const T> q, k, v;
  T* row_sums;

  void run(int64_t first, int64_t count) const {
    const AttentionShape& shape = head.shape;
    const int64_t size = shape.head_size;
    const int64_t keys = keys_seen(shape, first + count);
    Scratch<T>& scratch = Scratch<T>::mine(shape);
    std::fill_n(scratch.max, count, -std::numeric_limits<T>::infinity());
    std::fill_n(scratch.sum, count, T{0});
    for (int64_t key = 0; key < keys; key += kKeys) {
      const Block block{shape, head.index, first, count, key, std::min(kKeys, keys - key)};
      const BlockProducts<T> products{block, scratch.transposed()};
      products.scores(scratch.scores, from(q, first), from(k, key));
      for (int64_t row = 0; row < count; ++row) weigh(block, row, scratch);
      products.by_query(scratch.scores, from(v, key), key > 0, from(out, first));
    }
    for (int64_t row = 0; row < count; ++row) {
      const bool blind = keys_seen(shape, first + row + 1) == 0;
      if (blind) {
        std::fill_n(out[first + row], size, T{0});
      } else {
        scale_row(size, out[first + row], T{1} / scratch.sum[row]);
      }
      row_sums[2 * (first + row)] = scratch.max[row];
      row_sums[2 * (first + row) + 1] = blind ? T{1} : scratch.sum[row];
    }
  }

 private:
  /// Scores to weights that are not yet divided by their sum.
  void weigh(const Block& block, int64_t row, Scratch<T>& scratch) const {
    T* weights = scratch.scores + row * kRow;
    const int64_t seen = block.seen(row);
    T& max = scratch.max[row];
    const T max_before = max;
    const T sum =
        level_loops<AttentionLoops<T>>().exponentials(seen, weights, static_cast<T>(block.shape.scale), &max);
    if (block.key > 0 && max != max_before) {  // what was added up so far belongs to a smaller maximum
      const T correction = std::exp(max_before - max);
      scratch.sum[row] *= correction;
      scale_row(block.shape.head_size, out[block.query + row], correction);
    }
    scratch.sum[row] += sum;
    if (const T* factor = scratch.factors(block, row)) {
      for (int64_t column = 0; column < seen; ++column) weights[column] *= factor[column];
    }
  }
};

/// Everything the gradient of one head is made from and goes to.
template <class T>
struct HeadGradient {
  Head head;
  Rows<T> gq, gk, gv;
  Rows<const T> gout, out, q, k, v;
  const T* row_sums;

  /// Blocks of queries from last to first: the last one sees every key and writes gk and gv, the others add;
  /// of heads that share k and v the first writes.
  void run() const {
    const AttentionShape& shape = head.shape;
    if (shape.q_len == 0) {
      zero_rows(shape.k_len, shape.head_size, gk);
      zero_rows(shape.k_len, shape.head_size, gv);
      return;
    }
    for (int64_t first = (shape.q_len - 1) / kQueries * kQueries; first >= 0; first -= kQueries)
      run(first, std::min(kQueries, shape.q_len - first));
  }

 private:
  void run(int64_t first, int64_t count) const {
    const AttentionShape& shape = head.shape;
    const int64_t size = shape.head_size;
    const int64_t keys = keys_seen(shape, first + count);
    if (keys == 0) return zero_rows(count, size, from(gq, first));
    const bool add = first + count < shape.q_len || head.index % Head::group(shape) != 0;
    Scratch<T>& scratch = Scratch<T>::mine(shape);
    T* delta = scratch.sum;
    for (int64_t row = 0; row < count; ++row) delta[row] = dot(size, gout[first + row], out[first + row]);

    for (int64_t key = 0; key < keys; key += kKeys) {
      const Block block{shape, head.index, first, count, key, std::min(kKeys, keys - key)};
      const BlockProducts<T> products{block, scratch.transposed()};
      products.scores(scratch.scores, from(q, first), from(k, key));
      products.scores(scratch.grads, from(gout, first), from(v, key));
      for (int64_t row = 0; row < count; ++row) {
        level_loops<AttentionLoops<T>>().gradients(
            block.seen(row), scratch.scores + row * kRow, scratch.grads + row * kRow,
            static_cast<T>(shape.scale), row_sums[2 * (first + row)], T{1} / row_sums[2 * (first + row) + 1],
            delta[row], scratch.factors(block, row));
      }
      products.by_key(scratch.scores, from(gout, first), add, from(gv, key));
      products.by_key(scratch.grads, from(q, first), add, from(gk, key));
      products.by_query(scratch.grads, from(k, key), key > 0, from(gq, first));
    }
  }
};

int64_t grain(int64_t work) { return std::max<int64_t>(1, kSmallAttention / std::max<int64_t>(1, work)); }

}  // namespace

template <class T>
void attention(const AttentionShape& shape, T* out, View4 so, T* row_sums, const T* q, View4 sq, const T* k,
               View4 sk, const T* v, View4 sv) {
  const int64_t blocks = (shape.q_len + kQueries - 1) / kQueries;
  const int64_t work = 2 * std::min(kQueries, shape.q_len) * shape.k_len * shape.head_size;
  parallel_for(shape.batch * shape.heads * blocks, grain(work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Head head{shape, i / blocks};
      const int64_t first = i % blocks * kQueries, count = std::min(kQueries, shape.q_len - first);
      const HeadForward<T> forward{head,
                                   head.rows(out, so),
                                   head.rows(q, sq),
                                   head.kv_rows(k, sk),
                                   head.kv_rows(v, sv),
                                   row_sums + 2 * head.index * shape.q_len};
      forward.run(first, count);
    }
  });
}

template <class T>
void attention_grad(const AttentionShape& shape, T* gq, View4 sgq, T* gk, View4 sgk, T* gv, View4 sgv,
                    const T* gout, View4 sgo, const T* out, View4 so, const T* row_sums, const T* q, View4 sq,
                    const T* k, View4 sk, const T* v, View4 sv) {
  const int64_t group = Head::group(shape);  // heads that one thread takes in order, as they add to one gk
  const int64_t work = 5 * group * shape.q_len * shape.k_len * shape.head_size;
  parallel_for(shape.batch * shape.kv_heads, grain(work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * group; i < end * group; ++i) {
      const Head head{shape, i};
      HeadGradient<T>{head,
                      head.rows(gq, sgq),
                      head.kv_rows(gk, sgk),
                      head.kv_rows(gv, sgv),
                      head.rows(gout, sgo),
                      head.rows(out, so),
                      head.rows(q, sq),
                      head.kv_rows(k, sk),
                      head.kv_rows(v, sv),
                      row_sums + 2 * i * shape.q_len}
          .run();
    }
  });
}

#define GRADUS_INSTANTIATE(T)                                                                               \
  template void attention(const AttentionShape&, T*, View4, T*, const T*, View4, const T*, View4, const T*, \
                          View4);                                                                           \
  template void attention_grad(const AttentionShape&, T*, View4, T*, View4, T*, View4, const T*, View4,     \
                               const T*, View4, const T*, const T*, View4, const T*, View4, const T*, View4)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kernels
