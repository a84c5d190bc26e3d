#include "gradus/autograd/kernels/level.hpp"

#include <cstdlib>
#include <iterator>
#include <string>

#include "gradus/files/error.hpp"

namespace gradus::kernels {

namespace {

#define GRADUS_NAME(level) #level,
constexpr std::string_view kLevels[] = {GRADUS_LEVELS(GRADUS_NAME)};
#undef GRADUS_NAME

bool machine_has(std::string_view level) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                  __builtin_cpu_supports("popcnt");
  if (level == "v4")
    return v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  if (level == "v3") return v3;
#endif
  return level == kLevels[std::size(kLevels) - 1];
}

int named(std::string_view name) {
  for (size_t i = 0; i < std::size(kLevels); ++i)
    if (kLevels[i] == name && machine_has(name)) return static_cast<int>(i);
  std::string names;
  for (const std::string_view known : available_levels()) names += concat(names.empty() ? "" : ", ", known);
  fail("level", "GRADUS_LEVEL must be one that this machine can run (", names, "), got ", name, ".");
}

int at_start() {
  if (const char* name = std::getenv("GRADUS_LEVEL")) return named(name);
  return named(available_levels().front());
}

int& current() {
  static int level = at_start();
  return level;
}

}  // namespace

std::vector<std::string_view> available_levels() {
  std::vector<std::string_view> names;
  for (const std::string_view level : kLevels)
    if (machine_has(level)) names.push_back(level);
  return names;
}

int best_level() { return named(available_levels().front()); }

int level_in_use() { return current(); }

void set_level(std::string_view name) { current() = named(name); }

}  // namespace gradus::kernels
