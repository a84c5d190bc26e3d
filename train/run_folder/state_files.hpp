// The files of a run folder and of the states in it, by their names. Thread-safe: no state.
#pragma once

#include <filesystem>

#include "gradus/files/folder.hpp"
#include "gradus/train/run_folder/checkpoint.hpp"
#include "gradus/train/run_folder/model_files.hpp"

namespace gradus::train {

/// All that a run writes beside the folders of its states.
inline constexpr const char* kRunFiles[] = {"model.safetensors",
                                            "config.json",
                                            "train.json",
                                            "vocab.json",
                                            "merges.txt",
                                            "tokenizer.json",
                                            "tokenizer_config.json",
                                            "metrics.jsonl",
                                            files::kChecksumList,
                                            files::kStagedChecksumList};

/// Writes the files of a state, with their checksums, into a folder that is there. Throws RunError if the
/// disk refuses.
void write_state(const std::filesystem::path& folder, const ModelFiles& files, const Checkpoint& checkpoint);
/// Throws Error, naming the file, for what is missing or damaged.
Checkpoint load_checkpoint(const files::FolderSnapshot& state);

// These throw std::filesystem::filesystem_error. Temporary files count as those they were to become. What a
// symbolic link in the place of a folder leads to is left alone.

/// Removes the files of a run, but for train.json and those of its states.
void remove_run_files(const std::filesystem::path& folder);
/// Removes the files of a state, and the folder unless something else is in it; or the link in its place.
void remove_state(const std::filesystem::path& folder);
/// Puts the files of a state into another folder as well, which is made; both have them in common where the
/// file system can do that.
void link_state(const std::filesystem::path& from, const std::filesystem::path& to);
/// Moves what is no file of a state from one folder to another, under a new name if its own is taken there.
void move_strays(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace gradus::train
