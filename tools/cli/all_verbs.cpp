// The whole program.
#include "gradus/tools/cli/program/verbs.hpp"

namespace gradus::cli {

std::vector<AddVerb> verbs() {
  return {add_train,     add_sample,  add_eval,       add_predict, add_tokenizer, add_export,
          add_gradcheck, add_conform, add_lesson,     add_replay,  add_sweep,     add_plot,
          add_bench,     add_info,    add_completion, add_man};
}

}  // namespace gradus::cli
