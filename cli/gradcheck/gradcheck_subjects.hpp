// The check of a trained model on the text of its run, for `gradus gradcheck`.
#pragma once

#include <string>

#include "gradus/autograd/gradcheck/gradcheck.hpp"

namespace gradus::cli {

/// The loss of the model in a run folder on the first tokens of the run's text, with respect to all
/// parameters. Throws Error if the folder or the text cannot be read.
GradcheckReport check_model(const std::string& folder, const GradcheckOptions& options);

}  // namespace gradus::cli
