// What `gradus gradcheck` checks beside the ops: a layer by name, and a trained run's model on its own text.
#pragma once

#include <string>
#include <vector>

#include "gradus/autograd/gradcheck.hpp"

namespace gradus::cli {

/// `spec`: the layer's name, then key=value for what is not to be as by default. Throws Error that lists the
/// names, or the keys, if one is not known, and for values that the layer refuses.
GradcheckReport check_layer(const std::vector<std::string>& spec, const GradcheckOptions& options);
/// The names of the layers.
std::vector<std::string> layer_names();
/// The names with their keys and defaults, a line each.
std::string layer_help();

/// The loss of the model in a run folder on the first tokens of the run's text, with respect to every
/// parameter. Throws Error if the folder or the text cannot be had.
GradcheckReport check_model(const std::string& folder, const GradcheckOptions& options);

}  // namespace gradus::cli
