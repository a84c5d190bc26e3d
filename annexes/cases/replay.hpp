// Replay: runs computations that were recorded in PyTorch, and reports the first step that differs.
//
// A file has cases, each a program over named tensors with the results of its steps; README.md of this folder
// has the format. Reports are plain values. Thread-safe: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::cases {

/// The verdict on one expected result of a step.
struct ReplayCheck {
  std::string case_name;
  int64_t step;         ///< index in the case's list of steps
  std::string op;       ///< operation of the step
  std::string out;      ///< name of the tensor that was checked
  std::string kind;     ///< "expected", "value", "weights" (bit for bit) or "text" (character for character)
  bool passed;          ///< whether it holds
  double worst;         ///< largest absolute error of an element; infinite if the tensors cannot be compared
  std::string message;  ///< the first difference, on one line; empty if there is none
};

struct ReplayCase {
  std::string name;
  size_t checks;  ///< number of its checks in the report
};

struct ReplayReport {
  std::vector<ReplayCase> cases;    ///< the cases that ran, in the order of the file
  std::vector<ReplayCheck> checks;  ///< case by case, in the order of their steps

  int64_t passed() const;
  int64_t failed() const { return static_cast<int64_t>(checks.size()) - passed(); }
};

/// Runs the cases of a file, or only those of the name `only`. Throws Error with file, case and step if the
/// file cannot be read, is malformed, or holds a step that cannot be run, and if no case has that name.
ReplayReport replay(const std::filesystem::path& file, std::string_view only = {});
/// The same for the text of a file, which errors call `file`.
ReplayReport replay_text(std::string_view text, const std::string& file, std::string_view only = {});

}  // namespace gradus::cases
