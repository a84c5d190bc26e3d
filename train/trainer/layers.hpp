// What a step does to each parameter, measured for those who look into a run. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/nn/module.hpp"

namespace gradus::train {

/// The norms of a parameter around a step.
struct ParameterNorms {
  std::string name;        ///< as in named_parameters()
  double norm = 0;         ///< after the step
  double grad_norm = 0;    ///< before clipping; NaN if another rank has the gradient
  double update_norm = 0;  ///< of the change of the parameter
};

/// Measurements of a step.
struct LayerReport {
  int64_t step = 0;                        ///< as in StepReport
  std::vector<ParameterNorms> parameters;  ///< those that are trained
  int64_t examples = 0;                    ///< of the step
  /// The examples of another, smaller batch and the norm of its gradient. With those of the step they give
  /// the gradient noise scale (McCandlish et al., arXiv 1812.06162, appendix A.1). 0: not measured.
  int64_t part_examples = 0;
  double part_grad_norm = 0;  ///< see part_examples
  double elapsed = 0;         ///< see StepReport
};

/// Measures an update of parameters.
class UpdateMeasurement {
 public:
  /// Call it between backward and the update: copies the parameters, which are shared, and reads their
  /// gradients.
  explicit UpdateMeasurement(const nn::NamedParameters& parameters);
  /// The norms; call it after the update.
  std::vector<ParameterNorms> norms() const;

 private:
  nn::NamedParameters parameters_;
  std::vector<Tensor> before_;
  std::vector<double> grad_norms_;
};

}  // namespace gradus::train
