#include "gradus/tools/cli/sweep/sweep_table.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <type_traits>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/tools/cli/program/config_file.hpp"
#include "gradus/tools/cli/program/field_flags.hpp"
#include "gradus/tools/cli/program/nearest.hpp"
#include "gradus/tools/cli/program/whole_number.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::cli {
namespace {

constexpr int64_t kMostRuns = 10'000;

/// A flag of a setting, with its values.
struct Entry {
  std::string flag;
  std::vector<std::string> values;
};

class SweepParser {
 public:
  explicit SweepParser(const std::string& file) : file_(file) {
    train::TrainConfig config;
    train::for_each_field([&](const char* flag, auto field) {
      using Field = std::remove_reference_t<decltype(field(config))>;
      flags_.emplace_back(flag);
      if (is_list<Field>) lists_.insert(flag);
    });
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
    for (const auto& [name, entries] : settings_) expand(name, entries, 0, {name, 0, base_}, runs);
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
      for (const Entry& entry : entries(*value.as_table())) append(base_, entry.flag, entry.values);
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

  std::vector<Entry> entries(const toml::table& table) const {
    std::vector<Entry> all;
    for (const auto& [key, value] : table) {
      const ConfigItem item = config_item(key, value, file_);
      if (std::find(flags_.begin(), flags_.end(), item.key) == flags_.end())
        refuse(item.at, "must have flags of `train` as keys, got ", files::in_quotes(item.key), ".",
               did_you_mean(item.key, flags_, "train --help lists them."));
      if (item.values.empty()) refuse(item.at, item.key, " must have a value, got none.");
      all.push_back({item.key, item.values});
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

  bool is_one_value(const Entry& entry) const {
    return entry.values.size() == 1 || lists_.contains(entry.flag);
  }

  double number_of_runs(const std::vector<Entry>& entries) const {
    auto count = static_cast<double>(seeds_.size());
    for (const Entry& entry : entries)
      if (!is_one_value(entry)) count *= static_cast<double>(entry.values.size());
    return count;
  }

  /// Adds the runs for all values of the entries after `at`.
  void expand(const std::string& name, const std::vector<Entry>& entries, size_t at, const SweptRun& so_far,
              std::vector<SweptRun>& runs) const {
    if (at == entries.size()) {
      for (const int64_t seed : seeds_) {
        runs.push_back(so_far);
        runs.back().seed = seed;
      }
      return;
    }
    const auto& [flag, values] = entries[at];
    const bool is_one = is_one_value(entries[at]);
    for (size_t i = 0; i < (is_one ? 1 : values.size()); ++i) {
      SweptRun next = so_far;
      if (!is_one) next.setting += concat(" ", flag, "=", values[i]);
      append(next.flags, flag, is_one ? values : std::vector<std::string>{values[i]});
      expand(name, entries, at + 1, next, runs);
    }
  }

  const std::string& file_;
  std::vector<std::string> flags_;
  std::set<std::string> lists_;  // flags that take several values at once
  std::vector<int64_t> seeds_{1337};
  std::vector<std::string> base_;
  std::vector<std::pair<std::string, std::vector<Entry>>> settings_;
};

}  // namespace

std::string SweptRun::folder() const {
  std::string name = concat(setting, "-s", seed);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.' && c != '=') c = '-';
  return name;
}

std::vector<SweptRun> parse_sweep(std::string_view text, const std::string& file) {
  return SweepParser(file).parse(text);
}

}  // namespace gradus::cli
