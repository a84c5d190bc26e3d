// Initial values of parameters, with PyTorch's names. The functions overwrite the values of a float tensor
// and are not recorded. With a torch generator they give PyTorch's values, bit for bit.
#pragma once

#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::nn {

/// During its lifetime, layers that this thread makes have parameters with names and shapes, but without
/// values and memory.
class NoInit {
 public:
  NoInit();
  ~NoInit();
  NoInit(const NoInit&) = delete;
  NoInit& operator=(const NoInit&) = delete;

 private:
  bool outer_;
};

/// A parameter without values, which one of the functions below sets. float32.
Tensor new_parameter(const Shape& shape);

/// Uniform on [low, high). Throws Error unless low <= high and high - low is finite.
void uniform_(Tensor& x, double low, double high, Generator& generator);
/// Normal with that mean and standard deviation. Throws Error unless std >= 0.
void normal_(Tensor& x, double mean, double std, Generator& generator);
void zeros_(Tensor& x);  ///< draws nothing
void ones_(Tensor& x);   ///< draws nothing
/// Uniform on +-sqrt(6 / ((1 + a^2) fan_in)): keeps the variance of activations through ReLUs of negative
/// slope a (He et al., arXiv 1502.01852, eq. 15). x: (out, in). Throws Error unless x has two dimensions.
void kaiming_uniform_(Tensor& x, Generator& generator, double a = 0.0);
/// Uniform on +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010, eq. 16). x: (out, in). Throws as
/// above.
void xavier_uniform_(Tensor& x, Generator& generator);

}  // namespace gradus::nn
