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
  const std::string list = to_text(checksums_);
  auto file = std::make_unique<StagedFile>(folder_ / kChecksumList);
  *file << list;
  file->finish();
  files_.push_back(std::move(file));
  sync_folder(folder_);  // The new list is to be found before any file that only it describes.
  put_in_place();
  return checksums_;
}

void FolderUpdate::commit_without_list() { put_in_place(); }

void FolderUpdate::put_in_place() {
  for (const auto& file : files_) file->put_in_place();
  files_.clear();
  sync_folder(folder_);
}

}  // namespace gradus::files
