// The table of `gradus sweep`: which runs it is of. A plain value.
//
//   seeds = [1, 2, 3]
//   [base]                    # flags of `gradus train`, for all runs
//   preset = "nano"
//   [try.muon]                # a setting; a list stands for a setting for each of its values
//   optimizer = "muon"
//   lr = [5e-3, 1e-2]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::cli {

struct SweptRun {
  std::string setting;             ///< "muon lr=5e-3": its name, and what the lists of it vary
  int64_t seed = 0;                ///< of the run
  std::vector<std::string> flags;  ///< of `gradus train`, but for --seed and --out
  std::string folder() const;      ///< a name for it, of letters, digits and - . =
};

/// All runs of a table, seeds one after another within a setting. Throws Error, naming `file`, line and
/// column, for what is no such table.
std::vector<SweptRun> parse_sweep(std::string_view text, const std::string& file);

}  // namespace gradus::cli
