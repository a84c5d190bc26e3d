// Threads: one pool for every kernel, and the loop that uses it.
//
// Work is cut into blocks whose bounds depend on sizes only, never on the number of threads, so a body that
// writes per element or per block gives the same bits for any number of threads. Thread-safe: of several
// callers at once one gets the pool, the others run their blocks themselves. Workers start at the first use
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

using BlockBody = void (*)(void* context, int64_t begin, int64_t end);

/// parallel_for for n > grain, with its body taken apart into a function and its context.
void run_blocks(int64_t n, int64_t grain, BlockBody body, void* context);

}  // namespace kernels

/// Calls body(begin, end) for the blocks [i * grain, min(n, (i + 1) * grain)), in any order, on several
/// threads; grain >= 1. A parallel_for inside a body runs its blocks in order on the thread it is on. An
/// exception thrown by a body is rethrown here once no block is running; blocks not begun by then are left
/// out.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& body) {
  if (n <= 0) return;
  if (n <= grain) {
    body(int64_t{0}, n);
    return;
  }
  using Body = std::remove_reference_t<F>;
  kernels::run_blocks(
      n, grain, [](void* context, int64_t begin, int64_t end) { (*static_cast<Body*>(context))(begin, end); },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

}  // namespace gradus
