// Clipping by the global norm (Pascanu, Mikolov and Bengio, arXiv 1211.5063, algorithm 1). Thread-safe.
#pragma once

#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::train {

/// The Euclidean norm of tensors as one vector.
double norm(const std::vector<Tensor>& tensors);

/// The Euclidean norm of the gradients of `parameters` as one vector; undefined gradients count as 0.
double grad_norm(const std::vector<Tensor>& parameters);

/// The factor that reduces gradients of that norm to at most max_norm: 1 if they are smaller, or if max_norm
/// is 0 (no clipping). Optimizer::step applies it without another pass. Throws Error if max_norm is below 0
/// or the norm is not finite: no factor makes such gradients small.
double clip_scale(double norm, double max_norm);

}  // namespace gradus::train
