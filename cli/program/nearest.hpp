// Suggestions for mistyped words. Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradus::cli {

/// The word of `known` that is nearest to `typed`: `typed` is its beginning, or differs in at most about one
/// of three letters (one more, one less, another one, or two exchanged). Empty if no word is near, or if two
/// are equally near.
std::string nearest(std::string_view typed, const std::vector<std::string>& known);

/// " Hint: did you mean X?" with the nearest word, if there is one, and then `more`; "" without either.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& known,
                         std::string_view more = "");

/// Throws Error unless `typed` is one of `known`: "[op] --flag must be a, b or c, got 'typed'. Hint: did you
/// mean b?"
void check_choice(std::string_view op, std::string_view flag, std::string_view typed,
                  const std::vector<std::string>& known);

}  // namespace gradus::cli
