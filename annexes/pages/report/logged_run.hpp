// LoggedRun: what a run has written so far, for its page. It is read while the run goes on. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace gradus::pages {

/// A column for each key of the events of one kind; values that are missing are NaN.
using Columns = std::map<std::string, std::vector<double>, std::less<>>;

/// The norms of a layer's or a parameter's values, gradient and update.
struct Norms {
  std::string name;
  double norm = 0, grad_norm = 0, update_norm = 0;
};

/// Measurements before an evaluation.
struct Layers {
  double step = 0, examples = 0, part_examples = 0, part_grad_norm = 0;
  std::vector<Norms> parameters;
};

class LoggedRun {
 public:
  /// `run`: a run folder, or its metrics.jsonl. Throws Error if there is no log.
  explicit LoggedRun(const std::filesystem::path& run);

  /// Reads the lines that were added since the last call, or the whole log if it was replaced. An incomplete
  /// last line is left for the next call. Returns whether there were any. Throws Error with file and line for
  /// a line that is not a record.
  bool update();

  const std::string& name() const { return name_; }  ///< of the run's folder, as printable text
  const std::filesystem::path& folder() const { return folder_; }
  const Columns& steps() const { return steps_; }  ///< step, loss, lr, grad_norm, tokens_per_s, elapsed_s
  const Columns& evaluations() const { return evals_; }  ///< step, val_loss, tokens, peak_bytes, elapsed_s
  const Columns& end() const { return end_; }            ///< steps, val_loss, seconds; empty: not done
  const std::vector<Layers>& layers() const { return layers_; }
  const std::vector<std::pair<double, std::string>>& samples() const { return samples_; }  ///< by step
  const std::string& start() const { return start_; }  ///< the record of the last start, JSON; may be empty

 private:
  void add(const std::string& line, int64_t number);

  std::filesystem::path folder_, file_;
  std::string name_;
  uintmax_t offset_ = 0;
  uint64_t file_number_ = 0;  // a resumed run replaces its log
  int64_t lines_ = 0;
  Columns steps_, evals_, end_;
  std::vector<Layers> layers_;
  std::vector<std::pair<double, std::string>> samples_;
  std::string start_;
};

/// Sums the squares of the norms of the parameters of each layer: those whose names agree up to the first
/// number, as in model.layers.3, or without the last part, as in model.norm. In their order.
std::vector<Norms> by_layer(const std::vector<Norms>& parameters);

}  // namespace gradus::pages
