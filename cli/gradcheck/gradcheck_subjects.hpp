// The checks of `gradus gradcheck` other than those of operations: a trained model on the text of its run,
// and the operation of another program.
#pragma once

#include <string>

#include "gradus/autograd/gradcheck/gradcheck.hpp"

namespace gradus::cli {

/// The loss of the model in a run folder on the first tokens of the run's text, with respect to all
/// parameters. Throws Error if the folder or the text cannot be read.
GradcheckReport check_model(const std::string& folder, const GradcheckOptions& options);

/// A checked operation of another program.
struct RemoteReport {
  std::string name;        ///< as the command gives it
  int order;               ///< the smaller one of options.order and what the command offers
  GradcheckReport report;  ///< of this order
};
/// Throws RunError if the command ends, takes longer for an answer, or gives one of another form.
RemoteReport check_command(const std::string& command, int64_t timeout_seconds, GradcheckOptions options);

}  // namespace gradus::cli
