// The smallest runs that do all that runs do to a disk, and what must be true of a folder after any fault.
#pragma once

#include "cli/program.hpp"
#include "tracer.hpp"

namespace gradus::testing {

/// A run of three steps that evaluates and saves after each.
class Scenario {
 public:
  enum Kind { start, resume, overwrite };
  explicit Scenario(Kind kind);

  Kind kind() const { return kind_; }
  const char* name() const;
  /// Puts the folder into the state from which the scenario begins.
  void set_up() const;
  /// What it runs.
  std::vector<std::string> arguments() const;
  /// Runs it, from that state, under trace().
  Traced run(const std::function<Verdict(const SystemCall&)>& before) const;
  /// The folder of the run, and a folder above it that nothing else writes to.
  std::filesystem::path out() const { return root() / "runs" / "run"; }
  std::filesystem::path root() const { return scratch_.path("root"); }

  /// Does the folder hold the whole run, bit for bit?
  bool is_finished() const;
  /// Starts or resumes the run in the folder as a user would, to its end. Returns what is wrong with that,
  /// or "". With `saved`, resuming must do. A folder that has been seen before is not tried again.
  std::string recover(bool saved) const;

 private:
  std::vector<std::string> train(const std::vector<std::string>& more) const;
  std::string try_to_recover(bool saved) const;
  std::string why_refused(const cli::Outcome& outcome) const;

  cli::Scratch scratch_;
  Kind kind_;
  std::string text_;
  std::vector<std::pair<std::string, std::string>> before_, finished_, earlier_;
  mutable std::set<std::string> recovered_;  // what the folders held that could be recovered
};

}  // namespace gradus::testing
