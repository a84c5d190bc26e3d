// StopStrings: a text, as it comes, up to the first of some strings. Not thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradus::data {

class StopStrings {
 public:
  /// Throws Error if one of them is empty. Without any the text goes through as it is.
  explicit StopStrings(std::vector<std::string> strings);

  /// The text that certainly stands before all of them; what may be the beginning of one waits for the rest.
  /// The string that is whole first ends the text, of several the longest; nothing of it is returned, and
  /// nothing after it. How the text is cut into pieces changes nothing.
  std::string step(std::string_view text);
  bool found() const { return found_; }  ///< whether the text has ended
  /// At the end: what waited in vain.
  std::string finish();

 private:
  std::vector<std::string> strings_;
  std::string waiting_;  // the longest end of the text that one of them begins with
  bool found_ = false;
};

}  // namespace gradus::data
