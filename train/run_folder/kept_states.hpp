// Earlier states of a run, each whole: kept/step-N has what last/ had after step N. Files are replaced, never
// changed, so that both can share them. A symbolic link in the place of one or of kept/ is read through and
// replaced by what it leads to; nothing is written there. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <filesystem>

namespace gradus::train {

// These throw std::filesystem::filesystem_error, RunError where names cannot be made to survive a power cut.

/// Keeps `state` in the folder `kept`, made if it must be, as that of a step, unless it is there already, and
/// removes what is there of earlier steps but for the latest, so that `count` are left. What else is there
/// stays.
void keep_state(const std::filesystem::path& state, const std::filesystem::path& kept, int64_t step,
                int64_t count);
/// Removes all states in such a folder, and the folder unless something else is in it.
void remove_kept_states(const std::filesystem::path& kept);

}  // namespace gradus::train
