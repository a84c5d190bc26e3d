#include "gradus/tools/cli/program/arch_flag.hpp"

#include <CLI/CLI.hpp>

#include "gradus/files/error.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/tools/cli/program/choices.hpp"
#include "gradus/tools/cli/program/nearest.hpp"

namespace gradus::cli {

CLI::Option* add_arch_flag(CLI::App& verb, std::function<void(const std::string&)> set_arch) {
  const auto set = [&verb, set_arch = std::move(set_arch)](const std::string& name) {
    check_choice(verb.get_name(), "--arch", name, models::arch_names());
    set_arch(name);
  };
  std::string help;
  for (const models::Architecture* row : models::architectures())
    help += concat(help.empty() ? "" : "\n", row->name, ": ", row->parts);
  return choices(verb.add_option_function<std::string>("--arch", set, help), models::arch_names)
      ->type_name("NAME")
      ->take_last();
}

}  // namespace gradus::cli
