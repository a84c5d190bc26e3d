#include "gradus/autograd/kernels/reduce.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/walk.hpp"

namespace gradus::kernels {
namespace {

constexpr int64_t kPart = 65536;      // elements of one output that a thread reduces on its own
constexpr int64_t kRowBlock = 64;     // rows that are added up column by column before blocks are
constexpr int64_t kColumnBlock = 512;

template <class T>
constexpr T kLowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                           : std::numeric_limits<T>::lowest();
template <class T>
constexpr T kHighest =
    std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();

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

template <class T>
T reduce_span(Reduce op, int64_t n, const T* x, int64_t step) {
  if constexpr (std::is_floating_point_v<T>) {
    if (step == 1 && op == Reduce::sum) return level_kernels<T>().sum(n, x);
    if (step == 1 && op == Reduce::max) return level_kernels<T>().max(n, x);
  }
  T result = start_of<T>(op);
  for (int64_t i = 0; i < n; ++i) result = combine(op, result, x[i * step]);
  return result;
}

template <class T>
T reduce_range(Reduce op, const Loop<1>& loop, int64_t begin, int64_t end, const T* x) {
  T result = start_of<T>(op);
  walk_range(loop, begin, end, [&](int64_t n, const int64_t* offset) {
    result = combine(op, result, reduce_span(op, n, x + offset[0], innermost_step(loop, 0)));
  });
  return result;
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
  return reduce_span(op, static_cast<int64_t>(parts.size()), parts.data(), 1);
}

// Sums of the columns of a matrix whose rows are packed: bias gradients. Blocks of rows are summed apart, so that the
// error does not grow with their number.
template <class T>
void sum_columns(int64_t rows, int64_t cols, T* out, const T* x, int64_t row_stride) {
  parallel_for(cols, kColumnBlock, [&](int64_t begin, int64_t end) {
    T part[kColumnBlock];
    const int64_t n = end - begin;
    std::fill_n(out + begin, n, T{0});
    for (int64_t r = 0; r < rows; r += kRowBlock) {
      std::fill_n(part, n, T{0});
      level_kernels<T>().add_rows(std::min(kRowBlock, rows - r), n, part, x + r * row_stride + begin, row_stride);
      for (int64_t c = 0; c < n; ++c) out[begin + c] += part[c];
    }
  });
}

}  // namespace

template <class T>
void reduce(Reduce op, const Loop<2>& kept, const Loop<1>& reduced, T* out, const T* x) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool columns = op == Reduce::sum && kept.dims == 1 && reduced.dims == 1 && kept.stride[0][0] == 1 &&
                         kept.stride[1][0] == 1 && reduced.stride[0][0] != 1;
    if (columns) return sum_columns(reduced.size[0], kept.size[0], out, x, reduced.stride[0][0]);
  }
  const int64_t outputs = kept.numel(), each = reduced.numel();
  if (outputs == 1) {
    *out = reduce_one(op, reduced, x);
    return;
  }
  parallel_for(outputs, std::max<int64_t>(1, kSpanBlock / std::max<int64_t>(each, 1)), [&](int64_t begin, int64_t end) {
    walk_range(kept, begin, end, [&](int64_t n, const int64_t* offset) {
      const int64_t out_step = innermost_step(kept, 0), x_step = innermost_step(kept, 1);
      for (int64_t i = 0; i < n; ++i)
        out[offset[0] + i * out_step] = reduce_range(op, reduced, 0, each, x + offset[1] + i * x_step);
    });
  });
}

template <class T>
void argmax(int64_t rows, int64_t cols, int64_t* out, const T* x) {
  parallel_for(rows, std::max<int64_t>(1, kSpanBlock / cols), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* row = x + r * cols;
      int64_t best = 0;
      for (int64_t c = 1; c < cols; ++c)
        if (row[c] > row[best] || (row[c] != row[c] && row[best] == row[best])) best = c;
      out[r] = best;
    }
  });
}

template <class T>
void cumsum(int64_t outer, int64_t n, int64_t inner, T* out, const T* x, bool reverse) {
  parallel_for(outer * inner, std::max<int64_t>(1, kSpanBlock / std::max<int64_t>(n, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t line = begin; line < end; ++line) {
                   const int64_t first = line / inner * n * inner + line % inner;
                   T total = 0;
                   for (int64_t k = 0; k < n; ++k) {
                     const int64_t at = first + (reverse ? n - 1 - k : k) * inner;
                     total += x[at];
                     out[at] = total;
                   }
                 }
               });
}

template void reduce(Reduce, const Loop<2>&, const Loop<1>&, float*, const float*);
template void reduce(Reduce, const Loop<2>&, const Loop<1>&, double*, const double*);
template void reduce(Reduce, const Loop<2>&, const Loop<1>&, int64_t*, const int64_t*);
template void argmax(int64_t, int64_t, int64_t*, const float*);
template void argmax(int64_t, int64_t, int64_t*, const double*);
template void argmax(int64_t, int64_t, int64_t*, const int64_t*);
template void cumsum(int64_t, int64_t, int64_t, float*, const float*, bool);
template void cumsum(int64_t, int64_t, int64_t, double*, const double*, bool);
template void cumsum(int64_t, int64_t, int64_t, int64_t*, const int64_t*, bool);

}  // namespace gradus::kernels
