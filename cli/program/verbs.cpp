// verbs(): the rows of verbs.def. Each program compiles this file.
#include "gradus/cli/program/verbs.hpp"

#include <algorithm>
#include <map>

namespace gradus::cli {

// CMake defines GRADUS_VERB_full, and GRADUS_VERB_<annex> for each annex, as one of these.
#define GRADUS_VERB_first(name, help) {#name, help, add_##name},
#define GRADUS_VERB_none(name, help)
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
  const bool is_here = std::ranges::any_of(verbs(), [&](const Verb& one) { return one.name == verb; });
  return place == places.end() || is_here ? "" : place->second;
}

}  // namespace gradus::cli
