// The flags of settings (train/settings.hpp), for the verbs that have some of them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "gradus/models/architecture.hpp"
#include "gradus/train/train_config.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gradus::cli {

class SettingFlags {
 public:
  /// The given values; the others are the defaults that the help shows.
  train::TrainConfig config = train::preset(train::usual_preset(models::usual_arch()));
  bool auto_precision = false;  ///< whether --precision auto was given

  /// Adds the flag of the row to the verb. Must not move until the flags are parsed.
  CLI::Option* add(CLI::App& verb, const train::Setting& row);
  bool is_given(std::string_view key) const;
  bool is_any_given() const;
  /// `to` with the values that were given.
  train::TrainConfig given(train::TrainConfig to) const;

 private:
  std::map<std::string, CLI::Option*, std::less<>> options_;
};

/// The flag for a setting or option of the library that an Error names: --min-lr for min_lr, or `min_lr` if
/// there is no flag. `verb` is the one that ran, or null.
std::string flag_of(std::string_view field, const CLI::App* verb);

}  // namespace gradus::cli
