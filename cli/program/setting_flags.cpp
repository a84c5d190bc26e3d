#include "gradus/cli/program/setting_flags.hpp"

#include <algorithm>

#include "gradus/cli/program/flags.hpp"
#include "gradus/files/error.hpp"
#include "gradus/train/trainer/precision.hpp"

namespace gradus::cli {
namespace {

using train::Setting;

/// Options of the library whose flags have other names.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {{"max_new_tokens", "--tokens"},
                                                                         {"vocab_size", "--vocab"}};

}  // namespace

CLI::Option* SettingFlags::add(CLI::App& verb, const Setting& row) {
  const std::string flag = concat("--", row.key);
  CLI::Option* const option = row.visit(config, [&]<class T>(T& value) {
    constexpr bool is_word = std::is_same_v<T, std::string> || std::is_enum_v<T>;
    if constexpr (std::is_same_v<T, bool>) {
      const std::string off = row.options.off.empty() ? concat("no-", row.key) : std::string(row.options.off);
      return verb.add_flag(concat(flag, ",!--", off), value, row.help);
    } else if constexpr (is_word) {
      const auto set = [&](const std::string& text) {  // value outlives this call
        if constexpr (std::is_same_v<T, std::string>)
          value = text;
        else if constexpr (!std::is_same_v<T, DType>)
          train::set_word(value, text);
        else if (auto_precision = text == train::kAutoPrecision; !auto_precision)
          value = train::precision_from(text);
      };
      CLI::Option* const word = verb.add_option_function<std::string>(flag, set, row.help)->take_last();
      if (!row.options.choices) return word;
      word->default_str(row.text(config));
      return row.has(train::Setting::kPath) ? suggest(word, row.options.choices)
                                            : one_of(verb, word, row.options.choices);
    } else {
      return add_value(verb, flag, value, "", row.help);
    }
  });
  if (!row.unit.empty()) option->type_name(std::string(row.unit));
  options_.emplace(row.key, option);
  return option;
}

bool SettingFlags::is_given(std::string_view key) const {
  const auto found = options_.find(key);
  return found != options_.end() && found->second->count() > 0;
}

bool SettingFlags::is_any_given() const {
  return std::ranges::any_of(options_, [](const auto& one) { return one.second->count() > 0; });
}

train::TrainConfig SettingFlags::given(train::TrainConfig to) const {
  if (is_given("arch")) models::change_arch(to.model, config.model.arch);
  for (const Setting& row : train::settings())
    if (is_given(row.key)) row.copy(config, to);
  return to;
}

std::string flag_of(std::string_view field, const CLI::App* verb) {
  for (const auto& [name, flag] : kOtherNames)
    if (name == field) return std::string(flag);
  for (const Setting& row : train::settings())
    if (row.field() == field) return concat("--", row.key);
  std::string flag = concat("--", field);
  std::ranges::replace(flag, '_', '-');
  return verb && verb->get_option_no_throw(flag) ? flag : concat("`", field, "`");
}

}  // namespace gradus::cli
