// Whole numbers on the command line and in config files, read strictly: CLI11 by itself takes 010 for 8, and
// for a number that does not fit into 64 bits the largest that does.
#pragma once

#include <cstdint>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gradus::cli {

/// No count that a flag sets may be larger: sums and products of a few of them still fit into 64 bits.
inline constexpr int64_t kMostCount = 1'000'000'000'000'000;
inline constexpr int64_t kMostThreads = 4096;

/// The option, an integer's, of the verb takes decimal digits only, with a sign or without, up to `most`.
/// Anything else is an Error that names verb, flag and what came; what the least is the verb says itself.
CLI::Option* whole_number(const CLI::App& verb, CLI::Option* option, int64_t most = kMostCount);

}  // namespace gradus::cli
