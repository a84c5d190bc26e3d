// The table of `gradus sweep`, which lists runs. A plain value.
//
//   seeds = [1, 2, 3]
//   [base]                    # flags of `gradus train`, for all runs
//   preset = "nano"
//   [try.muon]                # a setting; a list makes one setting for each of its values
//   optimizer = "muon"
//   lr = [5e-3, 1e-2]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::cli {

struct SweptRun {
  std::string setting;             ///< "muon lr=5e-3": its name, and the values from lists
  int64_t seed = 0;                ///< seed of the run
  std::vector<std::string> flags;  ///< of `gradus train`, without --seed and --out
  std::string folder() const;      ///< a folder name from letters, digits and - . =
};

/// All runs of a table, with the seeds of a setting one after another. Throws Error with `file`, line and
/// column for a text that is no such table.
std::vector<SweptRun> parse_sweep(std::string_view text, const std::string& file);

}  // namespace gradus::cli
