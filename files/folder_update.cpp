#include "gradus/files/folder_update.hpp"

namespace gradus::files {

FolderUpdate::FolderUpdate(std::filesystem::path folder, Checksums kept)
    : folder_(std::move(folder)), checksums_(std::move(kept)) {}

void FolderUpdate::write(const std::string& name, const std::function<void(StagedFile&)>& write) {
  auto file = std::make_unique<StagedFile>(folder_ / name);
  write(*file);
  file->finish();
  checksums_[name] = file->checksum();
  files_.push_back(std::move(file));
}

void FolderUpdate::write(const std::string& name, std::string_view text) {
  write(name, [&](StagedFile& file) { file << text; });
}

const Checksums& FolderUpdate::commit() {
  // The new list is to be found before any file that only it describes. Until it is, so is one that an update
  // before was cut off with; and it stays if the disk refuses what follows.
  const std::filesystem::path staged = folder_ / kStagedChecksumList;
  write_atomically(staged, [&](std::ostream& out) { out << to_text(checksums_); });
  put_in_place();
  replace(staged, folder_ / kChecksumList);
  sync_folder(folder_);
  return checksums_;
}

void FolderUpdate::commit_without_list() {
  put_in_place();
  sync_folder(folder_);
}

void FolderUpdate::put_in_place() {
  for (const auto& file : files_) file->put_in_place();
  files_.clear();
}

}  // namespace gradus::files
