#include "gradus/autograd/kernels/elementwise/reduce.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "gradus/autograd/kernels/elementwise/loop.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels {
namespace {

constexpr int64_t kChunk = 65536;   // elements of one output that a thread reduces alone
constexpr int64_t kChunkRows = 64;  // rows of a matrix that are folded into one, column by column
constexpr int64_t kChunkColumns = 512;
constexpr int64_t kGatherRow = 256;  // strided elements that are packed at a time

/// The result for no elements.
template <class T>
T start_of(Reduce op) {
  using Limits = std::numeric_limits<T>;
  if (op == Reduce::sum) return T{0};
  if constexpr (Limits::has_infinity) return op == Reduce::max ? -Limits::infinity() : Limits::infinity();
  return op == Reduce::max ? Limits::lowest() : Limits::max();
}

// A NaN stays.
template <class T>
T combine(Reduce op, T a, T b) {
  if (op == Reduce::sum) return static_cast<T>(a + b);
  if (a != a) return a;
  if (op == Reduce::max) return a > b ? a : b;
  return a < b ? a : b;
}

// Folds packed elements.
template <class T>
T fold(Reduce op, int64_t n, const T* x) {
  if constexpr (std::is_floating_point_v<T>) {
    return isa_loops<ReduceLoops<T>>().fold[static_cast<int>(op)](n, x);
  } else {
    T result = start_of<T>(op);
    for (int64_t i = 0; i < n; ++i) result = combine(op, result, x[i]);
    return result;
  }
}

template <class T>
void fold_rows(Reduce op, int64_t rows, int64_t cols, T* out, const T* x, int64_t row_stride) {
  if constexpr (std::is_floating_point_v<T>) {
    isa_loops<ReduceLoops<T>>().fold_rows[static_cast<int>(op)](rows, cols, out, x, row_stride);
  } else {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c) out[c] = combine(op, out[c], x[r * row_stride + c]);
  }
}

// Combines parts in pairs of equal size, as a binary counter carries: a sum of n parts is log n deep.
template <class T>
class Pairwise {
 public:
  explicit Pairwise(Reduce op) : op_(op) {}

  void add(T part) {
    for (uint64_t bits = count_++; bits & 1; bits >>= 1) part = combine(op_, waiting_[--depth_], part);
    waiting_[depth_++] = part;
  }

  T total() const {
    T result = start_of<T>(op_);
    for (int i = depth_; i > 0; --i) result = combine(op_, waiting_[i - 1], result);
    return result;
  }

 private:
  Reduce op_;
  uint64_t count_ = 0;
  int depth_ = 0;
  T waiting_[64];
};

template <class T>
T reduce_range(Reduce op, const Loop<1>& loop, int64_t begin, int64_t end, const T* x) {
  const int64_t stride = innermost_stride(loop, 0);
  Pairwise<T> parts(op);
  walk_range(loop, begin, end, [&](int64_t n, const int64_t* offset) {
    const T* first = x + offset[0];
    if (stride == 1) return parts.add(fold(op, n, first));
    T packed[kGatherRow];
    for (int64_t i = 0; i < n; i += kGatherRow) {
      const int64_t count = std::min(kGatherRow, n - i);
      for (int64_t j = 0; j < count; ++j) packed[j] = first[(i + j) * stride];
      parts.add(fold(op, count, packed));
    }
  });
  return parts.total();
}

// One output from many elements: reduces chunks in parallel, then their results in order.
template <class T>
T reduce_one(Reduce op, const Loop<1>& loop, const T* x) {
  const int64_t n = loop.numel();
  if (n <= kChunk) return reduce_range(op, loop, 0, n, x);
  std::vector<T> parts(static_cast<size_t>(ceil_div(n, kChunk)));
  parallel_for(n, kChunk, [&](int64_t begin, int64_t end) {
    parts[static_cast<size_t>(begin / kChunk)] = reduce_range(op, loop, begin, end, x);
  });
  return fold(op, static_cast<int64_t>(parts.size()), parts.data());
}

// The columns of a matrix whose rows are packed, as in bias gradients: reduces each chunk of rows to one row,
// then these rows.
template <class T>
void reduce_columns(Reduce op, int64_t rows, int64_t cols, T* out, const T* x, int64_t row_stride) {
  const int64_t chunks = std::max<int64_t>(1, ceil_div(rows, kChunkRows));
  const int64_t strips = ceil_div(cols, kChunkColumns);
  std::vector<T> parts(static_cast<size_t>(chunks > 1 ? chunks * cols : 0));
  T* to = chunks > 1 ? parts.data() : out;
  const int64_t grain = grain_of(kElementsChunk, kChunkRows * std::min(cols, kChunkColumns));
  parallel_for(chunks * strips, grain, [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      const int64_t chunk = job / strips, row = chunk * kChunkRows, first = job % strips * kChunkColumns;
      const int64_t n = std::min(kChunkColumns, cols - first);
      T* line = to + chunk * cols + first;
      std::fill_n(line, n, start_of<T>(op));
      fold_rows(op, std::min(kChunkRows, rows - row), n, line, x + row * row_stride + first, row_stride);
    }
  });
  if (chunks > 1) reduce_columns(op, chunks, cols, out, to, cols);
}

// The index of the first element of each row such that before(x, element) is false for all x of the row; a
// NaN comes before all.
template <class T, class Before>
void first_of_rows(int64_t rows, int64_t cols, int64_t* out, const T* x, Before before) {
  for_each_row(rows, cols, [&](int64_t r) {
    const T* row = x + r * cols;
    int64_t best = 0;
    for (int64_t c = 1; c < cols; ++c)
      if (before(row[c], row[best]) || (row[c] != row[c] && row[best] == row[best])) best = c;
    out[r] = best;
  });
}

}  // namespace

template <class T>
void reduce(Reduce op, const Loop<2>& kept, const Loop<1>& reduced, T* out, const T* x) {
  const int64_t outputs = kept.numel(), each = reduced.numel();
  if (outputs == 0) return;
  if (outputs == 1) return static_cast<void>(*out = reduce_one(op, reduced, x));
  const bool columns = kept.dims == 1 && reduced.dims == 1 && kept.stride[0][0] == 1 &&
                       kept.stride[1][0] == 1 && reduced.stride[0][0] != 1;
  if (columns) return reduce_columns(op, each, outputs, out, x, reduced.stride[0][0]);
  const int64_t out_stride = innermost_stride(kept, 0), x_stride = innermost_stride(kept, 1);
  parallel_for(outputs, grain_of(kElementsChunk, each), [&](int64_t begin, int64_t end) {
    walk_range(kept, begin, end, [&](int64_t n, const int64_t* offset) {
      for (int64_t i = 0; i < n; ++i)
        out[offset[0] + i * out_stride] = reduce_range(op, reduced, 0, each, x + offset[1] + i * x_stride);
    });
  });
}

template <class T>
void place_of(Reduce extreme, int64_t rows, int64_t cols, int64_t* out, const T* x) {
  if (extreme == Reduce::max) return first_of_rows(rows, cols, out, x, std::greater<T>());
  first_of_rows(rows, cols, out, x, std::less<T>());
}

// A running sum rounds each term: in float the millionth loses half its digits.
template <class T>
using Total = std::conditional_t<std::is_same_v<T, float>, double, T>;

template <class T>
void cumsum(int64_t outer, int64_t n, int64_t inner, T* out, const T* x, bool reverse) {
  for_each_row(outer * inner, n, [&](int64_t line) {
    const int64_t first = line / inner * n * inner + line % inner;
    Total<T> total = 0;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t at = first + (reverse ? n - 1 - k : k) * inner;
      total += x[at];
      out[at] = static_cast<T>(total);
    }
  });
}

#define GRADUS_INSTANTIATE(T)                                                 \
  template void reduce(Reduce, const Loop<2>&, const Loop<1>&, T*, const T*); \
  template void place_of(Reduce, int64_t, int64_t, int64_t*, const T*);       \
  template void cumsum(int64_t, int64_t, int64_t, T*, const T*, bool)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
GRADUS_INSTANTIATE(int64_t);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kernels
