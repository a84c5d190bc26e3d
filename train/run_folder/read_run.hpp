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

/// read(FolderSnapshot of RunFolder::with_recipe()).
template <class Read>
auto read_recipe(const RunFolder& run, Read&& read) {
  return files::read_folder_at([&] { return run.with_recipe(); }, read);
}

}  // namespace gradus::train
