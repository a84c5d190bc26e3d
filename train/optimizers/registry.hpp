// The optimizers that `--optimizer` of the program can name: one row each.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "gradus/train/optimizers/optimizer.hpp"

namespace gradus::train {

/// The settings of a run for optimizers; each optimizer uses those that it has.
struct OptimizerSettings {
  double beta1 = 0.9, beta2 = 0.99;  ///< see AdamWOptions and LionOptions; beta2 is RMSprop's alpha
  double momentum = 0.95;            ///< see MuonOptions
  double weight_decay = 0.1;         ///< of all parameters except vectors
  ParameterGroups groups = {};       ///< for some parameters
};

/// The memory of an optimizer, in bytes.
struct OptimizerMemory {
  double kept = 0;     ///< the buffers
  double working = 0;  ///< temporary memory of an update, on all threads
};

/// One row.
struct OptimizerKind {
  const char* name;   ///< as in train.json
  double usual_rate;  ///< default learning rate
  /// Throws Error as its constructor does.
  std::unique_ptr<Optimizer> (*make)(NamedParameters parameters, const OptimizerSettings& settings);
  /// For float32 parameters, with matrix products in float32 or bfloat16. Reads shapes and roles only.
  OptimizerMemory (*memory)(const NamedParameters& parameters, DType products);
};

/// All rows.
const std::vector<OptimizerKind>& optimizers();
/// The row of that name. Throws Error, naming all, if there is none.
const OptimizerKind& optimizer_kind(std::string_view name);

}  // namespace gradus::train
