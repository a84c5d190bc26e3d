#include "gradus/tools/cli/program/program_path.hpp"

#include <sys/auxv.h>

#include <filesystem>

namespace gradus::cli {

std::string this_program() {
  std::error_code no_proc;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", no_proc);
  return no_proc ? reinterpret_cast<const char*>(::getauxval(AT_EXECFN)) : program.string();
}

}  // namespace gradus::cli
