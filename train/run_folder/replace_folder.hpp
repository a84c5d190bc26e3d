// Puts a folder in the place of another. Thread-safe: no state.
#pragma once

#include <filesystem>

namespace gradus::train {

/// `fresh` becomes `current`; returns what was current before, which is now called `fresh` or, where the file
/// system cannot exchange two names at once, `aside`; then for a moment there is no `current`. All three lie
/// in one folder. Throws RunError if the disk refuses.
std::filesystem::path replace_folder(const std::filesystem::path& fresh, const std::filesystem::path& current,
                                     const std::filesystem::path& aside);

}  // namespace gradus::train
