#include "gradus/train/run_folder/state_files.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::train {
namespace {

namespace fs = std::filesystem;

// trainer.json first: a state without it is none.
constexpr const char* kStateFiles[] = {"trainer.json",
                                       "model.safetensors",
                                       "config.json",
                                       "vocab.json",
                                       "merges.txt",
                                       "tokenizer.json",
                                       "train.json",
                                       "tokenizer_config.json",
                                       "optimizer.safetensors",
                                       files::kChecksumList,
                                       files::kStagedChecksumList};

bool is_of_state(const std::string& name) {
  return std::any_of(std::begin(kStateFiles), std::end(kStateFiles),
                     [&](const std::string& file) { return name == file || name == file + ".tmp"; });
}

/// As fs::exists() and fs::is_directory(), but of a link itself, not of what it leads to.
bool is_there(const fs::path& path) { return fs::exists(fs::symlink_status(path)); }
bool is_folder(const fs::path& path) { return fs::is_directory(fs::symlink_status(path)); }

void remove_file(const fs::path& file) {
  fs::remove(file);
  fs::remove(file.string() + ".tmp");
}

}  // namespace

void write_state(const fs::path& folder, const ModelFiles& files, const Checkpoint& checkpoint) {
  files::FolderUpdate update(folder);
  files.model(update);
  for (const auto& [name, text] : files.tokenizer) update.write(name, text);
  update.write("train.json", files.recipe);
  nn::save_safetensors(update, "optimizer.safetensors", checkpoint.trainer.optimizer);
  update.write("trainer.json", to_json(checkpoint));
  update.commit();
}

Checkpoint load_checkpoint(const files::FolderSnapshot& state) {
  Checkpoint checkpoint =
      checkpoint_from_json(state.text("trainer.json"), (state.folder() / "trainer.json").string());
  constexpr const char* kOptimizer = "optimizer.safetensors";
  checkpoint.trainer.optimizer =
      nn::load_safetensors(state.folder() / kOptimizer, /*keep_float64=*/true, state.checksum(kOptimizer));
  return checkpoint;
}

void remove_run_files(const fs::path& folder) {
  for (const std::string name : kRunFiles)
    if (name != "train.json") remove_file(folder / name);
}

void remove_state(const fs::path& folder) {
  if (fs::is_symlink(folder)) fs::remove(folder);
  if (!is_folder(folder)) return;
  for (const char* name : kStateFiles) remove_file(folder / name);
  if (fs::is_empty(folder)) fs::remove(folder);
}

void link_state(const fs::path& from, const fs::path& to) {
  fs::create_directory(to);
  for (const char* name : kStateFiles) {
    if (!fs::exists(from / name)) continue;
    std::error_code refused;
    fs::create_hard_link(fs::canonical(from / name), to / name, refused);
    if (!refused) continue;  // Not every file system has them.
    files::StagedFile copy(to / name);
    copy << std::ifstream(from / name, std::ios::binary).rdbuf();
    copy.finish();
    copy.put_in_place();
  }
}

void move_strays(const fs::path& from, const fs::path& to) {
  if (!is_folder(from)) return;
  std::vector<fs::path> strays;
  for (const auto& entry : fs::directory_iterator(from))
    if (!is_of_state(entry.path().filename().string())) strays.push_back(entry.path().filename());
  for (const fs::path& stray : strays) {
    fs::path name = to / stray;
    for (int n = 1; is_there(name); ++n) name = to / concat(stray.string(), ".", n);
    fs::rename(from / stray, name);
  }
}

}  // namespace gradus::train
