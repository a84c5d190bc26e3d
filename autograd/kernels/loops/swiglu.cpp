// silu(gate) * up: the gate of gates.hpp with a factor.
#include "gradus/autograd/kernels/elementwise/swiglu.hpp"

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/gates.hpp"

namespace gradus::kernels::GRADUS_ISA {

// Flattened, as a call left in the loop would keep it from being vectorised.
template <class T>
[[gnu::flatten]] void swiglu(int64_t n, T* y, const T* gate, const T* up) {
  map_gate<T, Unary::silu>(
      n, gate, [=](int64_t i, T g) { y[i] = gate_value<T, Unary::silu>(g) * up[i]; },
      [=](int64_t i, T g) { y[i] = gate_value_anywhere<T, Unary::silu>(g) * up[i]; });
}

template <class T>
[[gnu::flatten]] void swiglu_grad(int64_t n, T* ggate, T* gup, const T* gy, const T* gate, const T* up) {
  map_gate<T, Unary::silu>(
      n, gate,
      [=](int64_t i, T g) {
        gup[i] = gy[i] * gate_value<T, Unary::silu>(g);
        ggate[i] = gy[i] * up[i] * gate_slope<T, Unary::silu>(g);
      },
      [=](int64_t i, T g) {
        gup[i] = gy[i] * gate_value_anywhere<T, Unary::silu>(g);
        ggate[i] = gy[i] * up[i] * gate_slope_anywhere<T, Unary::silu>(g);
      });
}

GRADUS_BUILD(SwigluLoops, swiglu<T>, swiglu_grad<T>);

}  // namespace gradus::kernels::GRADUS_ISA
