// The files of a run folder and of the states in it, by their names. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gradus/files/folder.hpp"
#include "gradus/train/run_folder/checkpoint.hpp"

namespace gradus::train {

/// The names of the files of a run, without those of its states.
const std::vector<std::string>& run_files();

/// Writes the files of a state, with their checksums, into a folder. Throws RunError if the disk refuses.
void write_state(const std::filesystem::path& folder, const ModelFiles& files, const Checkpoint& checkpoint);
/// Throws Error, naming the file, for a file that is missing or damaged.
Checkpoint load_checkpoint(const files::FolderSnapshot& state);

// These throw std::filesystem::filesystem_error. They treat temporary files like the final files, and do not
// change the target of a symbolic link.

/// Removes the files of a run except train.json and the files of its states.
void remove_run_files(const std::filesystem::path& folder);
/// Removes the files of a state, and the folder unless it has other files; or the link to it.
void remove_state(const std::filesystem::path& folder);
/// Moves files that do not belong to a state from one folder to another, with a new name if theirs is taken.
void move_other_files(const std::filesystem::path& from, const std::filesystem::path& to);

// These throw RunError too if the disk refuses.

/// Renames `fresh` to `current`. Returns the path of the folder that was `current` before: `fresh` or, if the
/// file system cannot exchange two names at once, `aside`; then `current` is missing for a moment. All three
/// are in one folder.
std::filesystem::path replace_folder(const std::filesystem::path& fresh, const std::filesystem::path& current,
                                     const std::filesystem::path& aside);
/// Keeps `state` as kept/step-N, and removes all but the latest `count` states there; other files stay. Both
/// share the files, if the file system has hard links: files are replaced, never changed. A symbolic link at
/// `kept` is replaced by a folder with the states of its target.
void keep_state(const std::filesystem::path& state, const std::filesystem::path& kept, int64_t step,
                int64_t count);
/// Removes all states in such a folder, and then the folder unless it has other files.
void remove_kept_states(const std::filesystem::path& kept);

}  // namespace gradus::train
