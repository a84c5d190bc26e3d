// Functions of tensors, the options of their derivatives, and products with these.
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

}  // namespace gradus
