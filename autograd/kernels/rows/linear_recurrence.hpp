// The linear recurrence h_t = a_t * h_(t-1) + b_t along the middle of (outer, n, inner), contiguous, with its
// gradients.
// The bits of a column depend on that column only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

/// Loops over `cols` neighbouring columns. Pointers are those of the first step; step t lies t * stride
/// elements behind it, and stride may be negative.
template <class T>
struct RecurrenceLoops {
  void (*forward)(int64_t n, int64_t stride, int64_t cols, T* h, const T* a, const T* b);
  void (*grad)(int64_t n, int64_t stride, int64_t cols, T* ga, T* gb, const T* gh, const T* a, const T* h);
};

inline constexpr int64_t kRecurrenceCols = 512;  // columns, at most, that a thread takes at a time

/// Calls f(offset, cols, stride) for each block of columns; offset is that of its first step, which is the
/// last row if `reverse`.
template <class F>
void for_each_column_block(int64_t outer, int64_t n, int64_t inner, bool reverse, F&& f) {
  const int64_t blocks = (inner + kRecurrenceCols - 1) / kRecurrenceCols;
  const int64_t elements = std::max<int64_t>(1, n * std::min(inner, kRecurrenceCols));
  parallel_for(n == 0 ? 0 : outer * blocks, std::max<int64_t>(1, kRowsChunk / elements),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t row = i / blocks * n + (reverse ? n - 1 : 0),
                                 col = i % blocks * kRecurrenceCols;
                   f(row * inner + col, std::min(kRecurrenceCols, inner - col), reverse ? -inner : inner);
                 }
               });
}

/// h from a and b; the first h is b, whatever the first a.
template <class T>
void linear_recurrence(int64_t outer, int64_t n, int64_t inner, T* h, const T* a, const T* b, bool reverse) {
  for_each_column_block(outer, n, inner, reverse, [&](int64_t offset, int64_t cols, int64_t stride) {
    isa_loops<RecurrenceLoops<T>>().forward(n, stride, cols, h + offset, a + offset, b + offset);
  });
}

/// ga, which may be nullptr, and gb from gh, a and h.
template <class T>
void linear_recurrence_grad(int64_t outer, int64_t n, int64_t inner, T* ga, T* gb, const T* gh, const T* a,
                            const T* h, bool reverse) {
  for_each_column_block(outer, n, inner, reverse, [&](int64_t offset, int64_t cols, int64_t stride) {
    isa_loops<RecurrenceLoops<T>>().grad(n, stride, cols, ga ? ga + offset : nullptr, gb + offset,
                                         gh + offset, a + offset, h + offset);
  });
}

}  // namespace gradus::kernels
