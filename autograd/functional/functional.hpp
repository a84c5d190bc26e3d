// Derivatives of functions, and products with them, with the names and shapes of torch.autograd.functional.
//
// Each of them takes a function of one tensor, or of a list of tensors, calls it once and records it, in any
// GradMode. Other tensors get no gradient, and no `.grad()` changes. Results are outside the graph unless
// create_graph is set; then they depend on the given inputs, to any order. An output that does not depend on
// an input has derivative 0. All throw Error if an input is not floating, or if a vector does not have the
// expected shape and dtype. Thread-safety: that of the function.
#pragma once

#include <functional>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// Options of a derivative.
struct DerivativeOptions {
  bool create_graph = false;  ///< results can be differentiated again
  bool strict = false;        ///< throws Error for an output that does not depend on an input
};

using TensorFunction = std::function<Tensor(const Tensor&)>;  ///< a function of one tensor
/// A function of several tensors with one result.
using ScalarFunction = std::function<Tensor(const std::vector<Tensor>&)>;
/// A function of several tensors with several results.
using ListFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// d f(x)_i / d x_j: the shape of f(x), followed by that of x. One backward pass for each element of f(x),
/// or, where x has far fewer, forward mode for each element of x: see jvp().
Tensor jacobian(const TensorFunction& f, const Tensor& x, const DerivativeOptions& options = {});
/// Element [output][input] is the derivative of that output with respect to that input, as above.
std::vector<std::vector<Tensor>> jacobian(const ListFunction& f, const std::vector<Tensor>& inputs,
                                          const DerivativeOptions& options = {});

/// d^2 f(x) / d x_i d x_j of a function with one value: the shape of x twice.
Tensor hessian(const TensorFunction& f, const Tensor& x, const DerivativeOptions& options = {});
/// [input][input], each the shape of the first followed by that of the second.
std::vector<std::vector<Tensor>> hessian(const ScalarFunction& f, const std::vector<Tensor>& inputs,
                                         const DerivativeOptions& options = {});

/// The gradient of each example's loss: losses(batch) gives one loss for each of B examples, which all
/// tensors of the batch have in their first dimension; the result for a parameter has the shape (B, *its
/// shape). One backward pass; where parameters meet the examples, each example gets a copy of stride 0.
/// Parameters of Linear, Embedding, norms and attention, and in sums, products and matmul. Throws Error for
/// others, and if the examples leave the first dimension. Examples must not depend on each other.
std::vector<Tensor> per_example_gradients(const ScalarFunction& losses, const std::vector<Tensor>& parameters,
                                          const std::vector<Tensor>& batch);

namespace autograd {
/// The result of a function, and the product of its derivative with a vector.
struct Product {
  Tensor output, product;  ///< f(x), and the product
};
/// The same for functions of several tensors.
struct Products {
  std::vector<Tensor> outputs, products;  ///< f(inputs), and the products
};
}  // namespace autograd

/// v^T J: v of f's shape (undefined means 1 if f has one value) -> x's shape. One backward pass.
autograd::Product vjp(const TensorFunction& f, const Tensor& x, const Tensor& v = {},
                      const DerivativeOptions& options = {});
/// The sum over outputs: one v for each output -> one product for each input.
autograd::Products vjp(const ListFunction& f, const std::vector<Tensor>& inputs,
                       const std::vector<Tensor>& v = {}, const DerivativeOptions& options = {});

/// J v: v of x's shape -> f's shape. Forward mode in float64, by dual numbers in the definitions of
/// operations (autograd/reference/): no rule is used. At kinks and for random numbers, the result agrees with
/// the rules: tied maxima share the tangent, relu'(0) = abs'(0) = 0, and draws are constants. If options are
/// set, for operations of users and after checkpoint(), jvp makes two backward passes instead (v^T J is
/// linear in its v, with the factor J).
autograd::Product jvp(const TensorFunction& f, const Tensor& x, const Tensor& v,
                      const DerivativeOptions& options = {});
/// The sum over inputs: one v for each input -> one product for each output.
autograd::Products jvp(const ListFunction& f, const std::vector<Tensor>& inputs, const std::vector<Tensor>& v,
                       const DerivativeOptions& options = {});

/// H v for the Hessian H of a function with one value: v of x's shape -> x's shape. Two backward passes; H
/// itself is never computed (Pearlmutter, "Fast exact multiplication by the Hessian", 1994).
autograd::Product hvp(const TensorFunction& f, const Tensor& x, const Tensor& v,
                      const DerivativeOptions& options = {});
autograd::Products hvp(const ScalarFunction& f, const std::vector<Tensor>& inputs,
                       const std::vector<Tensor>& v, const DerivativeOptions& options = {});

}  // namespace gradus
