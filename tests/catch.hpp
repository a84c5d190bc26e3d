// The one place that knows which Catch2 is installed: 2.13 (Debian 12, Ubuntu 22.04) or 3.
// Tests write version 3's names: Catch::Approx, Catch::Matchers::ContainsSubstring, WithinAbs, ...
#pragma once

#if __has_include(<catch2/catch_all.hpp>)

#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>

using Catch::Approx;  // As version 2 has it.

#else

#include <catch2/catch.hpp>

#include <string>

namespace Catch {

using Detail::Approx;

namespace Matchers {
inline auto ContainsSubstring(const std::string& text) { return Contains(text); }
}  // namespace Matchers

}  // namespace Catch

#endif
