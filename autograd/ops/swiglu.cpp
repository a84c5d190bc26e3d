#include "gradus/autograd/kernels/elementwise/swiglu.hpp"

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {

// The gradients in public ops, by silu' = s * (1 + gate * (1 - s)), s = sigmoid(gate).
std::vector<Tensor> swiglu_rule(const Tensor& gy, const Tensor& gate, const Tensor& up) {
  const Tensor s = sigmoid(gate);
  return {gy * up * (s * (1.0 + gate * (1.0 - s))), gy * silu(gate)};
}

void check_swiglu(const Tensor& gate, const Tensor& up) {
  check_floating("swiglu", gate);
  check_same_dtype("swiglu", gate, up);
  if (gate.shape() != up.shape())
    fail("swiglu", "gate and up must be of one shape, got ", gate.shape(), " and ", up.shape(), ".");
}

Tensor swiglu(const Tensor& gate, const Tensor& up) {
  check_swiglu(gate, up);
  Tensor out = empty(gate.shape(), gate.dtype());
  const Tensor gates = raw::contiguous(gate), ups = raw::contiguous(up);
  dispatch_float("swiglu", gate.dtype(), [&]<class T>() {
    kernels::swiglu(out.numel(), out.mutable_data<T>(), gates.data<T>(), ups.data<T>());
  });
  auto pull = [gate = Saved(gate), up = Saved(up)](const Tensor& gy, Needs) {
    if (grad_enabled()) return swiglu_rule(gy, gate, up);
    const Tensor g = raw::contiguous(gy), gs = raw::contiguous(gate), us = raw::contiguous(up);
    Tensor ggate = empty(gy.shape(), gy.dtype()), gup = empty(gy.shape(), gy.dtype());
    dispatch_float("swiglu", gy.dtype(), [&]<class T>() {
      kernels::swiglu_grad(g.numel(), ggate.mutable_data<T>(), gup.mutable_data<T>(), g.data<T>(),
                           gs.data<T>(), us.data<T>());
    });
    return std::vector<Tensor>{ggate, gup};
  };
  return record("swiglu", out, {gate, up}, std::move(pull));
}

}  // namespace gradus
