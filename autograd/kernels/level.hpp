// The inner loops of the kernels, built once for each level of x86-64 (v2: SSE4, v3: AVX2 and FMA, v4:
// AVX-512), and the choice among them. One binary runs at full width on each machine.
//
// A kernel's header declares its loops, a struct of function pointers for float or double; its file in
// levels/ defines them and ends with GRADUS_BUILD; level_loops() finds them. There is no list of them all.
//
// Everything in levels/ works on one thread and on packed data; the kernels around it cut the work into
// blocks. Within a level the bits of an element do not depend on its place. Thread-safe once the level is
// chosen.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

// The levels that CMakeLists.txt builds, best first.
#if defined(__x86_64__)
#define GRADUS_LEVELS(X) X(v4) X(v3) X(v2)
#else
#define GRADUS_LEVELS(X) X(base)
#endif

#if defined(__clang__)  // It would have `loops` defined where it is used.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif

namespace gradus::kernels {

#define GRADUS_DECLARE(level) \
  namespace level {           \
  template <class Loops>      \
  struct Built {              \
    static const Loops loops; \
  };                          \
  }
GRADUS_LEVELS(GRADUS_DECLARE)
#undef GRADUS_DECLARE

/// The place of the level in use among GRADUS_LEVELS.
int level_in_use();

/// The place of the best level that this machine can run.
int best_level();

/// The loops of a kernel at the level of that place.
template <class Loops>
const Loops& loops_at(int level) {
#define GRADUS_LOOPS(level) &level::Built<Loops>::loops,
  static constexpr const Loops* kAtLevel[] = {GRADUS_LEVELS(GRADUS_LOOPS)};
#undef GRADUS_LOOPS
  return *kAtLevel[level];
}

/// The loops of a kernel at the level in use: level_loops<SoftmaxLoops<float>>().
template <class Loops>
const Loops& level_loops() {
  return loops_at<Loops>(level_in_use());
}

/// The values of an enum that ends with `count`, as a pack.
template <class Enum>
using EachOf = std::make_integer_sequence<int, static_cast<int>(Enum::count)>;

/// Names of the levels that this machine can run, best first.
std::vector<std::string_view> available_levels();
/// For tests: use the level of that name. Throws Error if this machine cannot run it. At the start it is the
/// best one, or the one that the environment variable GRADUS_LEVEL names.
void set_level(std::string_view name);

}  // namespace gradus::kernels

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

/// At the end of a file in levels/, in the level's namespace: the struct of its loops, and then these in its
/// order, for elements of type T.
#define GRADUS_BUILD(Loops, ...)                                         \
  template <class T>                                                     \
  consteval Loops<T> make_##Loops() {                                    \
    return {__VA_ARGS__};                                                \
  }                                                                      \
  template <>                                                            \
  const Loops<float> Built<Loops<float>>::loops = make_##Loops<float>(); \
  template <>                                                            \
  const Loops<double> Built<Loops<double>>::loops = make_##Loops<double>()

/// The same for loops that have no T.
#define GRADUS_BUILD_ONE(Loops, ...) \
  template <>                        \
  const Loops Built<Loops>::loops = {__VA_ARGS__}
