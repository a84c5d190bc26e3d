#include "gradus/tools/cli/program/arch_flag.hpp"

#include <CLI/CLI.hpp>

#include "gradus/tools/cli/program/choices.hpp"
#include "gradus/tools/cli/program/nearest.hpp"

namespace gradus::cli {

CLI::Option* add_arch_flag(CLI::App& verb, std::function<void(models::Arch)> set_arch) {
  const auto set = [&verb, set_arch = std::move(set_arch)](const std::string& name) {
    check_choice(verb.get_name(), "--arch", name, models::arch_names());
    set_arch(models::arch_from(name));
  };
  return choices(verb.add_option_function<std::string>(
                     "--arch", set, "gpt2, or llama: rotary positions, RMSNorm, SwiGLU, no biases"),
                 models::arch_names)
      ->type_name("NAME")
      ->take_last();
}

}  // namespace gradus::cli
