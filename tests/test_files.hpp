// Where the tests' own files lie. The build says so: __FILE__ is relative under compiler caches and prefix
// maps.
#pragma once

#include <filesystem>

namespace gradus::testing {

/// The folder tests/ of the sources.
std::filesystem::path test_files();

}  // namespace gradus::testing
