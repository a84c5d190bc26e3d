// Loop, the sizes and strides of operands that are walked together, and the functions that walk them.
//
// A Loop owns nothing; sizes and strides are in elements, outermost first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

inline constexpr int kMaxDims = 8;

/// A loop nest over N operands of one shape; operand 0 is the output. Stride 0 = broadcast.
template <int N>
struct Loop {
  int dims = 0;
  int64_t size[kMaxDims] = {};
  int64_t stride[N][kMaxDims] = {};

  int64_t numel() const {
    int64_t n = 1;
    for (int d = 0; d < dims; ++d) n *= size[d];
    return n;
  }

  /// Drops dimensions of size 1 and merges neighbours that one stride can walk; keeps the order of elements.
  void coalesce() {
    int kept = 0;
    for (int d = 0; d < dims; ++d) {
      if (size[d] == 1) continue;
      const bool merges = kept > 0 && continues(kept - 1, d);
      const int64_t n = merges ? size[kept - 1] * size[d] : size[d];
      const int to = merges ? kept - 1 : kept++;
      size[to] = n;
      for (int k = 0; k < N; ++k) stride[k][to] = stride[k][d];
    }
    dims = kept;
  }

 private:
  bool continues(int outer, int inner) const {
    for (int k = 0; k < N; ++k)
      if (stride[k][outer] != stride[k][inner] * size[inner]) return false;
    return true;
  }
};

/// Strides of a (batch, heads, rows, head_size) view in elements; the innermost stride is 1.
struct View4 {
  int64_t batch, head, row;
};

/// Calls span(n, offsets) for runs along the innermost dimension that together cover elements [begin, end) of
/// the loop; operand k begins at offsets[k], and its stride is innermost_stride(loop, k).
template <int N, class Span>
void walk_range(const Loop<N>& loop, int64_t begin, int64_t end, Span&& span) {
  if (begin >= end) return;  // a size may be 0
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
int64_t innermost_stride(const Loop<N>& loop, int operand) {
  return loop.dims == 0 ? 1 : loop.stride[operand][loop.dims - 1];
}

/// out[i] = f(in[i]...), for operations without loops for each level.
template <class Out, class F, class... In>
void walk_each(const Loop<1 + static_cast<int>(sizeof...(In))>& loop, F f, Out* out, const In*... in) {
  constexpr int kN = 1 + static_cast<int>(sizeof...(In));
  int64_t stride[kN];
  bool packed = true;
  for (int k = 0; k < kN; ++k) {
    stride[k] = innermost_stride(loop, k);
    packed = packed && stride[k] == 1;
  }
  walk(loop, [&](int64_t n, const int64_t* offset) {
    [&]<size_t... kIn>(std::index_sequence<kIn...>) {
      Out* o = out + offset[0];
      if (packed) {
        for (int64_t i = 0; i < n; ++i) o[i] = f((in + offset[1 + kIn])[i]...);
      } else {
        for (int64_t i = 0; i < n; ++i) o[i * stride[0]] = f((in + offset[1 + kIn])[i * stride[1 + kIn]]...);
      }
    }
    (std::index_sequence_for<In...>());
  });
}

}  // namespace gradus::kernels
