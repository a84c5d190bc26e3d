// Verbs that a script in Python does: the program checks the flags, and becomes Python.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/cli/program/process.hpp"
#include "gradus/cli/program/shell.hpp"
#include "gradus/files/error.hpp"

namespace gradus::cli {

/// The text between the first """ of a script, which is the footer of its help.
inline std::string help_of(std::string_view script) {
  const size_t begin = script.find("\"\"\"") + 3;
  return std::string(script.substr(begin, script.find("\"\"\"", begin) - begin));
}

/// Becomes Python 3, which runs the script. Its arguments are the verb, this program and the words; its
/// standard input is `input`. Throws Error if there is no Python.
[[noreturn]] inline void become_python(const std::string& verb, const std::string& script,
                                       std::string_view input, const std::vector<std::string>& words) {
  const int file = ::memfd_create("input", 0);  // which may itself be 0
  if (::write(file, input.data(), input.size()) != static_cast<ssize_t>(input.size()) ||
      ::lseek(file, 0, SEEK_SET) != 0 || ::dup2(file, STDIN_FILENO) < 0)
    throw RunError("[", verb, "] the system must grant memory for the input of Python, got none.");
  std::vector<std::string> command{"python3", "-ISBXutf8", "-c", script, verb, this_program()};
  command.insert(command.end(), words.begin(), words.end());
  become(command);
  fail(verb, "Python 3 must be installed, got no python3 that runs. Hint: apt-get install python3.");
}

/// The options of a verb that are given, as words: --name=value, --name for a flag, then the arguments behind
/// --.
inline std::vector<std::string> words_of(const CLI::App& verb) {
  std::vector<std::string> words, arguments{"--"};
  for (const CLI::Option* option : verb.get_options()) {
    const std::string name = "--" + (option->get_positional() ? "" : option->get_lnames().front());
    for (const std::string& value : option->results())
      if (option->get_positional())
        arguments.push_back(value);
      else if (const bool is_flag = option->get_items_expected_max() == 0; !is_flag || option->as<bool>())
        words.push_back(is_flag ? name : concat(name, "=", value));
  }
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

/// Becomes Python 3, which runs the verb as main(words) of the module gradus.VERB. Throws Error if there is
/// no Python; without the package, Python says what to install.
[[noreturn]] inline void become_module(const std::string& verb, const std::vector<std::string>& words) {
  // The package is that of this program's build, or that installed. The first python3 may be another version.
  static const std::string script = R"(import importlib, os, sys
verb, program, *words = sys.argv[1:]
prefix = os.path.dirname(os.path.dirname(program))
version = "lib/python{}.{}/dist-packages".format(*sys.version_info)
sys.path[:] = [*(os.path.join(prefix, folder) for folder in ("python", version, "lib/python3/dist-packages")), *filter(None, sys.path)]
try:
    module = importlib.import_module("gradus." + verb)
except ImportError as e:
    system = "/usr/bin/python3"
    if os.access(system, os.X_OK) and not os.path.samefile(sys.executable, system):
        os.execv(system, [system, *sys.orig_argv[1:]])
    print(f"[{verb}] Python must have the package gradus, got: {e}. Hint: apt-get install python3-gradus, or build it with "
          "./gradus python.", file=sys.stderr)
    sys.exit(2)
sys.exit(module.run_main(lambda: module.main(words))))";
  std::vector<std::string> command{"python3", "-BXutf8", "-c", script, verb, this_program()};
  command.insert(command.end(), words.begin(), words.end());
  become(command);
  fail(verb, "Python 3 must be installed, got no python3 that runs. Hint: apt-get install python3-gradus.");
}

}  // namespace gradus::cli
