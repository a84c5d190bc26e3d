#include "gradus/train/run_folder/state_files.hpp"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <string_view>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::train {
namespace {

namespace fs = std::filesystem;

/// The files that both a run and each of its states have, between others.
std::vector<std::string> common_files(std::vector<std::string> first, const std::vector<std::string>& last) {
  for (const char* name :
       {"model.safetensors", "config.json", "train.json", "vocab.json", "merges.txt", "tokenizer.json",
        "tokenizer_config.json", "generation_config.json", "chat_template.jinja", "special_tokens_map.json",
        "added_tokens.json", "adapter_model.safetensors", "adapter_config.json", files::kChecksumList,
        files::kStagedChecksumList})
    first.emplace_back(name);
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

// trainer.json comes first: a folder without it is not a state.
const std::vector<std::string>& state_files() {
  static const auto all = common_files({"trainer.json"}, {"optimizer.safetensors"});
  return all;
}

bool is_of_state(const std::string& name) {
  return std::ranges::any_of(state_files(),
                             [&](const std::string& file) { return name == file || name == file + ".tmp"; });
}

/// Like fs::exists() and fs::is_directory(), but for a symbolic link itself, not for its target.
bool is_there(const fs::path& path) { return fs::exists(fs::symlink_status(path)); }
bool is_folder(const fs::path& path) { return fs::is_directory(fs::symlink_status(path)); }

void remove_file(const fs::path& file) {
  fs::remove(file);
  fs::remove(file.string() + ".tmp");
}

/// Puts the files of a state into a new folder as well, by hard links if the file system has them.
void link_state(const fs::path& from, const fs::path& to) {
  fs::create_directory(to);
  for (const std::string& name : state_files()) {
    if (!fs::exists(from / name)) continue;
    std::error_code refused;
    fs::create_hard_link(fs::canonical(from / name), to / name, refused);
    if (!refused) continue;
    files::StagedFile copy(to / name);
    copy << std::ifstream(from / name, std::ios::binary).rdbuf();
    copy.finish();
    copy.put_in_place();
  }
}

constexpr std::string_view kStep = "step-";
constexpr const char* kUnfinished = "step.tmp";

/// The states in a folder by step.
std::map<int64_t, fs::path> kept_states(const fs::path& kept) {
  std::map<int64_t, fs::path> states;
  for (const auto& entry : fs::directory_iterator(kept)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kStep) || !entry.is_directory()) continue;
    int64_t step = 0;
    const char* const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + kStep.size(), end, step);
    if (error == std::errc() && rest == end) states.emplace(step, entry.path());
  }
  return states;
}

/// Whether `place` has all files of `state`. remove_state() removes trainer.json first.
bool is_kept(const fs::path& state, const fs::path& place) {
  const auto has = [](const fs::path& folder, const char* name) { return fs::exists(folder / name); };
  return has(place, "trainer.json") && has(place, files::kChecksumList) && has(state, files::kChecksumList) &&
         files::read(place / files::kChecksumList) == files::read(state / files::kChecksumList);
}

void put(const fs::path& state, const fs::path& kept, int64_t step) {
  const fs::path unfinished = kept / kUnfinished, place = kept / (std::string(kStep) + std::to_string(step));
  if (is_kept(state, place)) return;
  remove_state(unfinished);
  link_state(state, unfinished);
  files::sync_folder(unfinished);
  move_other_files(place, unfinished);
  remove_state(place);  // remains from before the run resumed at an earlier step
  fs::rename(unfinished, place);
  files::sync_folder(kept);
}

/// The states in the target of `kept` if it is a symbolic link.
std::map<int64_t, fs::path> linked_states(const fs::path& kept) {
  if (!fs::is_symlink(kept) || !fs::is_directory(kept)) return {};
  return kept_states(fs::canonical(kept));
}

/// Returns 0 or errno.
int rename(const fs::path& from, const fs::path& to, unsigned flags) {
  while (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

void rename_or_throw(const fs::path& from, const fs::path& to) {
  if (const int reason = rename(from, to, 0))
    throw RunError(
        concat("[run] cannot rename ", from.string(), " to ", to.string(), ": ", std::strerror(reason), "."));
}

}  // namespace

void write_state(const fs::path& folder, const ModelFiles& files, const Checkpoint& checkpoint) {
  files::FolderUpdate update(folder);
  files.model(update);
  for (const auto& [name, text] : files.tokenizer) update.write(name, text);
  update.write("train.json", files.recipe());
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

const std::vector<std::string>& run_files() {
  static const auto all = common_files({}, {"metrics.jsonl", "report.html"});
  return all;
}

void remove_run_files(const fs::path& folder) {
  for (const std::string& name : run_files())
    if (name != "train.json") remove_file(folder / name);
}

void remove_state(const fs::path& folder) {
  if (fs::is_symlink(folder)) fs::remove(folder);
  if (!is_folder(folder)) return;
  for (const std::string& name : state_files()) remove_file(folder / name);
  if (fs::is_empty(folder)) fs::remove(folder);
}

void move_other_files(const fs::path& from, const fs::path& to) {
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

fs::path replace_folder(const fs::path& fresh, const fs::path& current, const fs::path& aside) {
  fs::path before = fresh;
  if (!fs::exists(fs::symlink_status(current))) {
    rename_or_throw(fresh, current);
  } else if (rename(fresh, current, RENAME_EXCHANGE) != 0) {  // Not every file system supports this.
    rename_or_throw(current, aside);
    rename_or_throw(fresh, current);
    before = aside;
  }
  files::sync_folder(current.parent_path());
  return before;
}

void keep_state(const fs::path& state, const fs::path& kept, int64_t step, int64_t count) {
  const std::map<int64_t, fs::path> elsewhere = linked_states(kept);
  if (fs::is_symlink(kept)) fs::remove(kept);
  fs::create_directory(kept);
  for (const auto& [earlier, linked] : elsewhere) put(linked, kept, earlier);
  put(state, kept, step);
  std::map<int64_t, fs::path> states = kept_states(kept);
  // Later states remain from before the run resumed at an earlier step.
  states.erase(states.upper_bound(step), states.end());
  for (; static_cast<int64_t>(states.size()) > count; states.erase(states.begin()))
    remove_state(states.begin()->second);
}

void remove_kept_states(const fs::path& kept) {
  if (fs::is_symlink(kept)) fs::remove(kept);
  if (!fs::is_directory(kept)) return;
  remove_state(kept / kUnfinished);
  for (const auto& [step, state] : kept_states(kept)) remove_state(state);
  if (fs::is_empty(kept)) fs::remove(kept);
}

}  // namespace gradus::train
