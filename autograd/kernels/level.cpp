#include "gradus/autograd/kernels/level.hpp"

#include <cstdlib>
#include <iterator>
#include <string>

#include "gradus/files/error.hpp"

namespace gradus::kernels {

// The levels that CMakeLists.txt builds, best first.
#if defined(__x86_64__)
#define GRADUS_LEVELS(X) X(v4) X(v3) X(v2)
#else
#define GRADUS_LEVELS(X) X(base)
#endif

#define GRADUS_DECLARE(name)                        \
  namespace name {                                  \
  extern const LevelKernels<float> float_kernels;   \
  extern const LevelKernels<double> double_kernels; \
  }
GRADUS_LEVELS(GRADUS_DECLARE)
#undef GRADUS_DECLARE

namespace {

struct Level {
  std::string_view name;
  const LevelKernels<float>* float_kernels;
  const LevelKernels<double>* double_kernels;
};

#define GRADUS_ENTRY(name) Level{#name, &name::float_kernels, &name::double_kernels},
constexpr Level kLevels[] = {GRADUS_LEVELS(GRADUS_ENTRY)};
#undef GRADUS_ENTRY

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
  return level == kLevels[std::size(kLevels) - 1].name;
}

const Level& named(std::string_view name) {
  for (const Level& level : kLevels)
    if (level.name == name && machine_has(name)) return level;
  std::string names;
  for (const std::string_view known : available_levels()) names += concat(names.empty() ? "" : ", ", known);
  fail("level", "GRADUS_LEVEL must be one that this machine can run (", names, "), got ", name, ".");
}

const Level& at_start() {
  if (const char* name = std::getenv("GRADUS_LEVEL")) return named(name);
  return named(available_levels().front());
}

const Level*& current() {
  static const Level* level = &at_start();
  return level;
}

}  // namespace

std::vector<std::string_view> available_levels() {
  std::vector<std::string_view> names;
  for (const Level& level : kLevels)
    if (machine_has(level.name)) names.push_back(level.name);
  return names;
}

void set_level(std::string_view name) { current() = &named(name); }

template <>
const LevelKernels<float>& level_kernels() {
  return *current()->float_kernels;
}
template <>
const LevelKernels<double>& level_kernels() {
  return *current()->double_kernels;
}

}  // namespace gradus::kernels
