// The table from names of recorded operations to their definitions in this folder.
#pragma once

#include <string_view>
#include <vector>

#include "gradus/autograd/graph/trace.hpp"
#include "gradus/autograd/reference/array.hpp"
#include "gradus/autograd/reference/dual.hpp"

namespace gradus::reference {

/// A call of an operation.
template <class T>
struct Call {
  std::vector<Array<T>> inputs;  ///< as record() got them; undefined where there is none
  const std::vector<autograd::Attribute>* attributes{};  ///< as with() got them
  Sizes shape;                                           ///< of the result
};

/// Computes the result of a call.
template <class T>
using Definition = Array<T> (*)(const Call<T>&);

/// The definition of a recorded operation, or of one of unfold, fold, conv2d and max_pool2d; null for another
/// name. Instantiated for double, Dual<double> and Dual<Dual<double>>.
template <class T>
Definition<T> find(std::string_view op);

/// The values of a tensor of any dtype; a bool is 0 or 1.
template <class T>
Array<T> array_of(const Tensor& x);

inline Sizes sizes_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

}  // namespace gradus::reference
