// Reading the newest files of a run while another process may replace them. Private to train and the program.
#pragma once

#include "gradus/files/folder.hpp"
#include "gradus/train/run_folder/run_folder.hpp"

namespace gradus::train {

/// read(FolderSnapshot of RunFolder::last()).
template <class Read>
auto read_last(const RunFolder& run, Read&& read) {
  return files::read_folder_at([&] { return run.last(); }, read);
}

/// read(text, path) of train.json in RunFolder::with_recipe().
template <class Read>
auto read_recipe(const RunFolder& run, Read&& read) {
  const auto folder = [&] { return run.with_recipe(); };
  return files::read_folder_at(folder, [&](const files::FolderSnapshot& files) {
    return read(files.text("train.json"), (files.folder() / "train.json").string());
  });
}

}  // namespace gradus::train
