// The table of `sweep`: settings of `train`, and seeds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::cli {

/// A run of the table.
struct SweptRun {
  std::string setting;             ///< "muon lr=5e-3": its name, and the values from lists
  int64_t seed = 0;                ///< of the run
  std::vector<std::string> flags;  ///< of `gradus train`, without --seed and --out

  /// A folder name from letters, digits and - . =
  std::string folder() const;
};

/// Reads a table of the runs, with the seeds of a setting one after another:
///   seeds = [1, 2, 3]
///   [base]                    # flags of `gradus train`, for all runs
///   preset = "nano"
///   [try.muon]                # a setting; a list makes one setting for each of its values
///   optimizer = "muon"
///   lr = [5e-3, 1e-2]
/// Throws Error with file, line and column for any other text.
std::vector<SweptRun> read_sweep_table(const std::string& file);

}  // namespace gradus::cli
