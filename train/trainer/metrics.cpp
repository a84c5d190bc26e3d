#include "gradus/train/trainer/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/json.hpp"

namespace gradus::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kEndBegins = "{\"event\":\"done\"";

bool is_record_up_to(int64_t step, const std::string& line, bool is_over) {
  if (!line.starts_with('{')) return false;  // an exception for each of many short lines takes long
  try {
    const files::Json json(line, "metrics", "a line");
    if (line.starts_with(kEndBegins)) return is_over && json.root().at("steps").integer() == step;
    return json.root().at("step").integer() <= step;
  } catch (const Error&) {
    return false;
  }
}

/// On one line, with U+FFFD for bytes that are not UTF-8.
std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Rounds to milliseconds.
double rounded(double seconds) { return std::round(seconds * 1e3) / 1e3; }

}  // namespace

std::string records_up_to(int64_t step, const std::string& text, bool is_over) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);)
    if (is_record_up_to(step, line, is_over)) kept += line + "\n";
  return kept;
}

std::string to_json(const StartReport& report) {
  return line_of({{"event", "start"},
                  {"step", report.step},
                  {"version", report.version},
                  {"machine", report.machine},
                  {"model", report.model},
                  {"bytes_per_token", report.bytes_per_token}});
}

std::string to_json(const StepReport& report) {
  Json json{{"event", "step"}, {"step", report.step}};
  for (const auto& metric : kStepMetrics) json[std::string(metric.name)] = metric.value(report);
  json["elapsed_s"] = rounded(report.elapsed);
  return line_of(json);
}

std::string to_json(const EvalReport& report) {
  Json json{{"event", "eval"}, {"step", report.step}};
  for (const auto& metric : kEvalMetrics) json[std::string(metric.name)] = metric.value(report);
  json["tokens"] = report.tokens;
  json["peak_bytes"] = report.peak_bytes;
  json["elapsed_s"] = rounded(report.elapsed);
  return line_of(json);
}

std::string to_json(const LayerReport& report) {
  Json parameters = Json::object();  // NaN is written as null
  for (const ParameterNorms& of : report.parameters)
    parameters[of.name] = {of.norm, of.grad_norm, of.update_norm};
  return line_of({{"event", "layers"},
                  {"step", report.step},
                  {"parameters", std::move(parameters)},
                  {"examples", report.examples},
                  {"part_examples", report.part_examples},
                  {"part_grad_norm", report.part_grad_norm},
                  {"elapsed_s", rounded(report.elapsed)}});
}

std::string to_json(const RunReport& report, const std::filesystem::path& out) {
  return line_of({{"event", report.finished ? "done" : "stopped"},
                  {"steps", report.steps},
                  {"val_loss", report.val_loss ? Json(*report.val_loss) : Json(nullptr)},
                  {"val_tokens", report.val_tokens},
                  {"seconds", report.seconds},
                  {"tokens_per_s", report.tokens_per_s},
                  {"out", out.string()}});
}

std::string sample_to_json(int64_t step, const std::string& text) {
  return line_of({{"event", "sample"}, {"step", step}, {"text", text}});
}

std::optional<RunReport> logged_end(const std::filesystem::path& file) {
  std::optional<RunReport> end;
  std::istringstream lines(std::filesystem::exists(file) ? files::read(file) : "");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kEndBegins)) continue;
    try {
      const files::Json json(line, "metrics", "a line");
      const files::Field record = json.root(), loss = record.at("val_loss");
      if (loss.is_number())
        end = {.steps = record.at("steps").integer(),
               .val_loss = loss.number(),
               .val_tokens = record.at("val_tokens").integer(),
               .finished = true};
    } catch (const Error&) {  // an incomplete line
    }
  }
  return end;
}

}  // namespace gradus::train
