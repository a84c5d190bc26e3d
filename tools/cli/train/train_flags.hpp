// The flags of `gradus train`: their names, help and grouping, and how they combine with presets, config
// files and the flags of a run that is resumed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "gradus/models/architecture.hpp"
#include "gradus/train/train_config.hpp"

namespace CLI {
class App;
}

namespace gradus::cli {

struct TrainFlags {
  /// What is on the command line; the rest shows the defaults.
  train::TrainConfig config = train::preset(train::usual_preset(models::usual_arch()));
  std::string config_file, out, profile;
  int64_t threads = 0, stop_after = 0;  ///< 0: not given
  int64_t sample_every = 0;             ///< 0: never
  int64_t profile_after = 10, profile_steps = 10;
  bool resume = false, overwrite = false, json = false, quiet = false;

  /// Adds the flags, bound to the members. Must stay where it is until they are parsed.
  void add_to(CLI::App& verb);
  /// After parsing: reads the config file, then puts the preset's values wherever no flag was given. Throws
  /// Error for values out of range.
  void settle(CLI::App& verb);
  /// Whether the command line or the config file has the flag.
  bool is_given(const std::string& flag) const { return given_.contains(flag); }
  /// The preset's values wherever no flag was given; those of the model of --init-from, if there is one.
  train::TrainConfig on_preset(const std::string& name) const;
  /// The config of a run that goes on: the saved one, with the flags that may change. Throws Error, naming
  /// it, for a flag that was given another value than the run has.
  train::TrainConfig resumed(const train::TrainConfig& saved) const;

 private:
  void check_choices() const;
  void settle_precision();
  void check_profile() const;
  std::set<std::string> given_;  // by the command line or the config file
};

}  // namespace gradus::cli
