#include "gradus/annexes/pages/report/logged_run.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <limits>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::pages {
namespace {

namespace fs = std::filesystem;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double number_in(const files::Field& record, std::string_view key) {
  const std::optional<files::Field> field = record.find(key);
  return field && field->is_number() ? field->number() : kUnknown;
}

void add_row(const files::Field& record, std::initializer_list<const char*> keys, Columns& columns) {
  for (const char* key : keys) columns[key].push_back(number_in(record, key));
}

/// The name of the layer of a parameter.
std::string layer_of(const std::string& parameter) {
  for (size_t begin = 0; begin < parameter.size();) {
    const size_t end = std::min(parameter.find('.', begin), parameter.size());
    if (std::all_of(parameter.begin() + static_cast<ptrdiff_t>(begin),
                    parameter.begin() + static_cast<ptrdiff_t>(end),
                    [](unsigned char c) { return std::isdigit(c) != 0; }))
      return parameter.substr(0, end);
    begin = end + 1;
  }
  const size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? parameter : parameter.substr(0, dot);
}

}  // namespace

LoggedRun::LoggedRun(const fs::path& run) {
  const bool is_folder = fs::is_directory(run);
  file_ = is_folder ? run / "metrics.jsonl" : run;
  folder_ = is_folder ? run : fs::absolute(run).parent_path();
  name_ = files::plain(files::absolute_path(folder_).filename().string());
  if (file_.filename() == "results.jsonl")
    fail("log", file_,
         " must be the log of a run, got the results of a sweep. Hint: name the sweep's folder.");
  if (!fs::exists(file_)) fail("log", run, " must be the folder of a run, got one without metrics.jsonl.");
  if (!fs::is_regular_file(file_)) fail("log", file_, " must be a file, got a pipe, a device or a folder.");
}

bool LoggedRun::update() {
  std::ifstream in(file_, std::ios::binary);
  struct stat status {};
  if (!in || ::stat(file_.c_str(), &status) != 0) fail("log", file_, " must be readable.");
  if (status.st_ino != file_number_ || static_cast<uintmax_t>(status.st_size) < offset_) {
    file_number_ = status.st_ino;
    offset_ = 0;
    lines_ = 0;
    steps_ = evals_ = end_ = {};
    layers_.clear();
    samples_.clear();
    start_.clear();
  }
  in.seekg(static_cast<std::streamoff>(offset_));
  const uintmax_t before = offset_;
  for (std::string line; std::getline(in, line) && !in.eof(); offset_ += line.size() + 1) add(line, ++lines_);
  return offset_ != before;
}

void LoggedRun::add(const std::string& line, int64_t number) {
  const files::Json json(line, "log", concat(file_.string(), ":", number));
  const files::Field record = json.root();
  const std::string_view event = record.at("event").text();
  if (event == "step") {
    add_row(record, {"step", "loss", "lr", "grad_norm", "tokens_per_s", "elapsed_s"}, steps_);
  } else if (event == "eval") {
    add_row(record, {"step", "val_loss", "tokens", "peak_bytes", "elapsed_s"}, evals_);
  } else if (event == "done") {
    end_.clear();
    add_row(record, {"steps", "val_loss", "val_tokens", "seconds", "tokens_per_s"}, end_);
  } else if (event == "sample") {
    samples_.emplace_back(record.at("step").number(), record.at("text").text());
  } else if (event == "start") {
    start_ = line;
  } else if (event == "layers") {
    Layers& layers = layers_.emplace_back(Layers{number_in(record, "step"),
                                                 number_in(record, "examples"),
                                                 number_in(record, "part_examples"),
                                                 number_in(record, "part_grad_norm"),
                                                 {}});
    for (const auto& [name, norms] : record.at("parameters").members()) {
      const std::vector<files::Field> values = norms.items();
      const auto at = [&](size_t i) {
        return i < values.size() && values[i].is_number() ? values[i].number() : kUnknown;
      };
      layers.parameters.push_back({std::string(name), at(0), at(1), at(2)});
    }
  }
}

std::vector<Norms> by_layer(const std::vector<Norms>& parameters) {
  std::vector<Norms> layers;
  for (const Norms& of : parameters) {
    const std::string name = layer_of(of.name);
    auto layer = std::find_if(layers.begin(), layers.end(), [&](const Norms& l) { return l.name == name; });
    if (layer == layers.end()) layer = layers.insert(layers.end(), Norms{.name = name});
    layer->norm = std::hypot(layer->norm, of.norm);
    layer->grad_norm = std::hypot(layer->grad_norm, of.grad_norm);
    layer->update_norm = std::hypot(layer->update_norm, of.update_norm);
  }
  return layers;
}

}  // namespace gradus::pages
