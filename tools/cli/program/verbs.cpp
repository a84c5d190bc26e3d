// verbs(): the rows of verbs.def. Each program compiles this file: gradus-core with GRADUS_CORE defined.
#include "gradus/tools/cli/program/verbs.hpp"

namespace gradus::cli {

#define GRADUS_VERB_core(name, help) {#name, help, add_##name},
#ifdef GRADUS_CORE
#define GRADUS_VERB_full(name, help)
#else
#define GRADUS_VERB_full GRADUS_VERB_core
#endif
#define GRADUS_VERB(program, name, help) GRADUS_VERB_##program(name, help)

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all = {
#include "gradus/tools/cli/program/verbs.def"
  };
  return all;
}

}  // namespace gradus::cli
