// The flags of `gradus train`, and how they combine with presets, config files and a resumed run's settings.
#pragma once

#include <cstdint>
#include <string>

#include "gradus/cli/program/setting_flags.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::cli {

struct TrainFlags {
  /// The settings: as given, and complete after settle().
  train::TrainConfig config;
  std::string config_file, out, profile;
  int64_t threads = 0, ranks = 0, members = 0, stop_after = 0;  ///< 0: not given
  int64_t sample_every = 0;                                     ///< 0: never
  int64_t profile_after = 10, profile_steps = 10;
  bool resume = false, overwrite = false, json = false, quiet = false, tensorboard = false;

  /// Adds the flags, bound to the members. Must not move until they are parsed.
  void add_to(CLI::App& verb);
  /// Call it after parsing. Reads the config file, and fills in the preset's values. Throws Error for values
  /// out of range.
  void settle(CLI::App& verb);
  /// Whether the command line or the config file has the flag.
  bool is_given(std::string_view flag) const { return settings_.is_given(flag); }
  /// Whether --minutes chooses the tokenizer and the size of its vocabulary.
  bool plans_vocab() const;
  /// The settings with another preset, or those of the model of --init-from, if it was given.
  train::TrainConfig on_preset(const std::string& name) const;
  /// The settings of a resumed run: the saved ones, with the changes of flags that may change. Throws Error
  /// for the change of another flag.
  train::TrainConfig resumed(const train::TrainConfig& saved) const;

 private:
  void check_tokenizer() const;
  void settle_precision();
  void check_others() const;

  SettingFlags settings_;
};

/// The presets, the precedence of flags, and examples; `program` is the name by which the user calls it.
std::string train_footer(const std::string& program);

}  // namespace gradus::cli
