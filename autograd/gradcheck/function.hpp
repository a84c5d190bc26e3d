// What gradcheck() checks: functions of several results, their elements in one row, and a function at the
// inputs at which it is checked. Internal.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::gradchecking {

/// Several results, because the gradient of a function of several inputs has several.
using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
using Numbers = std::vector<double>;

inline constexpr double kRough = 1e-2;  ///< relative, an error of float32 that leaves no digit
inline constexpr double kRounding = std::numeric_limits<double>::epsilon();

double dot(const Numbers& a, const Numbers& b);

/// All elements of float64 tensors, one tensor after the other.
Numbers flatten(const std::vector<Tensor>& tensors);
/// The inverse, given tensors of the wanted shapes.
std::vector<Tensor> unflatten(const Numbers& all, const std::vector<Tensor>& like);

/// Equal up to `tolerance` of a's largest, or of `least`, and NaN or infinite in the same places.
bool agree(const Numbers& a, const Numbers& b, double least = 1, double tolerance = 1e-10);

/// grad(), with zeros for an input that no output depends on.
std::vector<Tensor> gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& cotangents, bool create_graph);

/// (inputs..., cotangents...) -> gradients of f. Recorded if an argument requires a gradient; plain numbers
/// come from the fast path without create_graph, so that each path is compared with the other.
Function gradient_of(const Function& f, size_t input_count, const std::vector<size_t>& checked);

/// A function at inputs: f at order 1, its gradient at order 2, where the cotangents are the last inputs.
struct Subject {
  Subject(int order_, Function f_, const std::vector<Tensor>& inputs_, std::vector<size_t> checked_,
          double scale_);
  /// The same function at other inputs.
  Subject at(const std::vector<Tensor>& others) const { return {order, f, others, checked, scale}; }

  /// The gradients by the rules, for a cotangent of the outputs.
  std::vector<Tensor> analytic(const Numbers& cotangent) const;
  Numbers random_cotangent(Generator& generator) const;
  /// Estimates the rounding error of each element of the outputs, or of analytic(cotangent): the difference
  /// between float32 and float64, times 2^-29; at least 2^-52 of the intermediate results where no digit is
  /// left in float32. 0 if f does not compute in float32, and where the difference is too large for rounding.
  Numbers rounding() const;
  Numbers rounding(const Numbers& cotangent, bool create_graph = false) const;
  std::string name(size_t k) const { return concat("input ", checked[k]); }

  int order;
  Function f;
  double scale;                 ///< the largest magnitude of its intermediate results
  std::vector<size_t> checked;  ///< which inputs
  std::vector<Tensor> inputs;   ///< plain
  std::vector<Tensor> leaves;   ///< the inputs, of which the checked ones require gradients:
  std::vector<Tensor> wanted;   ///< these
  std::vector<Tensor> outputs;  ///< of f at the leaves

 private:
  Numbers changes_in_float32(const std::function<std::vector<Tensor>(const Subject&)>& of, size_t count,
                             double size, bool zeros_too) const;
};

}  // namespace gradus::gradchecking
