#include "gradus/annexes/fast/attention/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

#include "gradus/annexes/fast/attention/attention_products.hpp"
#include "gradus/autograd/kernels/blas/choose_product.hpp"
#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {
namespace {

constexpr int64_t kManyHeads = 16;  // in this case a thread takes all queries of a head

/// Buffers of a thread, initially zero: elements beyond a row's scores are computed with, but not read.
template <class T>
struct alignas(64) RowBuffers {
  T scores[kQueries * kScoreRow] = {};
  T grads[kQueries * kScoreRow] = {};
  T factor[kScoreRow];
  T ones[kScoreRow];
  T max[kQueries];
  T sum[kQueries];

  RowBuffers() {
    std::fill(std::begin(factor), std::end(factor), T{1});
    std::fill(std::begin(ones), std::end(ones), T{1});
  }

  static RowBuffers& mine() {
    static thread_local const auto scratch = std::make_unique<RowBuffers>();
    return *scratch;
  }

  /// The factors of dropout for the weights of a row; nullptr for all ones.
  const T* factors(const ScoreTile& tile, int64_t row) {
    const AttentionShape& shape = tile.shape;
    if (shape.dropout == 0) return nullptr;
    const int64_t first = (tile.head * shape.q_len + tile.query + row) * shape.k_len + tile.key;
    const int64_t before = first % 4;  // the generator draws four numbers at a time
    dropout(before + tile.seen(row), factor, ones, shape.dropout, shape.key,
            shape.offset + static_cast<uint64_t>(first / 4));
    return factor + before;
  }
};

/// Zeros the elements of a row of scores whose keys its query does not see because they are before its first
/// key: all of them if it sees none. Returns their number.
template <class T>
int64_t zero_skipped(const ScoreTile& tile, int64_t row, T* scores) {
  const int64_t skipped = tile.skipped(row);
  if (skipped > 0)
    std::fill_n(scores, skipped < tile.seen(row) ? skipped : tile.keys + kAttentionMargin, T{0});
  return skipped;
}

template <class T>
void scale_row(int64_t n, T* row, T factor) {
  for (int64_t i = 0; i < n; ++i) row[i] *= factor;
}

template <class T>
void zero_rows(int64_t rows, int64_t n, Rows<T> x) {
  for (int64_t row = 0; row < rows; ++row) std::fill_n(x[row], n, T{0});
}

/// Attention of one head.
template <class T, class Products>
struct HeadForward {
  Head head;
  Rows<T> out;
  Rows<const T> q;
  T* row_sums;
  Products products;
  const AttentionLoops<T>& loops = isa_loops<AttentionLoops<T>>();

  /// Handles the queries [first, first + count).
  void run(int64_t first, int64_t count) {
    const AttentionShape& shape = head.shape;
    const int64_t size = shape.head_size;
    const int64_t keys = keys_seen(shape, first + count);
    const int64_t begin = first_tile(shape, head.index / shape.heads, first, count);
    RowBuffers<T>& scratch = RowBuffers<T>::mine();
    std::fill_n(scratch.max, count, -std::numeric_limits<T>::infinity());
    std::fill_n(scratch.sum, count, T{0});
    for (int64_t key = begin; key < keys; key += kKeys) {
      const ScoreTile tile{shape, head.index, first, count, key, std::min(kKeys, keys - key)};
      products.scores(tile, from(q, first), kKey, scratch.scores);
      for (int64_t row = 0; row < count; ++row) weigh(tile, row, scratch);
      products.by_query(tile, scratch.scores, kValue, key > begin, from(out, first));
    }
    for (int64_t row = 0; row < count; ++row) {
      const bool blind =
          keys_seen(shape, first + row + 1) <= first_key(shape, head.index / shape.heads, first + row);
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
  /// Turns scores into weights that are not yet divided by their sum.
  void weigh(const ScoreTile& tile, int64_t row, RowBuffers<T>& scratch) const {
    T* weights = scratch.scores + row * kScoreRow;
    const int64_t skipped = zero_skipped(tile, row, weights), seen = tile.seen(row) - skipped;
    if (seen == 0 && skipped > 0) return;
    T& max = scratch.max[row];
    const T max_before = max;
    const T sum = loops.exponentials(seen, Products::kReadsHidden ? tile.keys - skipped : 0,
                                     weights + skipped, static_cast<T>(tile.shape.scale), &max);
    if (scratch.sum[row] > 0 && max != max_before) {  // the previous sums are for a smaller maximum
      const T correction = std::exp(max_before - max);
      scratch.sum[row] *= correction;
      scale_row(tile.shape.head_size, out[tile.query + row], correction);
    }
    scratch.sum[row] += sum;
    if (const T* factor = scratch.factors(tile, row)) {
      for (int64_t column = skipped; column < skipped + seen; ++column) weights[column] *= factor[column];
    }
  }
};

/// The gradients of one head.
template <class T, class Products>
struct HeadGradient {
  Head head;
  Rows<T> gq, gk, gv;
  Rows<const T> gout, out, q;
  const T* row_sums;
  Products products;
  const AttentionLoops<T>& loops = isa_loops<AttentionLoops<T>>();

  /// Goes from the last queries to the first: the last ones see every key and write gk and gv, the others
  /// add. The first of the heads that share k and v writes.
  void run() {
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
  void run(int64_t first, int64_t count) {
    const AttentionShape& shape = head.shape;
    const int64_t size = shape.head_size;
    const int64_t keys = keys_seen(shape, first + count);
    const int64_t begin = std::min(keys, first_tile(shape, head.index / shape.heads, first, count));
    const bool add = first + count < shape.q_len || head.index % Head::group(shape) != 0;
    if (!add) {
      zero_rows(begin, size, gk);
      zero_rows(begin, size, gv);
    }
    if (begin == keys) return zero_rows(count, size, from(gq, first));
    RowBuffers<T>& scratch = RowBuffers<T>::mine();
    T* delta = scratch.sum;
    for (int64_t row = 0; row < count; ++row)
      delta[row] = loops.dot(size, gout[first + row], out[first + row]);

    for (int64_t key = begin; key < keys; key += kKeys) {
      const ScoreTile tile{shape, head.index, first, count, key, std::min(kKeys, keys - key)};
      products.scores(tile, from(q, first), kKey, scratch.scores);
      products.scores(tile, from(gout, first), kValue, scratch.grads);
      for (int64_t row = 0; row < count; ++row) {
        T *scores = scratch.scores + row * kScoreRow, *grads = scratch.grads + row * kScoreRow;
        const int64_t skipped = zero_skipped(tile, row, scores), seen = tile.seen(row) - skipped;
        zero_skipped(tile, row, grads);
        if (seen == 0 && skipped > 0) continue;
        const T* factor = scratch.factors(tile, row);
        loops.gradients(seen, Products::kReadsHidden ? tile.keys - skipped : 0, scores + skipped,
                        grads + skipped, static_cast<T>(shape.scale), row_sums[2 * (first + row)],
                        T{1} / row_sums[2 * (first + row) + 1], delta[row],
                        factor ? factor + skipped : nullptr);
      }
      products.by_key(tile, scratch.scores, from(gout, first), add, from(gv, key));
      products.by_key(tile, scratch.grads, from(q, first), add, from(gk, key));
      products.by_query(tile, scratch.grads, kKey, key > begin, from(gq, first));
    }
  }
};

/// Calls f(task) for each task, of `work` multiply-adds.
template <class F>
void for_each_task(int64_t tasks, int64_t work, const F& f) {
  parallel_for(tasks, grain_of(kSmallProduct, work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

/// Calls f.operator()<Products>() with the products for the shape.
template <class T, class F>
void with_products(const AttentionShape& shape, const F& f) {
  const ProductTraits traits{.m = shape.q_len,
                             .n = shape.k_len,
                             .k = shape.head_size,
                             .rounded = shape.rounded,
                             .place = ProductPlace::attention};
  if constexpr (std::is_same_v<T, float>)
    if (choose_product(traits) == ProductCode::multiply_bf16) return f.template operator()<RoundedProducts>();
  f.template operator()<PlainProducts<T>>();
}

}  // namespace

template <class T>
void attention(const AttentionShape& shape, T* out, View4 so, T* row_sums, const T* q, View4 sq, const T* k,
               View4 sk, const T* v, View4 sv) {
  const int64_t tiles = ceil_div(shape.q_len, kQueries);
  const int64_t together = shape.batch * shape.heads >= kManyHeads ? tiles : 1;  // tiles of a task
  const int64_t tasks = together == 0 ? 0 : tiles / together;                    // of a head
  const int64_t work = 2 * together * std::min(kQueries, shape.q_len) * shape.k_len * shape.head_size;
  with_products<T>(shape, [&]<class Products>() {
    for_each_task(shape.batch * shape.heads * tasks, work, [&](int64_t i) {
      const Head head{shape, i / tasks};
      HeadForward<T, Products> forward{head, head.rows(out, so), head.rows(q, sq),
                                       row_sums + 2 * head.index * shape.q_len,
                                       Products(shape, head.kv_rows(k, sk), head.kv_rows(v, sv))};
      const int64_t first = i % tasks * together;
      for (int64_t tile = first + together - 1; tile >= first; --tile)  // the last one sees most keys
        forward.run(tile * kQueries, std::min(kQueries, shape.q_len - tile * kQueries));
    });
  });
}

template <class T>
void attention_grad(const AttentionShape& shape, T* gq, View4 sgq, T* gk, View4 sgk, T* gv, View4 sgv,
                    const T* gout, View4 sgo, const T* out, View4 so, const T* row_sums, const T* q, View4 sq,
                    const T* k, View4 sk, const T* v, View4 sv) {
  const int64_t group = Head::group(shape);  // heads that one thread takes in order, as they add to one gk
  const int64_t work = 5 * group * shape.q_len * shape.k_len * shape.head_size;
  with_products<T>(shape, [&]<class Products>() {
    for_each_task(shape.batch * shape.kv_heads, work, [&](int64_t kv_head) {
      for (int64_t i = kv_head * group; i < (kv_head + 1) * group; ++i) {
        const Head head{shape, i};
        HeadGradient<T, Products>{head,
                                  head.rows(gq, sgq),
                                  head.kv_rows(gk, sgk),
                                  head.kv_rows(gv, sgv),
                                  head.rows(gout, sgo),
                                  head.rows(out, so),
                                  head.rows(q, sq),
                                  row_sums + 2 * i * shape.q_len,
                                  Products(shape, head.kv_rows(k, sk), head.kv_rows(v, sv))}
            .run();
      }
    });
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
