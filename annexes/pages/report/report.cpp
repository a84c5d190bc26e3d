#include "gradus/annexes/pages/report/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "gradus/annexes/pages/frame.hpp"
#include "gradus/annexes/pages/report/paired_difference.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"

namespace gradus::pages {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr size_t kMostPoints = 20000;                        // of all runs, for each column
constexpr size_t kMostOfRun = 1000, kMostEvaluations = 200;  // of one run
/// Settings in which the runs of one table row may differ.
constexpr const char* kOfOneRow[] = {"seed"};
constexpr int kDeepest = 64;  // of values in train.json: copying and printing them recurses

/// Seven significant digits, so that the page stays small; null for NaN.
Json rounded(double x) {
  if (!std::isfinite(x)) return nullptr;
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", x);
  return std::strtod(text, nullptr);
}

/// Means of neighbouring rows, at most `most` of them.
Json thinned(const Columns& columns, size_t most) {
  if (columns.empty()) return {{"every", 1}};
  const size_t rows = columns.begin()->second.size(), every = std::max<size_t>(1, (rows + most - 1) / most);
  Json json = {{"every", every}};
  for (const auto& [key, values] : columns) {
    Json means = Json::array();
    for (size_t begin = 0; begin < rows; begin += every) {
      const size_t end = std::min(begin + every, rows);
      double sum = 0;
      for (size_t i = begin; i < end; ++i) sum += values[i];
      means.push_back(rounded(sum / static_cast<double>(end - begin)));
    }
    json[key] = std::move(means);
  }
  return json;
}

Json json_of(const Norms& of) {
  return {{"name", of.name},
          {"norm", rounded(of.norm)},
          {"grad_norm", rounded(of.grad_norm)},
          {"update_norm", rounded(of.update_norm)}};
}

/// The norms of the layers at each evaluation, a list for each layer.
Json layers_json(const std::vector<Layers>& all) {
  Json json = {{"step", Json::array()}, {"layers", Json::array()}};
  const size_t every = std::max<size_t>(1, (all.size() + kMostEvaluations - 1) / kMostEvaluations);
  for (size_t i = (all.size() + every - 1) % every; i < all.size(); i += every) {  // up to the last one
    json["step"].push_back(all[i].step);
    for (Json& layer : json["layers"])  // null at steps without it
      for (const char* key : {"norm", "grad_norm", "update_ratio"}) layer[key].push_back(nullptr);
    const Json none = Json::array_t(json["step"].size());
    for (const Norms& of : by_layer(all[i].parameters)) {
      const auto is_it = [&](const Json& known) { return known["name"] == of.name; };
      auto layer = std::find_if(json["layers"].begin(), json["layers"].end(), is_it);
      if (layer == json["layers"].end())
        layer = json["layers"].insert(
            layer,
            Json::object({{"name", of.name}, {"norm", none}, {"grad_norm", none}, {"update_ratio", none}}));
      (*layer)["norm"].back() = rounded(of.norm);
      (*layer)["grad_norm"].back() = rounded(of.grad_norm);
      (*layer)["update_ratio"].back() = rounded(of.update_norm / of.norm);
    }
  }
  return json;
}

/// The two terms of the gradient noise scale (McCandlish et al., arXiv 1812.06162, appendix A.1), of which
/// each measurement is an unbiased estimate: the square of the true gradient's norm, and the trace of the
/// covariance of an example's gradient. Their ratio is a number of examples.
Json noise_json(const std::vector<Layers>& all) {
  Json json = {{"step", Json::array()}, {"squared_gradient", Json::array()}, {"variance", Json::array()}};
  for (const Layers& of : all) {
    if (!(of.part_examples > 0)) continue;
    double squares = 0;
    for (const Norms& norms : of.parameters) squares += norms.grad_norm * norms.grad_norm;
    const double part = of.part_grad_norm * of.part_grad_norm;
    json["step"].push_back(of.step);
    json["squared_gradient"].push_back(
        rounded((of.examples * squares - of.part_examples * part) / (of.examples - of.part_examples)));
    json["variance"].push_back(rounded((part - squares) / (1 / of.part_examples - 1 / of.examples)));
  }
  return json;
}

/// train.json, in which values and lists of values stay, and anything else becomes text: a script cannot
/// print an object whose keys are names of its methods. An empty object for a run of another program.
Json settings_of(const LoggedRun& run) {
  const fs::path file = run.folder() / "train.json";
  const auto is_setting = [](int depth, Json::parse_event_t, const Json&) { return depth <= kDeepest; };
  Json json =
      fs::exists(file) ? Json::parse(files::read(file), is_setting, /*allow_exceptions=*/false) : Json();
  if (!json.is_object()) return Json::object();
  for (Json& value : json)
    if (std::any_of(value.begin(), value.end(), [](const Json& item) { return item.is_structured(); }) ||
        value.is_object())
      value = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return json;
}

/// What the last start says of the machine and the model; null if it says nothing.
Json start_of(const LoggedRun& run) {
  const Json start = Json::parse(run.start(), nullptr, /*allow_exceptions=*/false);
  Json known;
  for (const char* key : {"version", "machine", "model", "bytes_per_token"})
    if (const auto value = start.find(key); value != start.end() && value->is_primitive())
      known[key] = *value;
  return known;
}

/// The loss by which runs are compared: that of the best model at the end, else the lowest so far.
double final_loss(const LoggedRun& run) {
  if (const auto end = run.end().find("val_loss"); end != run.end().end() && std::isfinite(end->second[0]))
    return end->second[0];
  const auto losses = run.evaluations().find("val_loss");
  if (losses == run.evaluations().end()) return std::nan("");
  double least = std::nan("");
  for (const double loss : losses->second)
    if (std::isfinite(loss) && !(loss >= least)) least = loss;
  return least;
}

Json run_json(const LoggedRun& run, size_t points) {
  Json json = {{"name", run.name()},
               {"folder", run.folder().string()},
               {"final_loss", rounded(final_loss(run))},
               {"steps", thinned(run.steps(), points)},
               {"evaluations", thinned(run.evaluations(), points)},
               {"layers", layers_json(run.layers())},
               {"noise", noise_json(run.layers())},
               {"parameters", Json::array()},
               {"samples", Json::array()},
               {"start", start_of(run)},
               {"end", nullptr},
               {"settings", settings_of(run)}};
  if (!run.layers().empty())
    for (const Norms& of : run.layers().back().parameters) json["parameters"].push_back(json_of(of));
  for (const auto& [step, text] : run.samples()) json["samples"].push_back({{"step", step}, {"text", text}});
  for (const auto& [key, values] : run.end()) json["end"][key] = rounded(values[0]);
  return json;
}

Json without_seed(Json settings) {
  for (const char* key : kOfOneRow) settings.erase(key);
  return settings;
}

/// Settings that are not the same in all runs, in the order of train.json.
std::vector<std::string> differing(const Json& runs) {
  std::vector<std::string> keys;
  for (const Json& run : runs)
    for (const auto& [key, value] : run["settings"].items())
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  std::erase_if(keys, [&](const std::string& key) {
    std::set<std::string> values;
    for (const Json& run : runs) values.insert(run["settings"].value(key, Json()).dump());
    return values.size() < 2;
  });
  return keys;
}

/// "lr 0.01, optimizer muon": the settings of a run that differ among runs.
std::string row_name(const Json& run, const std::vector<std::string>& keys) {
  std::string name;
  for (const std::string& key : keys) {
    if (std::find(std::begin(kOfOneRow), std::end(kOfOneRow), key) != std::end(kOfOneRow)) continue;
    const Json value = run["settings"].value(key, Json("default"));
    name += concat(name.empty() ? "" : ", ", key, " ",
                   value.is_string() ? value.get<std::string>() : value.dump());
  }
  return name.empty() ? run["name"].get<std::string>() : name;
}

/// Runs that differ in their seeds only, with the mean of their losses, and their difference from the first
/// row in runs of the same seeds.
Json rows_of(Json& runs, const std::vector<std::string>& keys) {
  Json rows = Json::array();
  std::vector<Json> settings;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Json own = without_seed(runs[i]["settings"]);
    size_t row = 0;
    while (row < settings.size() && (own.empty() || settings[row] != own)) ++row;
    if (row == settings.size()) {
      settings.push_back(own);
      rows.push_back({{"name", row_name(runs[i], keys)}, {"runs", Json::array()}});
    }
    rows[row]["runs"].push_back(i);
    runs[i]["row"] = row;
  }
  // By the seed, of which there may be several runs.
  const auto losses_by_seed = [&](const Json& row) {
    std::map<std::pair<std::string, int>, double> losses;
    std::map<std::string, int> count;
    for (const Json& i : row["runs"]) {
      const Json& run = runs[i.get<size_t>()];
      const std::string seed = run["settings"].value("seed", Json(0)).dump();
      if (run["final_loss"].is_number()) losses[{seed, count[seed]++}] = run["final_loss"];
    }
    return losses;
  };
  for (Json& row : rows) {
    const auto losses = losses_by_seed(row);
    std::vector<double> first, own;
    double sum = 0, squares = 0;
    for (const auto& [seed, loss] : losses) sum += loss;
    const auto n = static_cast<double>(losses.size());
    for (const auto& [seed, loss] : losses) squares += std::pow(loss - sum / n, 2);
    row["seeds"] = losses.size();
    row["mean"] = rounded(sum / n);
    row["error"] = rounded(losses.size() > 1 ? std::sqrt(squares / (n - 1) / n) : std::nan(""));
    for (const auto& [seed, loss] : losses_by_seed(rows[0]))
      if (const auto same = losses.find(seed); same != losses.end()) {
        first.push_back(loss);
        own.push_back(same->second);
      }
    row["difference"] = nullptr;
    if (&row == &rows[0] || first.size() < 2) continue;
    const PairedDifference d = paired_difference(first, own);
    row["difference"] = {
        {"mean", rounded(d.mean)}, {"error", rounded(d.error)}, {"p", rounded(d.p)}, {"seeds", d.seeds}};
  }
  return rows;
}

}  // namespace

std::vector<LoggedRun> runs_of(const std::vector<fs::path>& paths) {
  std::vector<LoggedRun> runs;
  for (const fs::path& path : paths) {
    if (fs::exists(path / "metrics.jsonl") || !fs::is_directory(path)) {
      runs.emplace_back(path);
      continue;
    }
    std::vector<fs::path> found;
    for (const fs::path& parent : {path, path / "members"})
      if (fs::is_directory(parent))
        for (const fs::directory_entry& entry : fs::directory_iterator(parent))
          if (fs::exists(entry.path() / "metrics.jsonl")) found.push_back(entry.path());
    if (found.empty())
      fail("log", path, " must be a run, a sweep or an ensemble, got a folder without metrics.jsonl.");
    std::sort(found.begin(), found.end());
    for (const fs::path& run : found) runs.emplace_back(run);
  }
  for (LoggedRun& run : runs) run.update();
  return runs;
}

std::string report_title(const std::vector<LoggedRun>& runs) {
  return runs.size() == 1 ? runs[0].name() : concat(runs.size(), " runs");
}

std::string report_json(const std::vector<LoggedRun>& runs, bool is_live) {
  const size_t points = std::clamp<size_t>(kMostPoints / std::max<size_t>(1, runs.size()), 50, kMostOfRun);
  Json all = Json::array();
  for (const LoggedRun& run : runs) all.push_back(run_json(run, points));
  const std::vector<std::string> keys = differing(all);
  Json json = {{"title", report_title(runs)}, {"is_live", is_live}, {"differing", keys}};
  json["rows"] = rows_of(all, keys);
  json["runs"] = std::move(all);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string report_html(const std::string& title, std::string json) {
  return html({.verb = "report",
               .title = title + " – gradus",
               .data = std::move(json),
               .scripts = {embedded_file("uplot/uPlot.iife.min.js"), embedded_file("report/report.js")},
               .styles = {embedded_file("uplot/uPlot.min.css")}});
}

}  // namespace gradus::pages
