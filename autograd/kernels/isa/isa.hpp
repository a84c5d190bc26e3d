// The instruction sets of the kernels: detects them, and chooses one for inner loops and one for bfloat16.
//
// The inner loops are built for each level of x86-64 (v2: SSE4, v3: AVX2 and FMA, v4: AVX-512). A kernel's
// header declares a struct of function pointers; a file in loops/ defines the functions and ends with
// GRADUS_BUILD; isa_loops() returns the struct of the level in use. Loops work on one thread and on packed
// data; kernels cut the work into chunks. Within a level the bits of an element do not depend on its
// position.
//
// In all of kernels/, unless a header says otherwise: pointers belong to the caller, outputs overlap neither
// inputs nor each other, T is float or double, results have the same bits for any number of threads, and
// functions are thread-safe if no two calls write the same output.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

// The levels that CMakeLists.txt builds, best first.
#if defined(__x86_64__)
#define GRADUS_LEVELS(X) X(v4) X(v3) X(v2)
#else
#define GRADUS_LEVELS(X) X(base)
#endif

#if defined(__clang__)  // warns that `loops` is not defined here
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif

namespace gradus::kernels {

/// The instruction sets of the inner loops; or `reference`: operations have the values of their definitions
/// (autograd/reference/), and inner loops are those of the last set.
#define GRADUS_ENUMERATE(level) level,
enum class Level { GRADUS_LEVELS(GRADUS_ENUMERATE) reference };
#undef GRADUS_ENUMERATE

/// The instructions for matrix products in bfloat16. They are chosen independently of the level.
enum class Bf16Unit {
  amx,          ///< TDPBF16PS
  avx512_bf16,  ///< VDPBF16PS
  widened       ///< float32 multiply-adds, at the level in use: every machine has it
};

// Each of these is for both enums, Isa.

template <class Isa>
std::string_view isa_name(Isa isa);

/// Those of this machine that the program was built for, best first. For Bf16Unit the first call asks Linux
/// for permission to use AMX.
template <class Isa = Level>
const std::vector<Isa>& available_isas();

/// At first the best, or what an environment variable names: GRADUS_LEVEL, or GRADUS_UNIT for Bf16Unit.
template <class Isa = Level>
Isa isa_in_use();

/// Whether the level in use is `reference`. Every operation asks; set_isa() and the environment set it.
extern bool is_reference_in_use;

/// Selects one, for tests. Throws Error if it is not available.
template <class Isa = Level>
void set_isa(std::string_view name);

#define GRADUS_DECLARE(level) \
  namespace level {           \
  template <class Loops>      \
  struct Built {              \
    static const Loops loops; \
  };                          \
  }
GRADUS_LEVELS(GRADUS_DECLARE)
#undef GRADUS_DECLARE

/// The loops of a kernel at that level.
template <class Loops>
const Loops& loops_at(Level level) {
#define GRADUS_LOOPS(level) &level::Built<Loops>::loops,
  static constexpr const Loops* kAtLevel[] = {GRADUS_LEVELS(GRADUS_LOOPS)};
#undef GRADUS_LOOPS
  return *kAtLevel[std::min(static_cast<size_t>(level), std::size(kAtLevel) - 1)];
}

/// The loops of a kernel at the level in use: isa_loops<SoftmaxLoops<float>>().
template <class Loops>
const Loops& isa_loops() {
  return loops_at<Loops>(isa_in_use());
}

/// The values of an enum whose last member is `count`.
template <class Enum>
using EachOf = std::make_integer_sequence<int, static_cast<int>(Enum::count)>;

}  // namespace gradus::kernels

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

/// Defines a struct of loops for float and double. The arguments are its members, in order, for type T.
#define GRADUS_BUILD(Loops, ...)                                         \
  template <class T>                                                     \
  consteval Loops<T> make_##Loops() {                                    \
    return {__VA_ARGS__};                                                \
  }                                                                      \
  template <>                                                            \
  const Loops<float> Built<Loops<float>>::loops = make_##Loops<float>(); \
  template <>                                                            \
  const Loops<double> Built<Loops<double>>::loops = make_##Loops<double>()

/// The same for a struct without T.
#define GRADUS_BUILD_ONE(Loops, ...) \
  template <>                        \
  const Loops Built<Loops>::loops = {__VA_ARGS__}
