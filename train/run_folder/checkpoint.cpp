#include "gradus/train/run_folder/checkpoint.hpp"

#include <nlohmann/json.hpp>

#include "gradus/files/json.hpp"

namespace gradus::train {

std::string to_json(const Checkpoint& checkpoint) {
  using Json = nlohmann::ordered_json;
  Json json{
      {"step", checkpoint.trainer.step},
      {"best_val_loss", checkpoint.best_val_loss ? Json(*checkpoint.best_val_loss) : Json(nullptr)},
      {"streams", {{"data", checkpoint.trainer.data_stream}, {"dropout", checkpoint.trainer.dropout_stream}}},
      {"text_sha256", checkpoint.text_sha256},
      {"evals_without_best", checkpoint.evals_without_best}};
  if (!checkpoint.unlogged.empty()) json["unlogged"] = checkpoint.unlogged;
  return json.dump(2) + "\n";
}

Checkpoint checkpoint_from_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "resume", file);
  const files::Field root = json.root(), best = root.at("best_val_loss"), streams = root.at("streams");
  root.must_have_only({"step", "best_val_loss", "streams", "text_sha256", "evals_without_best", "unlogged"});
  streams.must_have_only({"data", "dropout"});
  Checkpoint checkpoint;
  checkpoint.trainer.step = root.at("step").integer(0);
  checkpoint.trainer.data_stream = streams.at("data").text();
  checkpoint.trainer.dropout_stream = streams.at("dropout").text();
  checkpoint.text_sha256 = root.at("text_sha256").text();
  if (const auto count = root.find("evals_without_best"))  // new in 0.2
    checkpoint.evals_without_best = count->integer(0);
  if (const auto lines = root.find("unlogged")) checkpoint.unlogged = lines->texts();
  if (!best.is_null()) checkpoint.best_val_loss = best.number();
  return checkpoint;
}

}  // namespace gradus::train
