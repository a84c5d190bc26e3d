// The program that ./gradus builds first: training a model and what one does with it.
#include "gradus/tools/cli/program/verbs.hpp"

namespace gradus::cli {

std::vector<AddVerb> verbs() {
  return {add_train, add_sample, add_eval, add_predict, add_tokenizer, add_info};
}

}  // namespace gradus::cli
