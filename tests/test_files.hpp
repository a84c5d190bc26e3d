// Where the tests' own files lie, as the build says: __FILE__ is relative under caches and prefix maps.
#pragma once

#include <filesystem>

namespace gradus::testing {

/// The folder tests/ of the sources.
std::filesystem::path test_files();

}  // namespace gradus::testing
