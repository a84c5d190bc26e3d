// The loops of the operations of operations.def, and of SwiGLU.
#include <utility>

#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/gates.hpp"
#include "gradus/autograd/kernels/loops/math.hpp"

namespace gradus::kernels::GRADUS_ISA {

template <class T, class F>
void map(int64_t n, T* out, const T* x, F f) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = f(x[i]);
}

template <class T, Unary kOp>
T unary_value(T x) {
#define GRADUS_UNARY(name, ...)       \
  if constexpr (kOp == Unary::name) { \
    __VA_ARGS__                       \
  }
#include "gradus/autograd/kernels/elementwise/operations.def"
}

// Flattened, because a call in the loop would prevent vectorisation.
template <class T, Unary kOp>
[[gnu::flatten]] void unary_span(int64_t n, T* out, const T* x) {
  if constexpr (kOp == Unary::gelu_tanh || kOp == Unary::silu) {
    gate_span<T, kOp>(n, out, x);
  } else {
    map(n, out, x, [](T v) { return unary_value<T, kOp>(v); });
  }
}

template <class T, Binary kOp>
T binary_value(T a, T b) {
#define GRADUS_BINARY(name, ...)       \
  if constexpr (kOp == Binary::name) { \
    __VA_ARGS__                        \
  }
#include "gradus/autograd/kernels/elementwise/operations.def"
}

template <class T, Binary kOp, Operands kOperands>
void plain_span(int64_t n, T* out, const T* a, const T* b) {
  const T one = kOperands == Operands::a_single ? *a : *b;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (kOperands == Operands::both) out[i] = binary_value<T, kOp>(a[i], b[i]);
    if constexpr (kOperands == Operands::a_single) out[i] = binary_value<T, kOp>(one, b[i]);
    if constexpr (kOperands == Operands::b_single) out[i] = binary_value<T, kOp>(a[i], one);
  }
}

template <class T, Binary kOp, Operands kOperands>
[[gnu::flatten]] void binary_span(int64_t n, T* out, const T* a, const T* b) {
  if constexpr (kOp == Binary::gelu_tanh_grad) {
    gate_grad_span<T, Unary::gelu_tanh, kOperands>(n, out, a, b);
  } else if constexpr (kOp == Binary::silu_grad) {
    gate_grad_span<T, Unary::silu, kOperands>(n, out, a, b);
  } else {
    plain_span<T, kOp, kOperands>(n, out, a, b);
  }
}

template <class T, Binary kOp, int... kOperands>
constexpr void set_binary(ElementwiseLoops<T>& loops, std::integer_sequence<int, kOperands...>) {
  ((loops.binary[static_cast<int>(kOp)][kOperands] = binary_span<T, kOp, Operands{kOperands}>), ...);
}

template <class T, int... kUnary, int... kBinary>
constexpr ElementwiseLoops<T> elementwise_loops(std::integer_sequence<int, kUnary...>,
                                                std::integer_sequence<int, kBinary...>) {
  ElementwiseLoops<T> loops{};
  ((loops.unary[kUnary] = unary_span<T, Unary{kUnary}>), ...);
  (set_binary<T, Binary{kBinary}>(loops, EachOf<Operands>()), ...);
  return loops;
}

GRADUS_BUILD(ElementwiseLoops, elementwise_loops<T>(EachOf<Unary>(), EachOf<Binary>()));

template <class T>
[[gnu::flatten]] void swiglu(int64_t n, T* y, const T* gate, const T* up) {
  map_gate<T, Unary::silu>(
      n, gate, [=](int64_t i, T g, auto far) { y[i] = gate_value<T, Unary::silu, far.value>(g) * up[i]; });
}

template <class T>
[[gnu::flatten]] void swiglu_grad(int64_t n, T* ggate, T* gup, const T* gy, const T* gate, const T* up) {
  map_gate<T, Unary::silu>(n, gate, [=](int64_t i, T g, auto far) {
    gup[i] = gy[i] * gate_value<T, Unary::silu, far.value>(g);
    ggate[i] = gy[i] * up[i] * gate_slope<T, Unary::silu, far.value>(g);
  });
}

GRADUS_BUILD(SwigluLoops, swiglu<T>, swiglu_grad<T>);

}  // namespace gradus::kernels::GRADUS_ISA
