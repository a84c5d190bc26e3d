// Initial values of parameters, with PyTorch's names. The functions overwrite the values of a float tensor
// and are not recorded. With a torch generator they give PyTorch's values, bit for bit; trunc_normal_ and
// orthogonal_ differ in the last digits.
#pragma once

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::nn {

/// During its lifetime, layers that this thread makes have parameters with names and shapes, but without
/// values and memory.
class NoInit {
 public:
  [[nodiscard]] NoInit();

 private:
  autograd::Scoped<bool> mode_;
};

/// A parameter without values, which one of the functions below sets. float32.
Tensor new_parameter(const Shape& shape);
/// A parameter that requires gradients, whose values initialise(parameter) sets.
Tensor new_parameter(const Shape& shape, const auto& initialise) {
  Tensor x = new_parameter(shape);
  initialise(x);
  return x.requires_grad_();
}

/// Uniform on [low, high). Throws Error unless low <= high and high - low is finite.
void uniform_(Tensor& x, double low, double high, Generator& generator);
/// Normal with that mean and standard deviation. Throws Error unless std >= 0.
void normal_(Tensor& x, double mean, double std, Generator& generator);
void constant_(Tensor& x, double value);              ///< all elements are `value`; draws nothing
inline void zeros_(Tensor& x) { constant_(x, 0.0); }  ///< draws nothing
inline void ones_(Tensor& x) { constant_(x, 1.0); }   ///< draws nothing
void eye_(Tensor& x);  ///< 1 on the diagonal, else 0. Throws Error unless x has two dimensions.

/// The nonlinearity after a layer.
enum class Nonlinearity { linear, sigmoid, tanh, relu, leaky_relu, selu };
/// The factor by which weights must be larger so that activations keep their variance: 1 for linear and
/// sigmoid, 5/3 for tanh, sqrt(2) for relu, sqrt(2 / (1 + slope^2)) for leaky_relu, 3/4 for selu.
double calculate_gain(Nonlinearity nonlinearity, double negative_slope = 0.01);

/// Whether activations in a forward call (in) or gradients in backward (out) keep their variance.
enum class Fan { in, out };

// A weight has the shape (out, in), or, for a convolution, (out, in, k1, ...), with the fans in * k1 * ...
// and out * k1 * ... The next four functions throw Error for fewer than two dimensions.

/// Uniform on +-gain * sqrt(3 / fan) (He et al., arXiv 1502.01852, eq. 10 and 15); a is the negative slope of
/// leaky_relu.
void kaiming_uniform_(Tensor& x, Generator& generator, double a = 0.0, Fan mode = Fan::in,
                      Nonlinearity nonlinearity = Nonlinearity::leaky_relu);
/// Normal with standard deviation gain / sqrt(fan).
void kaiming_normal_(Tensor& x, Generator& generator, double a = 0.0, Fan mode = Fan::in,
                     Nonlinearity nonlinearity = Nonlinearity::leaky_relu);
/// Uniform on +-gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010, eq. 16).
void xavier_uniform_(Tensor& x, Generator& generator, double gain = 1.0);
/// Normal with standard deviation gain * sqrt(2 / (fan_in + fan_out)).
void xavier_normal_(Tensor& x, Generator& generator, double gain = 1.0);

/// Normal, without the values outside [low, high]. Throws Error unless std > 0 and low < high.
void trunc_normal_(Tensor& x, Generator& generator, double mean = 0.0, double std = 1.0, double low = -2.0,
                   double high = 2.0);
/// gain times a matrix (out, in k1 ...) whose rows, or columns if they are fewer, are orthonormal (Saxe et
/// al., arXiv 1312.6120). Throws Error for fewer than two dimensions.
void orthogonal_(Tensor& x, Generator& generator, double gain = 1.0);

}  // namespace gradus::nn
