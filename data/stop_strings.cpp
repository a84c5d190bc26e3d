#include "gradus/data/stop_strings.hpp"

#include <algorithm>
#include <utility>

#include "gradus/files/error.hpp"

namespace gradus::data {

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
  for (const std::string& string : strings_)
    if (string.empty()) fail("stop", "a string to stop at must not be empty, got ''.");
}

std::string StopStrings::step(std::string_view text) {
  std::string certain;
  for (size_t i = 0; i < text.size() && !found_; ++i) {
    waiting_ += text[i];
    size_t ended = 0, begun = 0;  // bytes at the end of waiting_ that are one of the strings, or begin one
    for (const std::string& string : strings_) {
      size_t length = std::min(string.size(), waiting_.size());
      while (!waiting_.ends_with(std::string_view(string).substr(0, length))) --length;
      size_t& longest = length == string.size() ? ended : begun;
      longest = std::max(longest, length);
    }
    found_ = ended > 0;
    const size_t kept = found_ ? ended : begun;
    certain.append(waiting_, 0, waiting_.size() - kept);
    waiting_.erase(0, waiting_.size() - kept);
  }
  if (found_) waiting_.clear();
  return certain;
}

std::string StopStrings::finish() { return std::exchange(waiting_, ""); }

}  // namespace gradus::data
