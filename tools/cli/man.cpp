// gradus man: the manual page.
#include <iostream>

#include "gradus/files/error.hpp"
#include "gradus/tools/cli/program/command_line.hpp"
#include "gradus/tools/cli/program/flags.hpp"
#include "gradus/tools/cli/program/syntax.hpp"
#include "gradus/tools/cli/program/verbs.hpp"

namespace gradus::cli {
namespace {

/// `text` with escapes, so that roff prints it unchanged.
std::string roff(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool begins_line = i == 0 || text[i - 1] == '\n';
    if (begins_line && (text[i] == '.' || text[i] == '\'')) result += "\\&";
    result += text[i] == '\\'   ? "\\e"
              : text[i] == '-'  ? "\\-"
              : text[i] == '\'' ? "\\(aq"
                                : std::string(1, text[i]);
  }
  return result;
}

std::string bold(const std::string& text) { return concat("\\fB", roff(text), "\\fR"); }
std::string italic(const std::string& text) { return concat("\\fI", roff(text), "\\fR"); }

std::string as_it_is(const std::string& text) { return concat(".PP\n.nf\n", roff(text), "\n.fi\n"); }

std::string usage(const Syntax& verb) {
  std::string text = concat("gradus ", verb.name, " [FLAGS]");
  for (const Flag& argument : verb.arguments)
    text += concat(argument.required ? " " : " [", argument.unit, argument.many ? "..." : "",
                   argument.required ? "" : "]");
  return text;
}

std::string entry(const Flag& flag, bool is_argument) {
  std::string notes;
  std::string head = is_argument ? bold(flag.unit) : joined(flag.names, ", ", bold);
  if (!is_argument && flag.takes_value()) head += " " + italic(flag.unit) + (flag.many ? " ..." : "");
  const auto note = [&](const std::string& text) { notes += concat(notes.empty() ? "\n(" : "; ", text); };
  if (flag.required) note("required");
  if (!flag.value.empty()) note("default: " + roff(flag.value));
  if (!flag.choices.empty() && flag.choices.size() < 20) note("known: " + roff(joined(flag.choices, ", ")));
  return concat(".TP\n", head, "\n", roff(flag.help), notes, notes.empty() ? "" : ")", "\n");
}

std::string section(const Syntax& verb) {
  std::string text = concat(".SS ", roff(usage(verb)), "\n", roff(verb.help), ".\n");
  for (const Flag& argument : verb.arguments) text += entry(argument, true);
  for (const Flag& flag : verb.flags)
    if (flag.names.back() != "--help") text += entry(flag, false);
  return text + as_it_is(verb.footer);
}

constexpr const char* kEnvironment = R"(.TP
.B GRADUS_CACHE
The folder of prepared texts; by default, gradus in
.BR XDG_CACHE_HOME ,
or .cache/gradus in the home folder if that is not set.
.TP
.B NO_COLOR
If it is not empty, nothing is coloured.
.TP
.B OPENBLAS_CORETYPE
The kernels of OpenBLAS; by default, those for the processor.
.TP
.B GRADUS_LEVEL
The instruction-set level of x86-64, v2, v3 or v4; by default, the highest that the processor supports.
)";

std::string page(const Syntax& program) {
  std::string text = concat(
      ".TH GRADUS 1 \"\" \"gradus ", GRADUS_VERSION,
      "\" \"User Commands\"\n.SH NAME\ngradus \\- train small language models on a CPU\n.SH SYNOPSIS\n",
      bold("gradus"), " ", italic("VERB"), " [FLAGS]\n.SH DESCRIPTION\n", roff(program.help), "\n");
  for (const Flag& flag : program.flags) text += entry(flag, false);
  text += ".SH VERBS\n";
  for (const Syntax* verb : leaves(program)) text += section(*verb);
  return concat(text, ".SH EXIT STATUS\n", roff(exit_codes()), "\n.SH ENVIRONMENT\n", kEnvironment,
                ".SH EXAMPLES\n.nf\n", roff(program_examples("gradus")), "\n.fi\n");
}

}  // namespace

Action add_man(CLI::App& verb, const std::string& program) {
  verb.footer(
      with_program("The packages install this page: man gradus.\n\nExamples:\n  $ man | man -l -", program));
  return {[] {
    CLI::App described;
    set_up(described, "gradus");
    std::cout << page(syntax_of(described)) << std::flush;
    return kDone;
  }};
}

}  // namespace gradus::cli
