// The loop over rows that kernels of packed matrices share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

inline constexpr int64_t kGradRows = 64;  // rows whose part of a parameter's gradient one thread sums

inline constexpr int64_t kRowsBlock = 8192;  // elements, at least one row, that a thread takes at a time

/// Calls f(row) for each row, on several threads if there is much to do.
template <class F>
void for_each_row(int64_t rows, int64_t cols, F&& f) {
  parallel_for(rows, std::max<int64_t>(1, kRowsBlock / std::max<int64_t>(cols, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) f(r);
               });
}

}  // namespace gradus::kernels
