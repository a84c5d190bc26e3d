// RunFolder: the files of a training run, in open formats, which docs/run-folder.md lists.
//
// A file appears under its name only when it is whole, and last/ only when all of its files are: after a
// crash at any moment a run can resume, and readers, which take no lock, find files that belong together.
// Other files stay, except temporary names of these. Symbolic links are followed for reading; writing
// replaces the link, not its target. Not thread-safe; writers hold the lock.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gradus/train/run_folder/checkpoint.hpp"

namespace gradus::train {

/// The folder of a run.
class RunFolder {
 public:
  /// The subfolder of the models that this one learns from. It stays when the run is replaced, as their plan.
  static constexpr const char* kTeachers = "teachers";
  static constexpr const char* kTeachersPlan = "teachers.json";  ///< the file beside it
  static constexpr const char* kMembersPlan = "members.json";    ///< the file in the folder of an ensemble

  /// Does not access the folder.
  explicit RunFolder(std::filesystem::path path);
  ~RunFolder();
  const std::filesystem::path& path() const { return path_; }  ///< as passed to the constructor

  // Before writing.

  /// Throws Error unless the folder is absent or empty, or has a run that may be overwritten or that was
  /// stopped before it had a state, of which nothing is lost.
  void check_free(bool overwrite) const;
  /// Whether the folder has a run, even without a state.
  bool has_run() const;
  /// Whether the folder is empty but for what a run leaves that is killed before its first file.
  bool is_free() const;
  /// Locks the folder, which must exist, until this is destroyed. Throws Error if another run has the lock.
  void lock();
  /// Makes the folder first. Throws Error if it cannot be made.
  void make_and_lock();
  void unlock();  ///< ends the lock
  /// Makes and locks the folder, and removes the files of an earlier run. Throws Error if the folder cannot
  /// be made or is not free, RunError if the disk refuses later.
  void create(const ModelFiles& files, bool overwrite);
  /// Removes the run in the folder, if there is one. `keep_recipe`: leaves train.json, which marks a folder
  /// that a later run may replace. Throws Error as check_free().
  void clear(bool overwrite, bool keep_recipe = false);
  /// Compares every file that has a checksum with it. Throws Error, naming the file, if one differs. Returns
  /// notes for the user about files without checksums.
  std::vector<std::string> verify_files();
  /// Replaces train.json and the tokenizer's files. A resumed run calls verify_files() first.
  void write_texts(const ModelFiles& files);

  // Writing. Throws RunError if the disk refuses or the folder was removed; earlier saves stay.
  void save_best(const ModelFiles& files);  ///< the model's files, and their checksums
  /// Replaces last/.
  void save_last(const ModelFiles& files, const Checkpoint& checkpoint);
  /// Also keeps last/ as kept/step-N, and removes all but the latest `count` of these.
  void keep_last(int64_t step, int64_t count);
  /// Throws RunError if the locked folder was removed.
  void check_there() const;

  // Reading. Throws Error, naming the file, if one is missing or damaged.
  bool has_best() const;               ///< whether there is a best model
  bool has_last() const;               ///< whether there is a state to resume from
  bool can_resume() const;             ///< the same, or an ensemble or teachers, which may not have begun
  bool has_only_begun() const;         ///< whether the run was stopped before it had a state
  Checkpoint load_last() const;        ///< from trainer.json and optimizer.safetensors
  std::filesystem::path last() const;  ///< the folder of the newest state
  /// The folder with the run's train.json: that of the newest state or, if there is none, this one. Throws
  /// Error if there is no run.
  std::filesystem::path with_recipe() const;
  /// The path of metrics.jsonl.
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  /// A line for the user if the file system has no locks, else "".
  std::string lock_warning() const;

 private:
  void remove_files();  // of a run, but for train.json

  struct Held;  // the lock, and checksums

  std::filesystem::path path_;
  std::unique_ptr<Held> held_;
};

}  // namespace gradus::train
