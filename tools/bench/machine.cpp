#include "gradus/tools/bench/machine.hpp"

#include <sys/utsname.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "gradus/autograd/error.hpp"
#include "gradus/autograd/kernels/cores.hpp"
#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/yardstick.hpp"

namespace gradus::train::bench {
namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  return "an unknown processor";
}

std::string system_name() {
  utsname name{};
  return ::uname(&name) == 0 ? concat(name.sysname, " ", name.release) : "an unknown system";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", ::localtime_r(&now, &local));
  return text.data();
}

double load() {
  double minute = 0;
  return ::getloadavg(&minute, 1) == 1 ? minute : 0;
}

std::string level() {
  const char* chosen = std::getenv("GRADUS_LEVEL");
  const std::string_view name = chosen ? chosen : kernels::available_levels().front();
  return concat(name == "base" ? "" : "x86-64-", name);
}

std::string compiler() {
#if defined(__clang__)
  return concat("clang ", __clang_major__, ".", __clang_minor__);
#else
  return concat("gcc ", __GNUC__, ".", __GNUC_MINOR__);
#endif
}

}  // namespace

Machine this_machine() {
  return {cpu_name(), kernels::available_cores(), load(),    today(), system_name(),
          level(),    kernels::blas_name(),       compiler()};
}

}  // namespace gradus::train::bench
