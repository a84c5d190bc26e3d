// gradus completion: a script by which a shell completes what somebody types.
#include <iostream>
#include <memory>

#include "gradus/files/error.hpp"
#include "gradus/tools/cli/completion/completion_scripts.hpp"
#include "gradus/tools/cli/program/command_line.hpp"
#include "gradus/tools/cli/program/flags.hpp"
#include "gradus/tools/cli/program/nearest.hpp"
#include "gradus/tools/cli/program/verbs.hpp"

namespace gradus::cli {
namespace {

const std::vector<std::string> kShells = {"bash", "zsh"};

int completion(const std::string& shell) {
  check_choice("completion", "the shell", shell, kShells);
  CLI::App app;
  set_up(app, "gradus");
  const Syntax program = syntax_of(app);
  std::cout << (shell == "bash" ? bash_completion(program) : zsh_completion(program)) << std::flush;
  return kDone;
}

}  // namespace

Action add_completion(CLI::App& verb, const std::string& program) {
  auto shell = std::make_shared<std::string>();
  choices(add_argument(verb, "shell", *shell, "SHELL", "bash or zsh"), [] { return kShells; });
  verb.footer(with_program(R"(The packages install both scripts. For the current shell only:

Examples:
  source <($ completion bash)
  source <($ completion zsh))",
                           program));
  return {[shell] { return completion(*shell); }};
}

}  // namespace gradus::cli
