#include <cmath>
#include <sstream>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/tools/plots/loss_plot.hpp"

namespace gradus::plots {
namespace {

void add_record(const files::Field& record, LossCurve& curve) {
  const std::string_view event = record.at("event").text();
  const auto count = [&](const char* key) -> int64_t {  // 0 if another program wrote another value
    const std::optional<files::Field> tokens = record.find(key);
    const double value = tokens && tokens->is_number() ? tokens->number() : 0;
    return value >= 0 && value < 0x1p53 ? static_cast<int64_t>(value) : 0;
  };
  if (const auto loss = record.find("val_loss"); event == "done" && loss && loss->is_number()) {
    curve.end = loss->number();
    curve.end_tokens = count("val_tokens");
  }
  const bool training = event == "step";
  if (!training && event != "eval") return;
  const std::optional<files::Field> elapsed = record.find("elapsed_s");
  (training ? curve.training : curve.validation)
      .push_back({record.at("step").number(), elapsed ? elapsed->number() / 60 : NAN,
                  record.at(training ? "loss" : "val_loss").number()});
  if (!training) curve.validation_tokens = count("tokens");
}

/// The last folder of a path, as printable text.
std::string name_of(const std::filesystem::path& folder) {
  const std::filesystem::path whole = std::filesystem::absolute(folder).lexically_normal();
  return files::plain((whole.has_filename() ? whole : whole.parent_path()).filename().string());
}

}  // namespace

LossCurve read_losses(const std::filesystem::path& run) {
  const bool is_folder = std::filesystem::is_directory(run);
  const std::filesystem::path file = is_folder ? run / "metrics.jsonl" : run;
  if (file.filename() == "results.jsonl")
    fail("plot", file,
         " must be the log of a run, got the results of a sweep. Hint: name the folders of its runs, ",
         file.parent_path() / "*/", ".");
  LossCurve curve{.name = name_of(is_folder ? run : std::filesystem::absolute(run).parent_path()),
                  .training = {},
                  .validation = {}};
  std::istringstream lines(files::read(file));
  int64_t number = 0;
  for (std::string line; std::getline(lines, line) && !lines.eof();)
    add_record(files::Json(line, "plot", concat(file.string(), ":", ++number)).root(), curve);
  if (curve.training.empty() && curve.validation.empty()) fail("plot", file, " must have losses, got none.");
  return curve;
}

}  // namespace gradus::plots
