#include "gradus/autograd/kernels/elementwise/reduce.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "gradus/autograd/kernels/elementwise/walk.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels {
namespace {

constexpr int64_t kPart = 65536;   // elements of one output that a thread reduces on its own
constexpr int64_t kRowBlock = 64;  // rows that are folded into one, column by column, before blocks are
constexpr int64_t kColumnBlock = 512;
constexpr int64_t kGatherRow = 256;  // strided elements that are packed at a time

template <class T>
constexpr T kLowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                           : std::numeric_limits<T>::lowest();
template <class T>
constexpr T kHighest = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                            : std::numeric_limits<T>::max();

template <class T>
T start_of(Reduce op) {
  return op == Reduce::sum ? T{0} : op == Reduce::max ? kLowest<T> : kHighest<T>;
}

// NaN stays once it is there.
template <class T>
T combine(Reduce op, T a, T b) {
  if (op == Reduce::sum) return static_cast<T>(a + b);
  if (a != a) return a;
  if (op == Reduce::max) return a > b ? a : b;
  return a < b ? a : b;
}

// Folds packed elements into one.
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

// Combines parts in pairs of equal rank, as a binary counter carries, so that a sum of n parts is log n
// deep.
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
  const int64_t step = innermost_step(loop, 0);
  Pairwise<T> parts(op);
  walk_range(loop, begin, end, [&](int64_t n, const int64_t* offset) {
    const T* first = x + offset[0];
    if (step == 1) return parts.add(fold(op, n, first));
    T packed[kGatherRow];
    for (int64_t i = 0; i < n; i += kGatherRow) {
      const int64_t count = std::min(kGatherRow, n - i);
      for (int64_t j = 0; j < count; ++j) packed[j] = first[(i + j) * step];
      parts.add(fold(op, count, packed));
    }
  });
  return parts.total();
}

// One output from many elements: parts side by side, then the parts in order.
template <class T>
T reduce_one(Reduce op, const Loop<1>& loop, const T* x) {
  const int64_t n = loop.numel();
  if (n <= kPart) return reduce_range(op, loop, 0, n, x);
  std::vector<T> parts(static_cast<size_t>((n + kPart - 1) / kPart));
  parallel_for(n, kPart, [&](int64_t begin, int64_t end) {
    parts[static_cast<size_t>(begin / kPart)] = reduce_range(op, loop, begin, end, x);
  });
  return fold(op, static_cast<int64_t>(parts.size()), parts.data());
}

// The columns of a matrix whose rows are packed: bias gradients. Each block of rows becomes one, and so on
// with those.
template <class T>
void reduce_columns(Reduce op, int64_t rows, int64_t cols, T* out, const T* x, int64_t row_stride) {
  const int64_t row_blocks = std::max<int64_t>(1, (rows + kRowBlock - 1) / kRowBlock);
  const int64_t strips = (cols + kColumnBlock - 1) / kColumnBlock;
  std::vector<T> parts(static_cast<size_t>(row_blocks > 1 ? row_blocks * cols : 0));
  T* to = row_blocks > 1 ? parts.data() : out;
  const int64_t grain = std::max<int64_t>(1, kElementsChunk / (kRowBlock * std::min(cols, kColumnBlock)));
  parallel_for(row_blocks * strips, grain, [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      const int64_t block = job / strips, first = job % strips * kColumnBlock,
                    n = std::min(kColumnBlock, cols - first);
      T* line = to + block * cols + first;
      std::fill_n(line, n, start_of<T>(op));
      const int64_t row = block * kRowBlock;
      fold_rows(op, std::min(kRowBlock, rows - row), n, line, x + row * row_stride + first, row_stride);
    }
  });
  if (row_blocks > 1) reduce_columns(op, row_blocks, cols, out, to, cols);
}

// Place of the element of each row that none is before, the first among equals; NaN is before all.
template <class T, class Before>
void first_of_rows(int64_t rows, int64_t cols, int64_t* out, const T* x, Before before) {
  parallel_for(rows, std::max<int64_t>(1, kElementsChunk / cols), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* row = x + r * cols;
      int64_t best = 0;
      for (int64_t c = 1; c < cols; ++c)
        if (before(row[c], row[best]) || (row[c] != row[c] && row[best] == row[best])) best = c;
      out[r] = best;
    }
  });
}

}  // namespace

template <class T>
void reduce(Reduce op, const Loop<2>& kept, const Loop<1>& reduced, T* out, const T* x) {
  const int64_t outputs = kept.numel(), each = reduced.numel();
  if (outputs == 0) return;
  if (outputs == 1) {
    *out = reduce_one(op, reduced, x);
    return;
  }
  const bool columns = kept.dims == 1 && reduced.dims == 1 && kept.stride[0][0] == 1 &&
                       kept.stride[1][0] == 1 && reduced.stride[0][0] != 1;
  if (columns) return reduce_columns(op, each, outputs, out, x, reduced.stride[0][0]);
  parallel_for(outputs, std::max<int64_t>(1, kElementsChunk / std::max<int64_t>(each, 1)),
               [&](int64_t begin, int64_t end) {
                 walk_range(kept, begin, end, [&](int64_t n, const int64_t* offset) {
                   const int64_t out_step = innermost_step(kept, 0), x_step = innermost_step(kept, 1);
                   for (int64_t i = 0; i < n; ++i)
                     out[offset[0] + i * out_step] =
                         reduce_range(op, reduced, 0, each, x + offset[1] + i * x_step);
                 });
               });
}

template <class T>
void argmax(int64_t rows, int64_t cols, int64_t* out, const T* x) {
  first_of_rows(rows, cols, out, x, std::greater<T>());
}

template <class T>
void argmin(int64_t rows, int64_t cols, int64_t* out, const T* x) {
  first_of_rows(rows, cols, out, x, std::less<T>());
}

// Each term of a running sum is rounded on its own: in float the millionth would have lost half its digits.
template <class T>
using Total = std::conditional_t<std::is_same_v<T, float>, double, T>;

template <class T>
void cumsum(int64_t outer, int64_t n, int64_t inner, T* out, const T* x, bool reverse) {
  parallel_for(outer * inner, std::max<int64_t>(1, kElementsChunk / std::max<int64_t>(n, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t line = begin; line < end; ++line) {
                   const int64_t first = line / inner * n * inner + line % inner;
                   Total<T> total = 0;
                   for (int64_t k = 0; k < n; ++k) {
                     const int64_t at = first + (reverse ? n - 1 - k : k) * inner;
                     total += x[at];
                     out[at] = static_cast<T>(total);
                   }
                 }
               });
}

#define GRADUS_INSTANTIATE(T)                                                 \
  template void reduce(Reduce, const Loop<2>&, const Loop<1>&, T*, const T*); \
  template void argmax(int64_t, int64_t, int64_t*, const T*);                 \
  template void argmin(int64_t, int64_t, int64_t*, const T*);                 \
  template void cumsum(int64_t, int64_t, int64_t, T*, const T*, bool)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
GRADUS_INSTANTIATE(int64_t);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kernels
