// The table from names of recorded operations to their definitions in this folder.
#pragma once

#include <string_view>
#include <vector>

#include "gradus/autograd/graph/trace.hpp"
#include "gradus/autograd/reference/array.hpp"
#include "gradus/autograd/reference/dual.hpp"

namespace gradus::reference {

inline Sizes sizes_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

/// The values of a tensor of any dtype; a bool is 0 or 1.
template <class T>
Array<T> array_of(const Tensor& x);

/// A call of an operation.
template <class T>
struct Call {
  std::vector<Array<T>> inputs;  ///< as record() got them; undefined where there is none
  const std::vector<autograd::Attribute>* attributes{};  ///< as with() got them
  Sizes shape;                                           ///< of the result

  // Input i; attribute i as a whole number, a number, sizes, numbers or indices. They throw if there is none.
  const Array<T>& x(size_t i) const { return inputs.at(i); }
  int64_t n(size_t i) const { return std::get<int64_t>(attributes->at(i)); }
  double r(size_t i) const { return std::get<double>(attributes->at(i)); }
  Sizes dims(size_t i) const { return sizes_of(std::get<Shape>(attributes->at(i))); }
  Array<double> numbers(size_t i) const { return array_of<double>(std::get<Tensor>(attributes->at(i))); }
  Whole index(size_t i) const { return array_of<int64_t>(std::get<Tensor>(attributes->at(i))); }
};

/// Computes the result of a call.
template <class T>
using Definition = Array<T> (*)(const Call<T>&);

/// The definition of a recorded operation, or of one of unfold, fold, conv2d and max_pool2d; null for another
/// name. Instantiated for double, Dual<double> and Dual<Dual<double>>.
template <class T>
Definition<T> find(std::string_view op);

}  // namespace gradus::reference
