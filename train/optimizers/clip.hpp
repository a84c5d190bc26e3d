// Clipping by the global norm (Pascanu, Mikolov and Bengio, arXiv 1211.5063, algorithm 1). Thread-safety: no
// state.
#pragma once

#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::train {

/// The Euclidean norm of all gradients of `parameters` taken as one vector; those without a gradient count as
/// 0.
double grad_norm(const std::vector<Tensor>& parameters);

/// What to multiply gradients of that norm with so that it becomes at most max_norm: 1 if it is, or if
/// max_norm is 0 (no clipping). Handed to Optimizer::step, it costs no pass of its own.
double clip_scale(double norm, double max_norm);

}  // namespace gradus::train
