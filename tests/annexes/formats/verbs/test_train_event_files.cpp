// train --tensorboard: the scalars are those of metrics.jsonl, over a stop and a resume.
#include <signal.h>

#include <nlohmann/json.hpp>

#include "annexes/formats/tensorboard/event_file.hpp"
#include "cli/program.hpp"

namespace gradus::cli::test_train_event_files {

namespace fs = std::filesystem;

using Scalars = std::map<std::string, std::map<int64_t, float>>;

/// Those that TensorBoard keeps: a start drops earlier records of its step and later ones.
Scalars kept(std::vector<fs::path> files) {
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return fs::last_write_time(a) < fs::last_write_time(b);
  });
  Scalars scalars;
  for (const fs::path& file : files)
    for (const train::ReadEvent& event : train::EventReader::read(read(file))) {
      if (event.session_status == 1)
        for (auto& [tag, values] : scalars) values.erase(values.lower_bound(event.step), values.end());
      for (const auto& [tag, value] : event.scalars) CHECK(scalars[tag].emplace(event.step, value).second);
    }
  return scalars;
}

Scalars logged(const std::string& file) {
  Scalars scalars;
  for (const std::string& line : lines_of(read(file))) {
    const nlohmann::json record = nlohmann::json::parse(line);
    if (record.at("event") == "step")
      for (const char* key : {"loss", "lr", "grad_norm", "tokens_per_s"})
        scalars[std::string("train/") + key][record.at("step")] = record.at(key).get<float>();
    if (record.at("event") == "eval")
      scalars["val/loss"][record.at("step")] = record.at("val_loss").get<float>();
  }
  return scalars;
}

TEST_CASE("event files have the scalars of the log, also of a run that was killed and resumed") {
  const Scratch scratch;
  const std::string out = scratch.path("run"), text = scratch.text();
  // The last checkpoint is that of step 10; steps 11 to 15 are made twice.
  Input input;
  input.on_line = [](const std::string& line, int process) {
    if (line.find("\"step\":15,") != line.npos) ::kill(process, SIGKILL);
  };
  CHECK_THROWS(run_program(args("train --preset tiny --steps 30 --eval-every 5 --save-every 10 --text", text,
                                "--out", out, "--tensorboard --json"),
                           input));
  must("train --resume --out", out, "--quiet");
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(out + "/tensorboard")) files.push_back(entry.path());
  CHECK(files.size() == 2);
  const Scalars expected = logged(out + "/metrics.jsonl");
  REQUIRE(expected.at("train/loss").size() == 30);
  CHECK(kept(files) == expected);

  // A run without the flag has none.
  must("train --preset tiny --steps 2 --text", text, "--out", scratch.path("plain"), "--quiet");
  CHECK_FALSE(fs::exists(scratch.path("plain/tensorboard")));
}

}  // namespace gradus::cli::test_train_event_files
