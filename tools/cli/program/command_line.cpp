#include "gradus/tools/cli/program/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string_view>

#include "gradus/files/error.hpp"

namespace gradus::cli {
namespace {

/// Omits the value that CLI11 shows after a negated flag: --no-bias{false}.
class Formatter : public CLI::Formatter {
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    constexpr std::string_view value = "{false}";
    if (const size_t at = name.find(value); at != std::string::npos) name.erase(at, value.size());
    return name;
  }
};

}  // namespace

std::string program_examples(const std::string& program) {
  return concat("  ", program, " train                   the King James text, a few minutes\n  ", program,
                " train --text my.txt --out out/my\n  ", program, " sample out/my --prompt \"Once\"\n  ",
                program, " lesson                  notebooks on attention, step by step\n  ", program,
                " train --help            the flags of a verb");
}

std::string exit_codes() {
  return "0 done, 1 the run failed, 2 wrong usage or input, 3 a check failed,\n"
         "4 stopped by a signal before it could save, 129, 130 or 143 saved and stopped\n"
         "by SIGHUP (the terminal closed), Ctrl-C or SIGTERM.";
}

std::vector<AddedVerb> add_verbs(CLI::App& app, std::span<const Verb> verbs, const std::string& program) {
  std::vector<AddedVerb> added;
  for (const Verb& verb : verbs) {
    CLI::App* const sub = app.add_subcommand(verb.name, verb.help);
    added.push_back({sub, verb.add(*sub, program)});
  }
  return added;
}

const AddedVerb* parsed_verb(const std::vector<AddedVerb>& added) {
  const auto verb =
      std::find_if(added.begin(), added.end(), [](const AddedVerb& v) { return v.app->parsed(); });
  return verb == added.end() ? nullptr : &*verb;
}

std::vector<AddedVerb> set_up(CLI::App& app, const std::string& program) {
  app.name(program);
  app.description(
      "gradus trains small language models on a CPU with an autograd framework written from scratch.");
  app.set_version_flag("--version", "gradus " GRADUS_VERSION, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.require_subcommand(1);
  app.formatter(std::make_shared<Formatter>());
  app.get_formatter()->column_width(34);
  app.footer(concat("Examples:\n", program_examples(program), "\n\nExit codes: ", exit_codes()));
  return add_verbs(app, verbs(), program);
}

}  // namespace gradus::cli
