// Did you mean: what somebody who typed one word may have meant among those that are known. Thread-safe: no
// state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradus::cli {

/// The one of `known` that `typed` is nearest to: it begins so, or takes a slip or two of the fingers (a
/// letter more, less, another one, or two exchanged; about one in three letters at most). Empty if none is
/// near, or if two are and neither is nearer.
std::string nearest(std::string_view typed, const std::vector<std::string>& known);

/// " Hint: did you mean X? " with what is nearest, if anything is, and what else there is to say; "" for
/// nothing of either.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& known,
                         std::string_view more = "");

/// Throws Error unless `typed` is one of `known`: "[op] --flag must be a, b or c, got 'typed'. Hint: did you
/// mean b?"
void check_choice(std::string_view op, std::string_view flag, std::string_view typed,
                  const std::vector<std::string>& known);

/// a, b or c.
std::string listed(const std::vector<std::string>& words);

}  // namespace gradus::cli
