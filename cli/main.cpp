// The `gradus` program: parses the command line, runs a verb, turns errors into one line and an exit code.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <new>
#include <thread>
#include <vector>

#include "gradus/cli/program/blas_start.hpp"
#include "gradus/cli/program/command_line.hpp"
#include "gradus/cli/program/completion.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/setting_flags.hpp"
#include "gradus/cli/program/shell.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/usage.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/foreign_formats.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/train/mpi/mpi.hpp"

namespace gradus::cli {
namespace {

int complain(std::string message, int code) {
  std::ranges::replace(message, '\n', ' ');
  const int rank = mpi::launched_rank();
  // Rank 0 reports an error of all ranks; its end then ends the others.
  if (rank > 0) std::this_thread::sleep_for(std::chrono::seconds(1));
  std::cerr << concat("gradus: ", rank > 0 ? concat("rank ", rank, ": ") : "", files::plain(message), "\n");
  return code;
}

/// Throws RunError unless all output has been written.
void check_output() {
  std::cout.flush();
  if (!std::cout) throw RunError("[output] the standard output must be writable, got an error.");
}

char** arguments_of_program = nullptr;

/// Becomes the whole program, which ./gradus builds if it is not there. The program is gradus-first if
/// GRADUS_LAUNCHER is set, to the path of ./gradus.
void become_whole() {
  const char* const launcher = std::getenv("GRADUS_LAUNCHER");
  if (!launcher) return;
  std::cout.flush();
  ::setenv("GRADUS_WHOLE", "1", 1);
  ::execv(launcher, arguments_of_program);
}

int parse_and_run(CLI::App& app, std::vector<std::string> arguments, const std::string& program) {
  const std::vector<AddedVerb> added = set_up(app, program);
  if (arguments == std::vector<std::string>{"--completion"}) {  // The build asks.
    std::cout << completion_script(app);
    check_output();
    return kDone;
  }
  arguments = with_help_as_flag(app, with_new_names(std::move(arguments)));
  check_verb_comes_first(app, arguments, program);
  try {
    app.parse(
        std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the end.
  } catch (const CLI::Success& wanted) {
    (void)app.exit(wanted);  // Prints the help or the version.
    check_output();
    return kDone;
  } catch (const CLI::ParseError& e) {
    throw Error(explain(e, app, arguments, program));
  }
  const AddedVerb* const verb = parsed_verb(added);
  check_paths(*verb->app);
  const int code = verb->action.run();
  if (!verb->action.checks_output) check_output();
  return code;
}

int run(int argc, char** argv) {
  const std::string program = argc > 0 ? shell_path(argv[0]) : "gradus";
  CLI::App app;
  const auto shown = [&](std::string_view name) {
    const std::vector<CLI::App*> verbs = app.get_subcommands();  // the parsed one
    return flag_of(name, verbs.empty() ? nullptr : verbs.front());
  };
  try {
    return parse_and_run(app, {argv + std::min(argc, 1), argv + argc}, program);
  } catch (const RunError& e) {
    return complain(e.message(shown), kRunFailed);
  } catch (const Error& e) {
    return complain(e.message(shown), kBadInput);
  } catch (const std::filesystem::filesystem_error& e) {
    return complain(concat("[file] ", e.path1(), " must be within reach, got '", e.code().message(), "'."),
                    kBadInput);
  } catch (const std::bad_alloc&) {
    return complain("[memory] there must be memory for this, got none left.", kRunFailed);
  } catch (const std::exception& e) {
    return complain(e.what(), kRunFailed);
  }
}

}  // namespace
}  // namespace gradus::cli

int main(int argc, char** argv) {
  // A stream that is closed fails; else its number would become that of a file of the run.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0) (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  if (!gradus::cli::begin_without_blas_threads(argv)) {
    gradus::cli::complain(
        "[memory] OPENBLAS_NUM_THREADS must be 1 where address space is limited, got another value. Hint: "
        "set it, or raise `ulimit -v`.",
        gradus::cli::kRunFailed);
    std::_Exit(gradus::cli::kRunFailed);  // exit() may wait forever (see there).
  }
  gradus::cli::arguments_of_program = argv;
  gradus::files::on_missing_format(gradus::cli::become_whole);
  ::signal(SIGCHLD, SIG_DFL);  // Ends of child processes are lost if a parent has had it ignored.
  ::signal(SIGXFSZ, SIG_IGN);  // A write beyond the limit of a file's size fails, as on a full disk.
  const gradus::cli::PlainTerminal terminal;
  return gradus::cli::run(argc, argv);
}
