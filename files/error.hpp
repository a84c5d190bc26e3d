// Errors: one exception type, one way to throw it.
//
// Every message reads `[op] what must hold, got <values>. Hint: <what to do>.` on one line. Thread-safe: no
// state.
#pragma once

#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gradus {

/// A request that cannot be met as it was made: wrong shapes, dtypes, values, files. The command line exits
/// with 2.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A run that went wrong although what was asked for made sense: a loss that is not finite, a full disk.
/// Exit 1.
class RunError : public Error {
 public:
  using Error::Error;
};

/// Parts written one after another, as an output stream writes them.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

/// Throws Error with the text "[op] " followed by the parts.
template <class... Parts>
[[noreturn]] void fail(std::string_view op, const Parts&... parts) {
  throw Error(concat("[", op, "] ", parts...));
}

/// text(part) of each part, with `between` in between.
template <class Parts, class Text = std::identity>
std::string joined(const Parts& parts, std::string_view between = ", ", const Text& text = {}) {
  std::string all;
  for (const auto& part : parts) all += concat(all.empty() ? "" : between, std::invoke(text, part));
  return all;
}

}  // namespace gradus
