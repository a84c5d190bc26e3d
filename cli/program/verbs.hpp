// The verbs of the program. verbs.def lists them; each has a file with a function add_NAME.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gradus::cli {

/// Exit codes; on a signal it is 128 + the signal's number after a save, else train::Interrupt::kUnsaved.
enum Exit { kDone = 0, kRunFailed = 1, kBadInput = 2, kCheckFailed = 3 };

struct Action {
  std::function<int()> run;  ///< returns the exit code; throws Error for bad input, RunError for a failed run
  bool checks_output = false;  ///< handles failed writes to the standard output itself
};

struct Verb {
  const char *name, *help;
  /// Adds the flags to the command line of the verb, and returns the action to run after parsing. `program`
  /// is the name by which the user calls the program, for hints that can be pasted.
  Action (*add)(CLI::App& verb, const std::string& program);
};

/// The verbs of the program that this is linked into, in the order of its help.
const std::vector<Verb>& verbs();

/// Where a verb is that this program was built without: the name of an annex, or "full"; else empty.
std::string missing_from(const std::string& verb);

#define GRADUS_VERB(where, name, help) Action add_##name(CLI::App& verb, const std::string& program);
#include "gradus/cli/program/verbs.def"
#undef GRADUS_VERB

}  // namespace gradus::cli
