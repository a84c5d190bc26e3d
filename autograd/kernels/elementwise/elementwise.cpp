#include "gradus/autograd/kernels/elementwise/elementwise.hpp"

#include <algorithm>

#include "gradus/autograd/kernels/elementwise/loop.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/files/error.hpp"

namespace gradus::kernels {
namespace {

constexpr int64_t kGather = 256;  // strided elements that are packed at a time

/// Calls loop(n, out, in) on packed elements; strided operands are copied. Operand `single`, of stride 0,
/// stays one value.
template <class T, int N, class PackedLoop>
void walk_packed(const Loop<N>& loop, T* out, const T* const (&in)[N - 1], int single,
                 PackedLoop packed_loop) {
  int64_t stride[N];
  for (int k = 0; k < N; ++k) stride[k] = innermost_stride(loop, k);
  const auto is_ready = [&](int k) { return stride[k] == 1 || (k > 0 && k == single); };
  bool packed = true;
  for (int k = 0; k < N; ++k) packed = packed && is_ready(k);
  walk(loop, [&](int64_t n, const int64_t* offset) {
    const T* from[N - 1];
    for (int k = 1; k < N; ++k) from[k - 1] = in[k - 1] + offset[k];
    if (packed) return packed_loop(n, out + offset[0], from);
    T copies[N][kGather];
    for (int64_t i = 0; i < n; i += kGather) {
      const int64_t count = std::min(n - i, kGather);
      const T* ready[N - 1];
      for (int k = 1; k < N; ++k) {
        const T* const x = from[k - 1] + i * stride[k];
        if (!is_ready(k))
          for (int64_t j = 0; j < count; ++j) copies[k][j] = x[j * stride[k]];
        ready[k - 1] = is_ready(k) ? x : copies[k];
      }
      packed_loop(count, copies[0], ready);
      for (int64_t j = 0; j < count; ++j) out[offset[0] + (i + j) * stride[0]] = copies[0][j];
    }
  });
}

uint64_t whole_power(uint64_t base, uint64_t exponent) {
  uint64_t power = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) power *= base;
  return power;
}

int64_t integer_value(Binary op, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  if (op == Binary::add) return static_cast<int64_t>(x + y);
  if (op == Binary::sub) return static_cast<int64_t>(x - y);
  if (op == Binary::mul) return static_cast<int64_t>(x * y);
  if (op == Binary::pow) return static_cast<int64_t>(whole_power(x, y));
  if (op == Binary::maximum) return std::max(a, b);
  if (op == Binary::minimum) return std::min(a, b);
  fail("binary", "int64 has no such operation.");
}

Loop<2> loop_over(int64_t n) { return {.dims = 1, .size = {n}, .stride = {{1}, {1}}}; }

}  // namespace

template <class T>
void unary(Unary op, const Loop<2>& loop, T* out, const T* x) {
  const auto packed_loop = isa_loops<ElementwiseLoops<T>>().unary[static_cast<int>(op)];
  walk_packed<T, 2>(loop, out, {x}, 0,
                    [=](int64_t n, T* y, const T* const(&in)[1]) { packed_loop(n, y, in[0]); });
}

template <class T>
void binary(Binary op, const Loop<3>& loop, T* out, const T* a, const T* b) {
  const auto operands = innermost_stride(loop, 1) == 0   ? Operands::a_single
                        : innermost_stride(loop, 2) == 0 ? Operands::b_single
                                                         : Operands::both;
  const auto packed_loop =
      isa_loops<ElementwiseLoops<T>>().binary[static_cast<int>(op)][static_cast<int>(operands)];
  walk_packed<T, 3>(loop, out, {a, b}, static_cast<int>(operands),
                    [=](int64_t n, T* y, const T* const(&in)[2]) { packed_loop(n, y, in[0], in[1]); });
}

template <>
void binary(Binary op, const Loop<3>& loop, int64_t* out, const int64_t* a, const int64_t* b) {
  walk_each(
      loop, [op](int64_t x, int64_t y) { return integer_value(op, x, y); }, out, a, b);
}

void to_bfloat16(int64_t n, bfloat16* out, const float* x) { convert(loop_over(n), out, x); }
void from_bfloat16(int64_t n, float* out, const bfloat16* x) { convert(loop_over(n), out, x); }

#define GRADUS_INSTANTIATE(T)                               \
  template void unary(Unary, const Loop<2>&, T*, const T*); \
  template void binary(Binary, const Loop<3>&, T*, const T*, const T*)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kernels
