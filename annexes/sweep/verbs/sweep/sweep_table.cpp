#include "gradus/annexes/sweep/verbs/sweep/sweep_table.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "gradus/cli/program/config_file.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/nearest.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::cli {
namespace {

constexpr int64_t kMostRuns = 10'000;

class SweepParser {
 public:
  explicit SweepParser(const std::string& file) : file_(file) {
    for (const train::Setting& row : train::settings()) {
      flags_.emplace_back(row.key);
      if (row.is_list()) lists_.emplace(row.key);
    }
    std::erase(flags_, "seed");
  }

  std::vector<SweptRun> parse(std::string_view text) {
    const toml::table table = parse_sections(text, file_);
    for (const auto& [key, value] : table) take(key, value);
    if (settings_.empty()) fail("sweep", file_, ": must have a section [try.NAME] at least, got none.");
    double count = 0;
    for (const auto& [name, entries] : settings_) count += number_of_runs(entries);
    if (count > kMostRuns)
      fail("sweep", file_, ": must have at most ", kMostRuns, " runs, got ", count,
           ", the product of the lengths of its lists and the number of seeds.");
    std::vector<SweptRun> runs;
    for (const auto& [name, entries] : settings_)
      for (SweptRun& run : expanded(name, entries)) runs.push_back(std::move(run));
    std::set<std::string> folders;
    for (const SweptRun& run : runs)
      if (!folders.insert(run.folder()).second)
        fail("sweep", file_, ": must have each setting and seed once, got ", files::in_quotes(run.setting),
             ", seed ", run.seed, " again.");
    return runs;
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const toml::source_position& at, const Parts&... parts) const {
    fail("sweep", file_, ":", at.line, ":", at.column, ": ", parts...);
  }

  void take(const toml::key& key, const toml::node& value) {
    const toml::source_position at = key.source().begin;
    if (key.str() == "seeds") {
      take_seeds(config_item(key, value, file_));
    } else if (key.str() == "base" && value.is_table()) {
      for (const ConfigItem& item : entries(*value.as_table())) append(base_, item.key, item.values);
    } else if (key.str() == "try" && value.is_table()) {
      for (const auto& [name, setting] : *value.as_table()) {
        if (!setting.is_table()) refuse(name.source().begin, "try.", name.str(), " must be a section.");
        settings_.emplace_back(name.str(), entries(*setting.as_table()));
      }
    } else {
      refuse(at, "must have seeds, [base] and [try.NAME] only, got ", files::in_quotes(key.str()), ".");
    }
  }

  void take_seeds(const ConfigItem& item) {
    seeds_.clear();
    for (const std::string& text : item.values) {
      int64_t& seed = seeds_.emplace_back();
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
      if (error != std::errc() || end != text.data() + text.size() || seed < 0 || seed > kMostCount)
        refuse(item.at, "seeds must be whole numbers from 0 to ", kMostCount, ", got ",
               files::in_quotes(text), ".");
    }
    if (seeds_.empty()) refuse(item.at, "seeds must be one at least, got none.");
  }

  std::vector<ConfigItem> entries(const toml::table& table) const {
    std::vector<ConfigItem> all;
    for (const auto& [key, value] : table) {
      const ConfigItem& item = all.emplace_back(config_item(key, value, file_));
      if (std::find(flags_.begin(), flags_.end(), item.key) == flags_.end())
        refuse(item.at, "must have flags of `train` as keys, got ", files::in_quotes(item.key), ".",
               did_you_mean(item.key, flags_, "train --help-all lists them."));
      if (item.values.empty()) refuse(item.at, item.key, " must have a value, got none.");
    }
    return all;
  }

  static void append(std::vector<std::string>& flags, const std::string& flag,
                     const std::vector<std::string>& values) {
    if (values.size() == 1) {  // switches need the =
      flags.push_back("--" + flag + "=" + values[0]);
      return;
    }
    flags.push_back("--" + flag);
    flags.insert(flags.end(), values.begin(), values.end());
  }

  /// The values of each setting: all together for a flag that takes a list, else one by one.
  std::vector<std::vector<std::string>> alternatives(const ConfigItem& entry) const {
    if (lists_.contains(entry.key)) return {entry.values};
    std::vector<std::vector<std::string>> all;
    for (const std::string& value : entry.values) all.push_back({value});
    return all;
  }

  double number_of_runs(const std::vector<ConfigItem>& entries) const {
    auto count = static_cast<double>(seeds_.size());
    for (const ConfigItem& entry : entries) count *= static_cast<double>(alternatives(entry).size());
    return count;
  }

  /// The runs of a section [try.NAME].
  std::vector<SweptRun> expanded(const std::string& name, const std::vector<ConfigItem>& entries) const {
    std::vector<SweptRun> runs{{name, 0, base_}};
    for (const ConfigItem& entry : entries) {
      std::vector<SweptRun> more;
      const auto all = alternatives(entry);
      for (const SweptRun& run : runs)
        for (const std::vector<std::string>& values : all) {
          SweptRun& next = more.emplace_back(run);
          if (all.size() > 1) next.setting += concat(" ", entry.key, "=", values[0]);
          append(next.flags, entry.key, values);
        }
      runs = std::move(more);
    }
    std::vector<SweptRun> seeded;
    for (const SweptRun& run : runs)
      for (const int64_t seed : seeds_) seeded.emplace_back(run).seed = seed;
    return seeded;
  }

  const std::string& file_;
  std::vector<std::string> flags_;
  std::set<std::string> lists_;  // flags that take several values at once
  std::vector<int64_t> seeds_{1337};
  std::vector<std::string> base_;
  std::vector<std::pair<std::string, std::vector<ConfigItem>>> settings_;
};

}  // namespace

std::string SweptRun::folder() const {
  std::string name = concat(setting, "-s", seed);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.' && c != '=') c = '-';
  return name;
}

std::vector<SweptRun> read_sweep_table(const std::string& file) {
  return SweepParser(file).parse(files::read_input(file));
}

}  // namespace gradus::cli
