#include "gradus/train/run_folder/run_folder.hpp"
#include "gradus/train/run_folder/run_lock.hpp"

#include <unistd.h>

#include "autograd/compare.hpp"
#include "files_below.hpp"
#include "gradus/files/file.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/run.hpp"
#include "gradus/train/run_folder/state_files.hpp"
#include "small_model.hpp"
#include "temporary_folder.hpp"

namespace gradus::train::test_run_folder {

using namespace testing;

namespace fs = std::filesystem;

TrainConfig tiny_config(int64_t steps) {
  TrainConfig config = small_config();
  config.model.n_embd = 4;
  config.model.n_head = config.model.n_layer = 1;
  config.steps = steps;
  config.eval_every = config.save_every = 1;
  return config;
}

/// A run in a folder.
struct Training {
  explicit Training(const fs::path& out, const TrainConfig& config = tiny_config(2))
      : small(config), folder(out) {}

  RunReport run(std::optional<double> best = {}) {
    Observer nobody;
    Run run{.trainer = small.trainer,
            .folder = folder,
            .files = files(),
            .validation = small.dataset.validation_batches(evaluation_batch(small.config.model)),
            .text_sha256 = "0123",
            .best_val_loss = best};
    return train::run(run, nobody);
  }
  ModelFiles files() const { return decoder_files(small.model, small.config, small.tokenizer); }
  RunReport begin() {
    folder.create(files(), false);
    return run();
  }

  SmallRun small;
  RunFolder folder;
};

/// Reads all that a run reads that goes on, as it does.
void load_all(const fs::path& out) {
  RunFolder folder(out);
  (void)folder.verify_files();
  (void)load_config(folder);
  (void)load_tokenizer(folder);
  (void)folder.load_last();
  (void)load_last_model(folder);
}

/// Flips a bit in each `stride`-th byte, and adds and takes away bytes. Returns how many damages were tried.
int damage(const fs::path& out, size_t stride) {
  int tried = 0;
  const std::map<std::string, std::string> files = files_below(out);
  CHECK(files.size() == 7 + 9);
  for (const auto& [name, good] : files) {
    const fs::path file = out / name;
    std::vector<std::string> damaged = {good + std::string(1, '\0') + "garbage", good + "\n", good + " ",
                                        good.substr(0, good.size() - 1), ""};
    for (size_t at = good.size() % stride; at < good.size(); at += stride) {
      damaged.push_back(good);
      damaged.back()[at] = static_cast<char>(good[at] ^ 1 << (at + at / 8) % 8);
    }
    for (const std::string& bad : damaged) {
      std::ofstream(file, std::ios::binary) << bad;
      CHECK_THAT(error_of([&] { load_all(out); }),
                 Catch::Matchers::StartsWith("[checksum] " + file.string()));
      ++tried;
    }
    std::ofstream(file, std::ios::binary) << good;
  }
  CHECK(error_of([&] { load_all(out); }) == "");
  return tried;
}

TEST_CASE("a changed byte of any file of a state is named before anything is used") {
  const testing::TemporaryFolder folder;
  Training(folder / "run").begin();
  CHECK(damage(folder / "run", 97) > 100);
}

TEST_CASE("every byte of every file of a state is covered", "[soak]") {
  const testing::TemporaryFolder folder;
  Training(folder / "run").begin();
  std::cout << "damaged " << damage(folder / "run", 1) << " times\n";
}

TEST_CASE("a damaged tensor is named by whoever reads it") {
  const testing::TemporaryFolder folder;
  const fs::path out = folder / "run";
  Training(out).begin();
  const auto flip_last_byte = [](const fs::path& file) {
    std::string bytes = files::read(file);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    std::ofstream(file, std::ios::binary) << bytes;
    return file.string() + " must have the bytes that were saved, got others in ";
  };
  const std::string best = "[checksum] " + flip_last_byte(out / "model.safetensors") + "wte.weight.";
  CHECK_THAT(error_of([&] { load_trained(out); }), Catch::Matchers::StartsWith(best));
  const std::string last = "[checksum] " + flip_last_byte(out / "last/model.safetensors") + "wte.weight.";
  CHECK_THAT(error_of([&] { load_last_model(RunFolder(out)); }), Catch::Matchers::StartsWith(last));
  const std::string moments =
      "[checksum] " + flip_last_byte(out / "last/optimizer.safetensors") + "v.wte.weight.";
  CHECK_THAT(error_of([&] { RunFolder(out).load_last(); }), Catch::Matchers::StartsWith(moments));
}

TEST_CASE("one run at a time writes to a folder") {
  const testing::TemporaryFolder folder;
  const fs::path out = folder / "run";
  Training first(out);
  first.begin();
  {
    RunFolder second(out);
    CHECK(error_of([&] { second.lock(); })
              .starts_with(concat("[train] a folder must be written by one run at a time, got ", out.string(),
                                  ", where process ", ::getpid(), " on ")));
    CHECK_HAS(error_of([&] { second.create(first.files(), true); }), "one run at a time");
    load_all(out);  // Readers need no lock.
  }
  first.folder.save_best(first.files());
}

TEST_CASE("the lock goes with the one who had it, and what it left means nothing") {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / RunLock::kFile) << "process 1 on elsewhere";
  for (int i = 0; i < 2; ++i) {
    const RunLock lock(folder.path());
    CHECK(lock.warning().empty());
    lock.check();
    fs::resize_file(folder / RunLock::kFile, 0);  // and says nothing of its holder
    CHECK_HAS(testing::error_of([&] { const RunLock second(folder.path()); }), "another process");
  }
}

TEST_CASE("a folder that goes while a run trains there fails the run") {
  const testing::TemporaryFolder folder;
  const fs::path out = folder / "run";
  Training training(out);
  training.folder.create(training.files(), false);
  const std::string fate = GENERATE("removed", "moved", "made anew");
  INFO(fate);
  fs::rename(out, folder / "moved");
  if (fate != "moved") fs::remove_all(folder / "moved");
  if (fate == "made anew") {
    fs::create_directory(out);
    std::ofstream(out / RunLock::kFile) << "";
  }
  CHECK_THROWS_AS(training.folder.save_best(training.files()), RunError);
  CHECK_THROWS_AS(training.run(), RunError);
  CHECK_FALSE(fs::exists(out / "model.safetensors"));
}

TEST_CASE("what is not the run's stays in last/ and never stops a run") {
  const testing::TemporaryFolder folder;
  const fs::path out = folder / "run";
  const auto put = [&](const char* where) {
    fs::create_directories(out / where / "notes");
    std::ofstream(out / where / ".DS_Store") << where;
    std::ofstream(out / where / "notes/today") << "mine";
  };
  put("last");
  std::ofstream(out / "train.json") << "a run's";
  Training training(out, tiny_config(3));
  training.folder.create(training.files(), true);
  const bool is_alone = GENERATE(true, false);
  if (!is_alone) {  // As crashes may leave it.
    put("last.old");
    put("last.tmp");
  }
  training.run();
  load_all(out);
  std::vector<std::string> kept;
  for (const char* name : {".DS_Store", ".DS_Store.1", ".DS_Store.2"})
    if (fs::exists(out / "last" / name)) kept.push_back(files::read(out / "last" / name));
  std::sort(kept.begin(), kept.end());
  CHECK(kept == (is_alone ? std::vector<std::string>{"last"}
                          : std::vector<std::string>{"last", "last.old", "last.tmp"}));
  CHECK(files::read(out / "last/notes/today") == "mine");
  CHECK_FALSE(fs::exists(out / "last.tmp"));
  CHECK_FALSE(fs::exists(out / "last.old"));
}

TEST_CASE("the best loss is kept, and a worse model does not take its place") {
  const testing::TemporaryFolder folder;
  const fs::path out = folder / "run";
  Training training(out);
  const RunReport report = training.begin();
  REQUIRE(report.val_loss);
  CHECK(RunFolder(out).load_last().best_val_loss == report.val_loss);

  const std::string best = files::read(out / "model.safetensors");
  Training worse(folder / "worse");
  worse.folder.create(worse.files(), false);
  worse.run(1e-3);
  CHECK_FALSE(worse.folder.has_best());
  CHECK(worse.folder.load_last().best_val_loss == 1e-3);
}

TEST_CASE("the states of the last saves stay, if asked for, and a run can be taken back to one") {
  const testing::TemporaryFolder folder;
  const fs::path out = folder / "run", kept = out / "kept";
  TrainConfig config = tiny_config(5);
  config.keep = 2;
  fs::create_directories(kept / "step-1");
  fs::create_directories(kept / "step-one");
  std::ofstream(kept / "step-1/notes") << "mine";
  std::ofstream(out / "train.json") << "a run's";
  {
    Training training(out, config);
    training.folder.create(training.files(), true);
    training.run();
  }
  CHECK(fs::exists(kept / "step-1/notes"));
  CHECK(fs::exists(kept / "step-one"));
  CHECK_FALSE(fs::exists(kept / "step-2"));
  CHECK_FALSE(fs::exists(kept / "step-3"));
  const auto model = [&](const fs::path& state) { return files::read(state / "model.safetensors"); };
  const std::string after_5 = model(out / "last");
  CHECK(model(kept / "step-5") == after_5);
  CHECK(model(kept / "step-4") != after_5);
  CHECK_FALSE(fs::equivalent(kept / "step-5", out / "last"));

  fs::remove_all(out / "last");
  fs::copy(kept / "step-4", out / "last");
  fs::copy(kept / "step-4", kept / "step-9");  // of a run that went further
  {
    Training again(out, config);
    again.folder.lock();
    (void)again.folder.verify_files();
    again.small.trainer.restore(again.folder.load_last().trainer);
    again.small.model.load_state_dict(load_last_model(again.folder).state_dict());
    again.run();
  }
  CHECK(model(out / "last") == after_5);
  for (const char* name : {"step-4", "step-5", "step-9"}) CHECK(fs::exists(kept / name));

  Training anew(out, tiny_config(1));
  anew.folder.create(anew.files(), true);
  for (const char* name : {"step-4", "step-5", "step-9"}) CHECK_FALSE(fs::exists(kept / name));
  CHECK(files::read(kept / "step-1/notes") == "mine");
}

TEST_CASE("a state is kept whole, whatever is in its place: the rest of another, itself, a part, or a link") {
  const testing::TemporaryFolder folder;
  const fs::path out = folder / "run", kept = out / "kept", place = kept / "step-7";
  Training training(out);
  training.begin();
  fs::create_directories(kept / "step.tmp");
  std::ofstream(kept / "step.tmp/merges.txt") << "of a run with another tokenizer";
  const auto before = fs::file_time_type::clock::now() - std::chrono::hours(1);
  const auto is_left = [&] {
    fs::last_write_time(place, before);
    const auto time = fs::last_write_time(place);
    keep_state(out / "last", kept, 7, 1);
    CHECK(files_below(place) == files_below(out / "last"));
    return fs::last_write_time(place) == time;
  };
  keep_state(out / "last", kept, 7, 1);
  CHECK(is_left());
  fs::remove(place / "trainer.json");
  CHECK_FALSE(is_left());
  files::write_atomically(place / "checksums.sfv", [](std::ostream& list) { list << "of another"; });
  CHECK_FALSE(is_left());

  const fs::path elsewhere = folder / "elsewhere";
  fs::rename(kept, elsewhere);
  for (const char* name : {"step-3", "step-5", "step-9"}) fs::copy(out / "last", elsewhere / name);
  fs::create_directory_symlink(elsewhere, kept);
  const auto theirs = files_below(elsewhere);
  keep_state(out / "last", kept, 8, 3);
  CHECK_FALSE(fs::is_symlink(kept));
  CHECK_FALSE(fs::exists(kept / "step-3"));
  for (const char* name : {"step-5", "step-7", "step-8", "step-9"})
    CHECK(files_below(kept / name) == files_below(out / "last"));
  CHECK(files_below(elsewhere) == theirs);
}

TEST_CASE("what is not finite is not saved, and what was stays") {
  const testing::TemporaryFolder folder;
  const fs::path out = folder / "run";
  TrainConfig config = tiny_config(4);
  config.eval_every = 1000;  // No loss is looked at between the update and saving.
  config.val_fraction = 0;
  Training training(out, config);
  training.begin();
  const std::string state = files::read(out / "last/model.safetensors"),
                    best = files::read(out / "model.safetensors");

  TrainConfig wild = config;
  wild.steps = 8;
  wild.lr = 1e39;
  wild.warmup = 0;
  Training going_on(out, wild);
  if (GENERATE(false, true)) {  // Moments too may be beyond reach.
    TrainerState broken = going_on.small.trainer.state();
    broken.optimizer.at("v.wpe.weight").copy_(full({1}, INFINITY));
    going_on.small.trainer.restore(broken);
    CHECK_HAS(error_of([&] { going_on.small.trainer.check_finite(); }),
              "got a value of v.wpe.weight that is not");
  }
  CHECK_THROWS_AS(going_on.run(), RunError);
  CHECK(files::read(out / "last/model.safetensors") == state);
  CHECK(files::read(out / "model.safetensors") == best);
  load_all(out);
}

TEST_CASE("a state without checksums can be resumed") {
  const testing::TemporaryFolder folder;
  const fs::path out = folder / "run";
  Training(out).begin();
  for (const char* file : {".lock", "checksums.sfv", "last/checksums.sfv"}) fs::remove(out / file);
  RunFolder old(out);
  const std::vector<std::string> notes = old.verify_files();
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Catch::Matchers::StartsWith("there are no checksums in " + (out / "last").string()));
  load_all(out);
}

}  // namespace gradus::train::test_run_folder
