// What an op lends to those that it is fused into: its check, and its gradients in public ops. Internal.
#pragma once

#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// Throws Error as swiglu() does.
void check_swiglu(const Tensor& gate, const Tensor& up);

/// gx of gelu(x), exact and in its tanh form.
Tensor gelu_rule(const Tensor& gy, const Tensor& x);
Tensor gelu_tanh_rule(const Tensor& gy, const Tensor& x);
/// Those of gate and up.
std::vector<Tensor> swiglu_rule(const Tensor& gy, const Tensor& gate, const Tensor& up);

}  // namespace gradus
