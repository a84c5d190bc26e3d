// gradus sweep: trains each setting of a table with several seeds. This reads the table for sweep.py.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "gradus/annexes/bench/verbs/python.hpp"
#include "gradus/cli/program/config_file.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/nearest.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/train/mpi/mpi.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::sweep {
std::string_view embedded_file(std::string_view path);
}

namespace gradus::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Whether a flag of `train` takes a list. Throws Error if there is none of that name.
bool takes_list(const std::string& key, const std::string& at) {
  std::vector<std::string> flags;
  for (const train::Setting& row : train::settings()) {
    if (row.key == "seed") continue;
    if (row.key == key) return row.is_list();
    flags.emplace_back(row.key);
  }
  fail("sweep", at, ": must have flags of `train` as keys, got ", files::in_quotes(key), ".",
       did_you_mean(key, flags, "train --help-all lists them."));
}

/// The items of a table: key, place, and values or a section. It has flags if `sections` is 0, the number of
/// levels of sections that may be in it.
Json json_of(const toml::table& table, const std::string& file, int sections) {
  Json all = Json::array();
  std::vector<toml::table::const_iterator> items;
  for (auto item = table.begin(); item != table.end(); ++item) items.push_back(item);
  const auto place = [](const auto& item) {
    const toml::source_position begin = item->first.source().begin;
    return std::pair(begin.line, begin.column);
  };
  if (sections > 0) std::ranges::stable_sort(items, {}, place);  // toml has them by name
  for (const auto& one : items) {
    const auto& [key, value] = *one;
    const std::string name(key.str());
    const toml::source_position begin = key.source().begin;
    const std::string at = concat(file, ":", begin.line, ":", begin.column);
    Json& item = all.emplace_back(Json{{"key", name}, {"at", at}});
    if (value.is_table() && sections > 0) {
      item["section"] = json_of(*value.as_table(), file, name == "try" ? sections - 1 : 0);
      continue;
    }
    item["values"] = config_item(key, value, file).values;
    if (sections == 0) item["is_list"] = takes_list(name, at);
  }
  return all;
}

}  // namespace

Action add_sweep(CLI::App& verb, const std::string& program) {
  auto file = std::make_shared<std::string>(), out = std::make_shared<std::string>();
  auto threads = std::make_shared<int64_t>(0);  // not given
  add_argument(verb, "file", *file, "FILE",
               "TOML: seeds, [base] and [try.NAME], with flags of train as keys");
  add_value(verb, "--out", *out, "DIR", "Folder of the runs, and of results.jsonl")->required();
  add_value(verb, "--threads", *threads, "N", "Threads of each run [one per core]", kThreads);
  const std::string script(sweep::embedded_file("sweep.py"));
  verb.footer(with_program(help_of(script), program));
  return {[=]() -> int {
    if (mpi::is_launched()) fail("sweep", "must be one process, got a launcher of MPI.");
    const Json table = json_of(parse_sections(files::read_input(*file), *file), *file, 2);
    std::vector<std::string> words{*file, *out};
    if (*threads > 0) words.insert(words.end(), {"--threads", std::to_string(*threads)});
    become_python("sweep", concat(sweep::embedded_file("../bench/tools.py"), script), json_line(table),
                  words);
  }};
}

}  // namespace gradus::cli
