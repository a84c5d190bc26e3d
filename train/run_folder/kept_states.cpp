#include "gradus/train/run_folder/kept_states.hpp"

#include <charconv>
#include <map>
#include <string>
#include <string_view>

#include "gradus/files/file.hpp"
#include "gradus/train/run_folder/state_files.hpp"

namespace gradus::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStep = "step-";
constexpr const char* kUnfinished = "step.tmp";

/// The states in a folder by their steps.
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

/// Are all files of `state` in `place` already? Of a state that is being removed trainer.json goes first.
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
  move_strays(place, unfinished);
  remove_state(place);  // of a run that was taken back to before it
  fs::rename(unfinished, place);
  files::sync_folder(kept);
}

/// The states where a link in the place of `kept` leads to.
std::map<int64_t, fs::path> linked_states(const fs::path& kept) {
  if (!fs::is_symlink(kept) || !fs::is_directory(kept)) return {};
  return kept_states(fs::canonical(kept));
}

}  // namespace

void keep_state(const fs::path& state, const fs::path& kept, int64_t step, int64_t count) {
  const std::map<int64_t, fs::path> elsewhere = linked_states(kept);
  if (fs::is_symlink(kept)) fs::remove(kept);
  fs::create_directory(kept);
  for (const auto& [earlier, linked] : elsewhere) put(linked, kept, earlier);
  put(state, kept, step);
  std::map<int64_t, fs::path> states = kept_states(kept);
  // Later ones are of a run that was taken back to before them.
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
