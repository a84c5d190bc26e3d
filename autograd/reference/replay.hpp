// Replay: computes traced calls again by the definitions of this folder, for numbers of any type.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "gradus/autograd/graph/trace.hpp"
#include "gradus/autograd/reference/table.hpp"

namespace gradus::reference {

/// The numbers of tensors. Two tensors of the same elements of one storage, as x and x.detach(), are one
/// here; so a user's operation is followed through its own forward pass. Tensors without numbers are
/// constants. Instantiated for double, Dual<double> and Dual<Dual<double>>. Tensors must stay alive.
template <class T>
class Replay {
 public:
  void set(const Tensor& x, Array<T> numbers);  ///< gives x these numbers
  bool has(const Tensor& x) const;              ///< whether x has any
  Array<T> get(const Tensor& x) const;          ///< its numbers, or its values as constants

  /// Computes the call and gives its result the numbers. Returns false if that needs more than the library:
  /// an operation of a user whose result was not made of library operations.
  bool run(const autograd::TracedCall& call);

 private:
  using Key = std::tuple<const void*, int64_t, Sizes, Sizes>;  // storage, offset, shape, strides
  static Key key_of(const Tensor& x);
  std::map<Key, Array<T>> numbers_;
};

}  // namespace gradus::reference
