// The thread pool of all kernels, and parallel_for.
//
// Chunks depend on sizes only, so a body that writes per element or per chunk gives the same bits for any
// number of threads. Each thread starts with the same range of chunks in every call, because its cache may
// still hold them. When it is done, it takes chunks from the ranges of other threads, except the last quarter
// of a short range: fetching that from another core costs more than waiting.
// Thread-safe: of several callers at once, one gets the pool; the others run their chunks themselves. Workers
// start at the first use and end with the process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace gradus {
namespace kernels {

/// The number of threads that parallel_for uses, including the caller; initially available_cores().
/// gradus::num_threads() is the public form.
int thread_count();

/// Sets it. Throws Error if n < 1 or when called from the body of a parallel_for.
void set_thread_count(int n);

/// Physical cores that the process may use: by its affinity and the CPU quota of its control group; at least
/// 1. Hardware threads of one core count once.
int available_cores();

using ChunkBody = void (*)(void* context, int64_t begin, int64_t end);

/// parallel_for for n > grain, with the body as a function and its context.
void run_chunks(int64_t n, int64_t grain, ChunkBody body, void* context);

}  // namespace kernels

/// Calls body(begin, end) for the chunks [i * grain, min(n, (i + 1) * grain)), in any order, on several
/// threads; grain >= 1. A nested parallel_for runs its chunks in order on its own thread. An exception of a
/// body is rethrown here when no chunk is running; chunks that have not begun are skipped.
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

namespace kernels {

inline constexpr int64_t kElementsChunk = 16384;  // elements that a thread takes at a time
inline constexpr int64_t kRowsChunk = 8192;       // the same in operations on rows, but at least one row
inline constexpr int64_t kGradRows = 64;          // rows, at least, whose part of a gradient one thread sums

/// a / b, rounded up.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The grain at which a thread does about `work` at a time, if each item takes `each`.
constexpr int64_t grain_of(int64_t work, int64_t each) {
  return std::max<int64_t>(1, work / std::max<int64_t>(1, each));
}

/// Calls f(row) for each row, on several threads if there is enough work.
template <class F>
void for_each_row(int64_t rows, int64_t cols, F&& f) {
  parallel_for(rows, grain_of(kRowsChunk, cols), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) f(r);
  });
}

/// Calls loop(cols, row of x...) for each row of matrices (rows, cols).
template <class Loop, class... T>
void loop_over_rows(int64_t rows, int64_t cols, Loop loop, T*... x) {
  for_each_row(rows, cols, [&](int64_t r) { loop(cols, (x + r * cols)...); });
}

/// Calls loop(count, chunk of x...) for chunks of arrays (n).
template <class Loop, class... T>
void loop_over_chunks(int64_t n, int64_t chunk, Loop loop, T*... x) {
  parallel_for(n, chunk, [&](int64_t begin, int64_t end) { loop(end - begin, (x + begin)...); });
}

}  // namespace kernels
}  // namespace gradus
