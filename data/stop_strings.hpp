// StopStrings: ends a stream of text before the first of some strings. Not thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradus::data {

class StopStrings {
 public:
  /// Throws Error if one of them is empty. Without strings the text is unchanged.
  explicit StopStrings(std::vector<std::string> strings);

  /// Returns the text that is certainly before the strings; keeps a possible beginning of a string for the
  /// next call. The string that ends first ends the text; of several, the longest. Neither it nor anything
  /// after it is returned. The result does not depend on the division into calls.
  std::string step(std::string_view text);
  bool found() const { return found_; }  ///< whether the text has ended
  /// Returns the kept text, at the end of the stream.
  std::string finish();

 private:
  std::vector<std::string> strings_;
  std::string waiting_;  // the longest end of the text that is a beginning of a string
  bool found_ = false;
};

}  // namespace gradus::data
