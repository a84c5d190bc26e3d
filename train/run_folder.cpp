#include "gradus/train/run_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "gradus/autograd/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/models/gpt2_files.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModelFiles[] = {"config.json", "model.safetensors", "vocab.json"};
constexpr const char* kStateFiles[] = {"optimizer.safetensors", "trainer.json"};
constexpr const char* kStateFolders[] = {"last", "last.tmp", "last.old"};

/// Removes it, and what a crash in the middle of writing it left.
void remove_file(const fs::path& file) {
  fs::remove(file);
  fs::remove(file.string() + ".tmp");
}

/// Removes the files that save_last writes, and the folder unless something else is in it.
void remove_state(const fs::path& folder) {
  if (!fs::is_directory(folder)) return;
  for (const char* name : kModelFiles) remove_file(folder / name);
  for (const char* name : kStateFiles) remove_file(folder / name);
  if (fs::is_empty(folder)) fs::remove(folder);
}

void write_text(const fs::path& path, const std::string& text) {
  files::write_atomically(path, [&](std::ostream& out) { out << text; });
}

data::Tokenizer read_vocabulary(const fs::path& file) {
  return data::Tokenizer::from_json(files::read(file), file.string());
}

/// Makes renames in a folder last.
void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

/// Runs `work`, whose filesystem errors become RunErrors.
template <class F>
void on_disk(F&& work) {
  try {
    work();
  } catch (const fs::filesystem_error& e) {
    throw RunError(concat("[run] ", e.path1(), " must be writable, got '", e.code().message(), "'."));
  }
}

}  // namespace

void RunFolder::check_free(bool overwrite) const {
  std::error_code ignored;
  const fs::file_status status = fs::status(path_, ignored);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) fail("train", "--out must be a folder, got the file ", path_, ".");
  const bool empty = fs::is_empty(path_, ignored);
  if (ignored) fail("train", "--out must be readable, got ", path_, ": '", ignored.message(), "'.");
  if (empty) return;
  if (!overwrite)
    fail("train", "--out must be new or empty, got ", path_,
         " with files in it. Hint: --resume goes on with the run there, --overwrite starts it anew, --out "
         "takes another.");
  if (!fs::exists(path_ / "train.json"))
    fail("train", "--overwrite replaces a run only, got ", path_,
         ", which has no train.json. Hint: use another --out.");
}

void RunFolder::create(const TrainConfig& config, const data::Tokenizer& tokenizer) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error)
    fail("train", "--out must be a folder that can be made, got ", path_, ": '", error.message(), "'.");
  on_disk([&] {
    for (const char* name : kStateFolders) remove_state(path_ / name);
    for (const char* name : kModelFiles) remove_file(path_ / name);
    remove_file(path_ / "metrics.jsonl");
  });
  save_config(config);  // Replaced, never absent: it marks the folder as a run's.
  write_text(path_ / "vocab.json", tokenizer.to_json());
}

void RunFolder::save_config(const TrainConfig& config) { write_text(path_ / "train.json", to_json(config)); }

void RunFolder::save_best(const models::GPT& model) { models::save_pretrained(model, path_); }

bool RunFolder::has_best() const { return fs::exists(path_ / "model.safetensors"); }

void RunFolder::save_last(const models::GPT& model, const data::Tokenizer& tokenizer,
                          const Checkpoint& checkpoint) {
  const fs::path fresh = path_ / "last.tmp", last = path_ / "last", old = path_ / "last.old";
  on_disk([&] {
    remove_state(fresh);
    fs::create_directories(fresh);
  });
  models::save_pretrained(model, fresh);
  write_text(fresh / "vocab.json", tokenizer.to_json());
  nn::save_safetensors(fresh / "optimizer.safetensors", checkpoint.trainer.optimizer);
  write_text(fresh / "trainer.json", to_json(checkpoint));
  on_disk([&] {
    // Between the two renames last.old stands in (see last()).
    if (fs::exists(last)) {
      remove_state(old);
      fs::rename(last, old);
    }
    fs::rename(fresh, last);
    sync_folder(path_);
    remove_state(old);
  });
}

fs::path RunFolder::last() const {
  for (const char* name : {"last", "last.old"})
    if (fs::exists(path_ / name / "trainer.json")) return path_ / name;
  return path_ / "last";
}

TrainConfig RunFolder::load_config() const {
  const fs::path file = path_ / "train.json";
  if (!fs::exists(file))
    fail("train", "--resume needs a folder that `gradus train` made, got ", path_,
         ", which has no train.json.");
  return train_config_from_json(files::read(file), file.string());
}

data::Tokenizer RunFolder::load_tokenizer() const { return read_vocabulary(path_ / "vocab.json"); }

bool RunFolder::has_last() const { return fs::exists(last() / "trainer.json"); }

Checkpoint RunFolder::load_last() const {
  const fs::path file = last() / "trainer.json";
  Checkpoint checkpoint = checkpoint_from_json(files::read(file), file.string());
  checkpoint.trainer.optimizer = nn::load_safetensors(last() / "optimizer.safetensors");
  return checkpoint;
}

models::GPT RunFolder::load_last_model() const { return models::load_pretrained(last()); }

data::Tokenizer load_tokenizer(const fs::path& folder, const models::GPTConfig& config) {
  const data::Tokenizer tokenizer = read_vocabulary(folder / "vocab.json");
  if (tokenizer.vocab_size() != config.vocab_size)
    fail("vocabulary", folder / "vocab.json", " must have the model's ", config.vocab_size, " tokens, got ",
         tokenizer.vocab_size(), ".");
  return tokenizer;
}

}  // namespace gradus::train
