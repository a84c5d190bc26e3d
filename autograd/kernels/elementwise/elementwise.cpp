#include "gradus/autograd/kernels/elementwise/elementwise.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "gradus/autograd/kernels/elementwise/walk.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/files/error.hpp"

namespace gradus::kernels {
namespace {

constexpr int64_t kGather = 256;  // strided elements that are packed at a time

// Packs n elements a `step` apart into `scratch`, unless they are packed already.
template <class T>
const T* packed(int64_t n, const T* x, int64_t step, T* scratch) {
  if (step == 1) return x;
  for (int64_t i = 0; i < n; ++i) scratch[i] = x[i * step];
  return scratch;
}

template <class T>
void unpack(int64_t n, T* out, int64_t step, const T* scratch) {
  for (int64_t i = 0; i < n; ++i) out[i * step] = scratch[i];
}

uint64_t whole_power(uint64_t base, uint64_t exponent) {
  uint64_t power = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) power *= base;
  return power;
}

int64_t integer_value(Binary op, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case Binary::add:
      return static_cast<int64_t>(x + y);
    case Binary::sub:
      return static_cast<int64_t>(x - y);
    case Binary::mul:
      return static_cast<int64_t>(x * y);
    case Binary::pow:
      return static_cast<int64_t>(whole_power(x, y));
    case Binary::maximum:
      return std::max(a, b);
    case Binary::minimum:
      return std::min(a, b);
    default:
      fail("binary", "int64 has no such operation.");
  }
}

template <class S, class T>
T converted(S x) {
  if constexpr (std::is_same_v<T, bool>) {
    return x != S{0};
  } else if constexpr (std::is_same_v<T, int64_t> && std::is_floating_point_v<S>) {
    constexpr S kLimit = static_cast<S>(0x1p63);
    return x >= -kLimit && x < kLimit ? static_cast<int64_t>(x) : std::numeric_limits<int64_t>::min();
  } else {
    return static_cast<T>(x);
  }
}

}  // namespace

template <class T>
void unary(Unary op, const Loop<2>& loop, T* out, const T* x) {
  const auto span = isa_loops<ElementwiseLoops<T>>().unary[static_cast<int>(op)];
  const int64_t out_step = innermost_step(loop, 0), x_step = innermost_step(loop, 1);
  walk(loop, [&](int64_t n, const int64_t* offset) {
    if (out_step == 1 && x_step == 1) return span(n, out + offset[0], x + offset[1]);
    T in[kGather], result[kGather];
    for (int64_t i = 0; i < n; i += kGather) {
      const int64_t count = std::min(n - i, kGather);
      span(count, result, packed(count, x + offset[1] + i * x_step, x_step, in));
      unpack(count, out + offset[0] + i * out_step, out_step, result);
    }
  });
}

template <class T>
void binary(Binary op, const Loop<3>& loop, T* out, const T* a, const T* b) {
  const auto& spans = isa_loops<ElementwiseLoops<T>>().binary[static_cast<int>(op)];
  const int64_t out_step = innermost_step(loop, 0), a_step = innermost_step(loop, 1),
                b_step = innermost_step(loop, 2);
  const auto operands = a_step == 0 ? Operands::a_single : b_step == 0 ? Operands::b_single : Operands::both;
  const auto span = spans[static_cast<int>(operands)];
  const bool a_ready = a_step == 1 || operands == Operands::a_single;
  const bool b_ready = b_step == 1 || operands == Operands::b_single;
  walk(loop, [&](int64_t n, const int64_t* offset) {
    if (out_step == 1 && a_ready && b_ready) return span(n, out + offset[0], a + offset[1], b + offset[2]);
    T x[kGather], y[kGather], result[kGather];
    for (int64_t i = 0; i < n; i += kGather) {
      const int64_t count = std::min(n - i, kGather);
      const T *from_a = a + offset[1] + i * a_step, *from_b = b + offset[2] + i * b_step;
      span(count, result, operands == Operands::a_single ? from_a : packed(count, from_a, a_step, x),
           operands == Operands::b_single ? from_b : packed(count, from_b, b_step, y));
      unpack(count, out + offset[0] + i * out_step, out_step, result);
    }
  });
}

template <>
void binary(Binary op, const Loop<3>& loop, int64_t* out, const int64_t* a, const int64_t* b) {
  walk_each(
      loop, [op](int64_t x, int64_t y) { return integer_value(op, x, y); }, out, a, b);
}

template <class T>
void compare(Compare op, const Loop<3>& loop, bool* out, const T* a, const T* b) {
  const auto with = [&](auto f) { walk_each(loop, f, out, a, b); };
  switch (op) {
    case Compare::eq:
      return with(std::equal_to<T>());
    case Compare::ne:
      return with(std::not_equal_to<T>());
    case Compare::lt:
      return with(std::less<T>());
    case Compare::le:
      return with(std::less_equal<T>());
    case Compare::gt:
      return with(std::greater<T>());
    case Compare::ge:
      return with(std::greater_equal<T>());
  }
}

template <class T>
void where(const Loop<4>& loop, T* out, const bool* cond, const T* a, const T* b) {
  walk_each(
      loop, [](bool c, T x, T y) { return c ? x : y; }, out, cond, a, b);
}

template <class T>
void masked_fill(const Loop<3>& loop, T* out, const T* x, const bool* mask, T value) {
  walk_each(
      loop, [value](T v, bool m) { return m ? value : v; }, out, x, mask);
}

template <class T>
void clamp(const Loop<2>& loop, T* out, const T* x, T min, T max) {
  walk_each(
      loop,
      [=](T v) {
        const T raised = v < min ? min : v;
        return raised > max ? max : raised;
      },
      out, x);
}

template <class S, class T>
void convert(const Loop<2>& loop, T* out, const S* x) {
  walk_each(
      loop, [](S v) { return converted<S, T>(v); }, out, x);
}

#define GRADUS_INSTANTIATE(T)                                                \
  template void compare(Compare, const Loop<3>&, bool*, const T*, const T*); \
  template void where(const Loop<4>&, T*, const bool*, const T*, const T*);  \
  template void convert(const Loop<2>&, float*, const T*);                   \
  template void convert(const Loop<2>&, double*, const T*);                  \
  template void convert(const Loop<2>&, int64_t*, const T*);                 \
  template void convert(const Loop<2>&, bool*, const T*)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
GRADUS_INSTANTIATE(int64_t);
GRADUS_INSTANTIATE(bool);
#undef GRADUS_INSTANTIATE
#define GRADUS_INSTANTIATE(T)                                              \
  template void unary(Unary, const Loop<2>&, T*, const T*);                \
  template void binary(Binary, const Loop<3>&, T*, const T*, const T*);    \
  template void masked_fill(const Loop<3>&, T*, const T*, const bool*, T); \
  template void clamp(const Loop<2>&, T*, const T*, T, T)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kernels
