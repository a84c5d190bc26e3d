#include "scenario.hpp"

#include "gradus/files/folder.hpp"
#include "gradus/files/hashes.hpp"

namespace gradus::testing {

namespace fs = std::filesystem;
using Files = std::vector<std::pair<std::string, std::string>>;

namespace {

/// The files that two runs of the same flags have in common.
Files results(const fs::path& folder) {
  Files files;
  for (const char* name : {"model.safetensors", "config.json", "vocab.json", "train.json", "checksums.sfv",
                           "last/model.safetensors", "last/optimizer.safetensors", "last/trainer.json",
                           "last/train.json", "last/checksums.sfv"})
    files.emplace_back(name, cli::read(folder / name));
  return files;
}

/// Do the states that were kept have the bytes that were saved, and the newest those of the run's end?
bool kept_are_whole(const fs::path& folder) {
  if (!fs::exists(folder / "kept/step-3")) return false;
  for (const auto& entry : fs::directory_iterator(folder / "kept")) {
    const fs::path& state = entry.path();
    if (state.filename() == "step-3" && cli::contents(state) != cli::contents(folder / "last")) return false;
    try {  // Of one that was being removed a part is left.
      files::read_folder(state, [](const files::FolderSnapshot& files) { files.verify_those_there(); });
    } catch (const Error&) {
      return false;
    }
  }
  return true;
}

/// Do the newest states of two runs have the same bits?
bool same_state(const Files& one, const Files& two) {
  return std::equal(one.begin(), one.end(), two.begin(), two.end(),
                    [](const auto& a, const auto& b) { return !a.first.starts_with("last/") || a == b; });
}

void restore(const fs::path& folder, const Files& files) {
  for (const auto& [name, bytes] : files) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << bytes;
  }
}

/// All names and bytes below a folder, but for speeds in the log and numbers of processes in the lock.
std::string fingerprint(const fs::path& root) {
  std::string text;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.is_directory()) text += entry.path().string() + "/\n";
  for (auto [name, bytes] : cli::contents(root)) {
    if (name.ends_with("metrics.jsonl"))
      bytes = std::to_string(cli::lines_of(bytes).size()) + (bytes.ends_with('\n') ? "whole" : "torn");
    if (name.ends_with(".lock")) bytes = bytes.empty() ? "" : "a process";
    text += name + " " + std::to_string(bytes.size()) + "\n" + bytes;
  }
  return files::sha256(text);
}

void must_succeed(const std::vector<std::string>& arguments) {
  const cli::Outcome outcome = cli::run_program(arguments);
  if (outcome.code != 0) throw std::runtime_error("the scenario cannot be set up: " + outcome.err);
}

}  // namespace

Scenario::Scenario(Kind kind)
    : kind_(kind), text_(scratch_.file("text.txt", train::small_text().substr(0, 600))) {
  fs::create_directories(root());
  if (kind == overwrite) {
    must_succeed(train({"--stop-after", "1", "--seed", "7"}));
    before_ = cli::contents(out());
    must_succeed(train({"--resume"}));
    earlier_ = results(out());
    must_succeed(train({"--overwrite"}));
  } else {
    if (kind == resume) {
      must_succeed(train({"--stop-after", "1"}));
      before_ = cli::contents(out());
    }
    must_succeed(train({kind == resume ? "--resume" : "--quiet"}));
  }
  finished_ = results(out());
}

const char* Scenario::name() const {
  return kind_ == start ? "start" : kind_ == resume ? "resume" : "overwrite";
}

void Scenario::set_up() const {
  fs::remove_all(root());
  fs::create_directories(root());
  restore(out(), before_);
  if (before_.empty()) fs::remove_all(root() / "runs");
}

Traced Scenario::run(const std::function<Verdict(const SystemCall&)>& before) const {
  set_up();
  return trace(arguments(), {.before = before});
}

std::vector<std::string> Scenario::arguments() const {
  return train({kind_ == start ? "--quiet" : kind_ == resume ? "--resume" : "--overwrite"});
}

std::vector<std::string> Scenario::train(const std::vector<std::string>& more) const {
  return cli::args(
      "train --preset tiny --layers 1 --heads 1 --embd 4 --block 4 --batch 2 --steps 3 --warmup 0 "
      "--eval-every 1 --save-every 1 --threads 1 --keep 1 --quiet --text",
      text_, "--out", out().string(), more);
}

bool Scenario::is_finished() const { return results(out()) == finished_ && kept_are_whole(out()); }

std::string Scenario::why_refused(const cli::Outcome& outcome) const {
  if (cli::lines_of(outcome.err).size() == 1 && outcome.err.starts_with("gradus: ")) return "";
  return "refused by code " + std::to_string(outcome.code) + " and: " + outcome.err;
}

std::string Scenario::recover(bool saved) const {
  const std::string before = (saved ? "saved" : "") + fingerprint(root());
  if (recovered_.contains(before)) return "";
  const std::string wrong = try_to_recover(saved);
  if (wrong.empty()) recovered_.insert(before);
  return wrong;
}

std::string Scenario::try_to_recover(bool saved) const {
  const cli::Outcome resumed = cli::run_program(train({"--resume"}));
  if (resumed.code == 0 && is_finished()) return "";
  // Of a run that was to be overwritten the whole may be there still, but never a part.
  if (resumed.code == 0 && (kind_ != overwrite || !same_state(earlier_, results(out()))))
    return "resumed to another end";
  if (resumed.code != 0 && saved) return "not resumed: " + resumed.err;
  if (resumed.code != 0)
    if (const std::string reason = why_refused(resumed); !reason.empty()) return reason;
  const cli::Outcome begun = cli::run_program(arguments());
  if (begun.code != 0) return "not begun anew: " + begun.err;
  return is_finished() ? "" : "begun anew to another end";
}

}  // namespace gradus::testing
