// Walking strided operands: the outer dimensions by counting, the innermost by a span that the caller
// handles.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradus/autograd/kernels/isa/loop.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

/// Calls span(n, offsets) for runs along the innermost dimension that together cover elements [begin, end) of
/// the loop; offsets[k] is where operand k begins, its step is innermost_step(loop, k).
template <int N, class Span>
void walk_range(const Loop<N>& loop, int64_t begin, int64_t end, Span&& span) {
  if (begin >= end) return;  // nothing, perhaps because a size is 0
  const int inner = loop.dims - 1;
  int64_t index[kMaxDims] = {};
  int64_t offset[N] = {};
  int64_t rest = begin;
  for (int d = inner; d >= 0; --d) {
    index[d] = rest % loop.size[d];
    rest /= loop.size[d];
    for (int k = 0; k < N; ++k) offset[k] += index[d] * loop.stride[k][d];
  }
  for (;;) {
    const int64_t n = inner < 0 ? 1 : std::min(end - begin, loop.size[inner] - index[inner]);
    span(n, offset);
    begin += n;
    if (begin >= end) return;
    for (int k = 0; k < N; ++k) offset[k] -= index[inner] * loop.stride[k][inner];
    index[inner] = 0;
    for (int d = inner - 1; d >= 0; --d) {
      for (int k = 0; k < N; ++k) offset[k] += loop.stride[k][d];
      if (++index[d] < loop.size[d]) break;
      for (int k = 0; k < N; ++k) offset[k] -= loop.size[d] * loop.stride[k][d];
      index[d] = 0;
    }
  }
}

/// The same over all elements, on several threads if there are many.
template <int N, class Span>
void walk(const Loop<N>& loop, Span&& span) {
  parallel_for(loop.numel(), kElementsChunk,
               [&](int64_t begin, int64_t end) { walk_range(loop, begin, end, span); });
}

template <int N>
int64_t innermost_step(const Loop<N>& loop, int operand) {
  return loop.dims == 0 ? 1 : loop.stride[operand][loop.dims - 1];
}

/// out[i] = f(operands[i]...) one element at a time, for operations without loops of each level.
template <class Out, class F, class... In>
void walk_each(const Loop<1 + static_cast<int>(sizeof...(In))>& loop, F f, Out* out, const In*... in) {
  constexpr int kN = 1 + static_cast<int>(sizeof...(In));
  int64_t step[kN];
  bool packed = true;
  for (int k = 0; k < kN; ++k) {
    step[k] = innermost_step(loop, k);
    packed = packed && step[k] == 1;
  }
  walk(loop, [&](int64_t n, const int64_t* offset) {
    [&]<size_t... kIn>(std::index_sequence<kIn...>) {
      Out* o = out + offset[0];
      if (packed) {
        for (int64_t i = 0; i < n; ++i) o[i] = f((in + offset[1 + kIn])[i]...);
      } else {
        for (int64_t i = 0; i < n; ++i) o[i * step[0]] = f((in + offset[1 + kIn])[i * step[1 + kIn]]...);
      }
    }
    (std::index_sequence_for<In...>());
  });
}

}  // namespace gradus::kernels
