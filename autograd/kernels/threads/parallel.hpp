// Threads: one pool for every kernel, and the loop that uses it.
//
// Work is cut into chunks whose bounds depend on sizes only, never on the number of threads, so a body that
// writes per element or per chunk gives the same bits for any number of threads. Thread-safe: of several
// callers at once one gets the pool, the others run their chunks themselves. Workers start at the first use
// and end with the process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace gradus {
namespace kernels {

/// The number of threads that parallel_for uses, the caller included; at first one per physical core it may
/// run on. gradus::num_threads() to the public.
int thread_count();

/// Sets it. Throws Error if n < 1 or when called from the body of a parallel_for.
void set_thread_count(int n);

/// Physical cores that the process may run on (hardware threads of one core count once), no more than the CPU
/// quota of its control group; at least 1.
int available_cores();

using ChunkBody = void (*)(void* context, int64_t begin, int64_t end);

/// parallel_for for n > grain, with its body taken apart into a function and its context.
void run_chunks(int64_t n, int64_t grain, ChunkBody body, void* context);

}  // namespace kernels

/// Calls body(begin, end) for the chunks [i * grain, min(n, (i + 1) * grain)), in any order, on several
/// threads; grain >= 1. A parallel_for inside a body runs its chunks in order on the thread it is on. An
/// exception thrown by a body is rethrown here once no chunk is running; chunks not begun by then are left
/// out.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& body) {
  if (n <= 0) return;
  if (n <= grain) {
    body(int64_t{0}, n);
    return;
  }
  using Body = std::remove_reference_t<F>;
  kernels::run_chunks(
      n, grain, [](void* context, int64_t begin, int64_t end) { (*static_cast<Body*>(context))(begin, end); },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

}  // namespace gradus

namespace gradus::kernels {

inline constexpr int64_t kElementsChunk = 16384;  // elements that a thread takes at a time

inline constexpr int64_t kGradRows = 64;  // rows whose part of a parameter's gradient one thread sums

inline constexpr int64_t kRowsChunk = 8192;  // elements, at least one row, that a thread takes at a time

/// Calls f(row) for each row, on several threads if there is much to do.
template <class F>
void for_each_row(int64_t rows, int64_t cols, F&& f) {
  parallel_for(rows, std::max<int64_t>(1, kRowsChunk / std::max<int64_t>(cols, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) f(r);
               });
}

}  // namespace gradus::kernels
