#include "gradus/cli/program/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>
#include <string_view>

#include "gradus/cli/program/flags.hpp"
#include "gradus/files/error.hpp"

namespace gradus::cli {
namespace {

/// A help with more flags than this shows the usual ones only, and --help-all the others.
constexpr size_t kMostFlags = 14;

/// Shows the usual flags of a verb with many, unless --help-all asks for all; and omits the value that CLI11
/// shows after a negated flag: --no-bias{false}.
class Formatter : public CLI::Formatter {
  std::string make_help(const CLI::App* verb, std::string name, CLI::AppFormatMode mode) const override {
    if (mode != CLI::AppFormatMode::Sub)
      shows_all_ = mode == CLI::AppFormatMode::All;  // Sub: of a verb inside
    has_many_ =
        verb->get_options([](const CLI::Option* option) { return !names_of(*option).empty(); }).size() >
        kMostFlags + 1;  // one is --help-all
    usual_ = usual_flags(*verb);
    return CLI::Formatter::make_help(verb, name, mode);
  }

  std::string make_group(std::string title, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    if (!is_positional && !shows_all_)
      std::erase_if(options, [&](const CLI::Option* option) {
        const std::string name = option->get_lnames().front();
        return name == "help-all" ? !has_many_ : has_many_ && name != "help" && !usual_.contains(option);
      });
    return options.empty() ? "" : CLI::Formatter::make_group(title, is_positional, options);
  }

  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    constexpr std::string_view value = "{false}";
    if (const size_t at = name.find(value); at != std::string::npos) name.erase(at, value.size());
    return name;
  }

  mutable bool shows_all_ = false, has_many_ = false;
  mutable std::set<const CLI::Option*> usual_;
};

}  // namespace

std::vector<AddedVerb> add_verbs(CLI::App& app, std::span<const Verb> verbs, const std::string& program) {
  std::vector<AddedVerb> added;
  for (const Verb& verb : verbs) {
    CLI::App* const sub = app.add_subcommand(verb.name, verb.help);
    added.push_back({sub, verb.add(*sub, program)});
  }
  return added;
}

const AddedVerb* parsed_verb(const std::vector<AddedVerb>& added) {
  const auto verb = std::ranges::find_if(added, [](const AddedVerb& v) { return v.app->parsed(); });
  return verb == added.end() ? nullptr : &*verb;
}

std::vector<AddedVerb> set_up(CLI::App& app, const std::string& program) {
  app.name(program);
  app.description(
      "gradus trains small language models on a CPU with an autograd framework written from scratch.");
  app.set_version_flag("--version", "gradus " GRADUS_VERSION, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_help_all_flag("--help-all", "Print the help of all flags and exit");
  app.require_subcommand(1);
  app.formatter(std::make_shared<Formatter>());
  app.get_formatter()->column_width(34);
  app.footer(with_program(R"(Examples:
  $ train                   the King James text, a few minutes
  $ train --text my.txt --out out/my
  $ sample out/my --prompt "Once"
  $ lesson                  notebooks on attention, step by step
  $ train --help            the flags of a verb

Exit codes: 0 done, 1 the run failed, 2 wrong usage or input, 3 a check failed,
4 stopped by a signal before it could save, 129, 130 or 143 saved and stopped
by SIGHUP (the terminal closed), Ctrl-C or SIGTERM.)",
                          program));
  return add_verbs(app, verbs(), program);
}

}  // namespace gradus::cli
