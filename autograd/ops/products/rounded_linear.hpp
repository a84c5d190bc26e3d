// Linear layers under Autocast. Internal: the arguments are checked float32 ones, none of them empty.
#pragma once

#include "gradus/autograd/ops/ops.hpp"

namespace gradus {

/// As linear(), gelu_linear() and swiglu_linear().
Tensor rounded_linear(const Tensor& x, const Tensor& weight, const Tensor& bias);
Tensor rounded_gelu_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Gelu approximate);
Tensor rounded_swiglu_linear(const Tensor& gate, const Tensor& up, const Tensor& weight, const Tensor& bias);

}  // namespace gradus
