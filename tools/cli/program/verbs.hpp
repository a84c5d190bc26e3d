// The verbs of the program, one a file: each adds its flags to the command line and says what to do once they
// are parsed.
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

struct Verb {
  CLI::App* app;  ///< owned by the program's
  std::function<int()>
      action;  ///< returns the exit code; throws Error for bad input, RunError for a failed run
  bool checks_output = false;  ///< decides itself what it means if the standard output does not arrive
};

using AddVerb = Verb (*)(CLI::App& app, const std::string& program);

/// The verbs of the program that this is linked into, in the order of its help.
std::vector<AddVerb> verbs();

// `program` is how the user calls it, for hints that can be typed as they are.
Verb add_train(CLI::App& app, const std::string& program);
Verb add_sample(CLI::App& app, const std::string& program);
Verb add_eval(CLI::App& app, const std::string& program);
Verb add_predict(CLI::App& app, const std::string& program);
Verb add_tokenizer(CLI::App& app, const std::string& program);
Verb add_export(CLI::App& app, const std::string& program);
Verb add_gradcheck(CLI::App& app, const std::string& program);
Verb add_conform(CLI::App& app, const std::string& program);
Verb add_lesson(CLI::App& app, const std::string& program);
Verb add_replay(CLI::App& app, const std::string& program);
Verb add_sweep(CLI::App& app, const std::string& program);
Verb add_plot(CLI::App& app, const std::string& program);
Verb add_bench(CLI::App& app, const std::string& program);
Verb add_info(CLI::App& app, const std::string& program);
Verb add_completion(CLI::App& app, const std::string& program);
Verb add_man(CLI::App& app, const std::string& program);

}  // namespace gradus::cli
