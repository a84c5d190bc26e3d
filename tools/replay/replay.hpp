// Replay: runs computations that were carried over from PyTorch as a file, and says which step differs first.
//
// A file is a list of cases, each a straight program over named tensors with what its steps should give;
// tools/replay/README.md tells how to write one. Reports are plain values. Thread-safe: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::tools {

/// The verdict on one thing that a step says of its result.
struct ReplayCheck {
  std::string case_name;
  int64_t step;         ///< index in the case's list of steps
  std::string op;       ///< what the step does
  std::string out;      ///< name of the tensor that was checked
  std::string kind;     ///< "expected", "value", "weights" (bit for bit) or "text" (character for character)
  bool passed;          ///< whether it holds
  double worst;         ///< largest absolute error of an element; infinite if that means nothing
  std::string message;  ///< what differs, on one line; empty if nothing does
};

struct ReplayCase {
  std::string name;
  size_t checks;  ///< how many of the report's are its
};

struct ReplayReport {
  std::vector<ReplayCase> cases;    ///< what was run, in the file's order
  std::vector<ReplayCheck> checks;  ///< case by case, in the order of their steps

  int64_t passed() const;
  int64_t failed() const { return static_cast<int64_t>(checks.size()) - passed(); }
};

/// Runs the cases of a file, or only those of the name `only`. Throws Error with file, case and step if the
/// file cannot be read, is malformed, or holds a step that cannot be run, and if no case has that name.
ReplayReport replay(const std::filesystem::path& file, std::string_view only = {});
/// The same for a file's text; `file` is what errors call it.
ReplayReport replay_text(std::string_view text, const std::string& file, std::string_view only = {});

}  // namespace gradus::tools
