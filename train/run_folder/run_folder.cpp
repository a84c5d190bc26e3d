#include "gradus/train/run_folder/run_folder.hpp"

#include <algorithm>
#include <optional>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/train/run_folder/run_lock.hpp"
#include "gradus/train/run_folder/state_files.hpp"
#include "gradus/train/trainer/metrics.hpp"

namespace gradus::train {
namespace {

namespace fs = std::filesystem;

constexpr const char *kFresh = "last.tmp", *kLast = "last", *kOld = "last.old", *kKept = "kept";
constexpr const char* kModels[] = {"model.safetensors", "adapter_model.safetensors"};

/// Calls `work`; its filesystem errors become RunErrors.
template <class F>
void on_disk(F&& work) {
  try {
    work();
  } catch (const fs::filesystem_error& e) {
    throw RunError("[run] ", e.path1(), " must be writable, got '", e.code().message(), "'.");
  }
}

/// Whether a run that was killed before its first file may leave a file of this name, or its teachers.
bool is_leftover(const std::string& name) {
  const auto is_of = [&](const std::string& file) { return name == file + ".tmp"; };
  return name == RunLock::kFile || name == RunFolder::kTeachers || name == RunFolder::kTeachersPlan ||
         name == "members" || is_of(RunFolder::kTeachersPlan) || is_of(RunFolder::kMembersPlan) ||
         std::ranges::any_of(run_files(), is_of);
}

/// Whether a folder is empty except for leftovers.
bool has_only_leftovers(const fs::path& folder, std::error_code& error) {
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (!is_leftover(entry->path().filename().string())) return false;
  return !error;
}

}  // namespace

struct RunFolder::Held {
  std::optional<RunLock> lock;
  files::Checksums checksums;  // of the files in the folder
};

RunFolder::RunFolder(fs::path path) : path_(std::move(path)), held_(std::make_unique<Held>()) {}
RunFolder::~RunFolder() = default;

std::string RunFolder::lock_warning() const { return held_->lock ? held_->lock->warning() : ""; }

bool RunFolder::has_best() const {
  return std::ranges::any_of(kModels, [&](const char* name) { return fs::exists(path_ / name); });
}

fs::path RunFolder::last() const {
  for (const char* name : {kLast, kOld})
    if (fs::exists(path_ / name / "trainer.json")) return path_ / name;
  return path_ / kLast;
}

void RunFolder::check_free(bool overwrite) const {
  std::error_code ignored, unreadable;
  const fs::file_status status = fs::status(path_, ignored);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) fail("train", Option{"out"}, " must be a folder, got the file ", path_, ".");
  const bool free = has_only_leftovers(path_, unreadable);
  if (unreadable)
    fail("train", Option{"out"}, " must be readable, got ", path_, ": '", unreadable.message(), "'.");
  if (free || has_only_begun()) return;
  if (!overwrite)
    fail("train", Option{"out"}, " must be new or empty, got ", path_,
         " with files in it. Hint: ", Option{"resume"}, " continues the run there, ", Option{"overwrite"},
         " replaces it, ", Option{"out"}, " takes another folder.");
  if (!has_run())
    fail("train", Option{"overwrite"}, " replaces a run only, got ", path_,
         ", which has no train.json. Hint: use another ", Option{"out"}, ".");
}

bool RunFolder::is_free() const {
  std::error_code unreadable;
  return has_only_leftovers(path_, unreadable) || has_only_begun();
}

bool RunFolder::has_only_begun() const {
  const bool has_states = has_last() || fs::exists(path_ / kKept);
  return has_run() && !has_states && (!has_best() || fs::exists(path_ / kFresh)) && !logged_end(metrics());
}

bool RunFolder::has_run() const { return fs::exists(path_ / "train.json") || has_last(); }

void RunFolder::lock() {
  if (!held_->lock) held_->lock.emplace(path_);
}

void RunFolder::make_and_lock() {
  try {
    files::make_folders(path_);
  } catch (const RunError& e) {
    fail("train", Option{"out"}, " must be a folder that can be made: ", files::without_op(e.what()));
  }
  lock();
}

void RunFolder::unlock() { held_->lock.reset(); }

void RunFolder::check_there() const {
  if (!held_->lock) throw RunError("[run] ", path_, " must be locked before it is written, got no lock.");
  held_->lock->check();
}

void RunFolder::create(const ModelFiles& files, bool overwrite) {
  make_and_lock();
  check_free(overwrite);  // another run may have begun meanwhile
  remove_files();
  write_texts(files);  // with train.json, which was never absent: it marks the folder of a run
  on_disk([&] { fs::create_directory(path_ / kFresh); });  // until there is a state: see has_only_begun()
}

void RunFolder::remove_files() {
  on_disk([&] {
    for (const char* folder : {kOld, kFresh, kLast}) remove_state(path_ / folder);
    remove_kept_states(path_ / kKept);
    remove_run_files(path_);
  });
}

void RunFolder::clear(bool overwrite, bool keep_recipe) {
  check_free(overwrite);
  if (!has_run()) return;
  lock();
  remove_files();
  if (keep_recipe) return;
  on_disk([&] { fs::remove(path_ / "train.json"); });
}

std::vector<std::string> RunFolder::verify_files() {
  std::vector<std::string> notes;
  files::read_folder(path_, [&](const files::FolderSnapshot& files) {
    files.verify_those_there();
    held_->checksums = files.checksums().value_or(files::Checksums());
  });
  files::read_folder_at(
      [this] { return last(); },
      [&](const files::FolderSnapshot& state) {
        state.verify_all();
        if (!state.checksums())
          notes.push_back(concat("there are no checksums in ", state.folder().string(),
                                 ", so it is not known whether its files are as they were saved"));
      });
  return notes;
}

void RunFolder::write_texts(const ModelFiles& files) {
  if (!has_best())
    for (const char* model : kModels) held_->checksums.erase(model);
  files::FolderUpdate update(path_, held_->checksums);
  update.write("train.json", files.recipe());
  for (const auto& [name, text] : files.tokenizer) update.write(name, text);
  held_->checksums = update.commit();
}

void RunFolder::save_best(const ModelFiles& files) {
  check_there();
  files::FolderUpdate update(path_, held_->checksums);
  files.model(update);
  held_->checksums = update.commit();
}

void RunFolder::save_last(const ModelFiles& files, const Checkpoint& checkpoint) {
  check_there();
  const fs::path fresh = path_ / kFresh, last = path_ / kLast, old = path_ / kOld;
  on_disk([&] {
    if (has_last()) remove_state(fresh);
    fs::create_directory(fresh);  // not its parent, which is locked or was removed
    move_other_files(old, fresh);
    remove_state(old);
  });
  write_state(fresh, files, checkpoint);
  const fs::path before = replace_folder(fresh, last, old);
  try {
    move_other_files(before, last);
    remove_state(before);
  } catch (const fs::filesystem_error&) {  // The state is saved; the next save removes the rest.
  }
}

void RunFolder::keep_last(int64_t step, int64_t count) {
  if (count == 0) return;
  check_there();
  on_disk([&] { keep_state(path_ / kLast, path_ / kKept, step, count); });
}

bool RunFolder::has_last() const { return fs::exists(last() / "trainer.json"); }

bool RunFolder::can_resume() const {
  return has_last() || fs::exists(path_ / kMembersPlan) || fs::exists(path_ / kTeachersPlan);
}

fs::path RunFolder::with_recipe() const {
  if (!has_run())
    fail("train", Option{"resume"}, " needs a folder that `gradus train` made, got ", path_,
         ", which has no train.json.");
  const fs::path state = last();  // without train.json in a run of gradus 0.1, which is refused
  return fs::exists(state / "train.json") ? state : path_;
}

Checkpoint RunFolder::load_last() const {
  return files::read_folder_at([this] { return last(); }, load_checkpoint);
}

}  // namespace gradus::train
