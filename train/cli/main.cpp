// The `gradus` program: parses the command line, runs a verb, turns errors into one line and an exit code.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "gradus/autograd/error.hpp"
#include "verbs.hpp"

namespace gradus::cli {
namespace {

int complain(std::string message, int code) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::cerr << "gradus: " << message << std::endl;
  return code;
}

/// Without the value that CLI11 shows behind a flag that switches off: --no-bias{false}.
class Formatter : public CLI::Formatter {
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    constexpr std::string_view value = "{false}";
    if (const size_t at = name.find(value); at != std::string::npos) name.erase(at, value.size());
    return name;
  }
};

std::string footer(const std::string& program) {
  return concat(
      "Examples:\n  ", program, " train                   the King James text, a few minutes\n  ", program,
      " train --text my.txt --out out/my\n  ", program, " sample out/my --prompt \"Once\"\n  ", program,
      " lesson                  notebooks on attention, step by step\n  ", program,
      " train --help            the flags of a verb\n\nExit codes: 0 done, 1 the run failed, ",
      "2 bad usage or input, 3 a check failed,\n130 or 143 stopped and saved on Ctrl-C or SIGTERM.");
}

int run(int argc, char** argv) {
  const std::string program = argc > 0 ? argv[0] : "gradus";
  CLI::App app("gradus trains a small GPT on a CPU, by an autograd framework written from scratch.", program);
  app.set_version_flag("--version", "gradus " GRADUS_VERSION);
  app.require_subcommand(1);
  app.formatter(std::make_shared<Formatter>());
  app.get_formatter()->column_width(34);
  app.footer(footer(program));

  std::vector<Verb> added;
  for (const AddVerb add : verbs()) added.push_back(add(app, program));
  const auto is_named = [&](const Verb& verb) { return verb.app->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && std::none_of(added.begin(), added.end(), is_named))
    return complain(concat("there must be a verb first, got '", argv[1], "'. Hint: ", program, " --help."),
                    kBadInput);
  try {
    app.parse(argc, argv);
    for (const Verb& verb : added)
      if (verb.app->parsed()) return verb.action();
    return kBadInput;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    const std::string what = e.what();
    return complain(concat(what, what.ends_with('.') ? "" : ".", " Hint: ", program, " --help."), kBadInput);
  } catch (const RunError& e) {
    return complain(e.what(), kRunFailed);
  } catch (const Error& e) {
    return complain(e.what(), kBadInput);
  } catch (const std::bad_alloc&) {
    return complain("[memory] there must be memory for this, got none left.", kRunFailed);
  } catch (const std::exception& e) {
    return complain(e.what(), kRunFailed);
  }
}

}  // namespace
}  // namespace gradus::cli

int main(int argc, char** argv) { return gradus::cli::run(argc, argv); }
