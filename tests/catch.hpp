// The one place that knows which Catch2 is installed: 2.13 (Debian 12, Ubuntu 22.04) or 3.
// Tests write version 3's names: Catch::Approx, Catch::Matchers::WithinAbs, ... and ContainsSubstring without
// its namespaces. It is compiled once for all of them, with the standard library's headers that they need.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#if __has_include(<catch2/catch_all.hpp>)

#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>

using Catch::Approx;  // As version 2 has it.

#else

#include <catch2/catch.hpp>

namespace Catch {

using Detail::Approx;

namespace Matchers {
using Impl::MatcherBase;
inline auto ContainsSubstring(const std::string& text) { return Contains(text); }
}  // namespace Matchers

}  // namespace Catch

#endif

using Catch::Matchers::ContainsSubstring;

/// Matches a text that has all of the words.
class ContainsAll : public Catch::Matchers::MatcherBase<std::string> {
 public:
  template <class... Words>
  explicit ContainsAll(const Words&... words) : words_{std::string(words)...} {}

  bool match(const std::string& text) const override {
    return std::all_of(words_.begin(), words_.end(),
                       [&](const std::string& word) { return text.find(word) != text.npos; });
  }
  std::string describe() const override {
    std::string all = "has";
    for (const std::string& word : words_) all += " \"" + word + "\"";
    return all;
  }

 private:
  std::vector<std::string> words_;
};

/// CHECKs that the text has all of the words that follow it.
#define CHECK_HAS(text, ...) CHECK_THAT(text, ContainsAll(__VA_ARGS__))
/// CHECKs that the expression throws an exception whose text has the word.
#define CHECK_ERROR(expression, word) CHECK_THROWS_WITH(expression, ContainsSubstring(word))
