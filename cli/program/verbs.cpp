// verbs(): the rows of verbs.def. Each program compiles this file: gradus-first with GRADUS_FIRST defined.
#include "gradus/cli/program/verbs.hpp"

#include <algorithm>
#include <map>

namespace gradus::cli {

#define GRADUS_VERB_first(name, help) {#name, help, add_##name},
#ifdef GRADUS_FIRST
#define GRADUS_VERB_full(name, help)
#else
#define GRADUS_VERB_full GRADUS_VERB_first
#endif
// CMake defines GRADUS_VERB_<annex> as GRADUS_VERB_full for each annex of the build.
#ifndef GRADUS_VERB_pages
#define GRADUS_VERB_pages(name, help)
#endif
#ifndef GRADUS_VERB_formats
#define GRADUS_VERB_formats(name, help)
#endif
#ifndef GRADUS_VERB_teach
#define GRADUS_VERB_teach(name, help)
#endif
#ifndef GRADUS_VERB_new
#define GRADUS_VERB_new(name, help)
#endif
#ifndef GRADUS_VERB_bench
#define GRADUS_VERB_bench(name, help)
#endif
#ifndef GRADUS_VERB_sweep
#define GRADUS_VERB_sweep(name, help)
#endif
#ifndef GRADUS_VERB_cases
#define GRADUS_VERB_cases(name, help)
#endif
#define GRADUS_VERB(where, name, help) GRADUS_VERB_##where(name, help)

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all = {
#include "gradus/cli/program/verbs.def"
  };
  return all;
}

#undef GRADUS_VERB
#define GRADUS_VERB(where, name, help) {#name, #where},

std::string missing_from(const std::string& verb) {
  static const std::map<std::string, std::string> places = {
#include "gradus/cli/program/verbs.def"
  };
  const auto place = places.find(verb);
  const bool is_here =
      std::any_of(verbs().begin(), verbs().end(), [&](const Verb& one) { return one.name == verb; });
  return place == places.end() || is_here ? "" : place->second;
}

}  // namespace gradus::cli
