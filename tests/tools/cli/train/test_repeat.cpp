// A run whose number of steps changed on its way, once more by what its train.json says.
#include <nlohmann/json.hpp>

#include "tools/cli/program.hpp"
#include "train/small_model.hpp"

namespace gradus::cli::test_repeat {

using nlohmann::json;

/// The flags that ask for the run in a folder once more, by its train.json; all but its minutes.
std::vector<std::string> repeated(const std::string& folder, const std::string& out) {
  std::vector<std::string> flags = args("train --out", out, "--quiet");
  const json config = json::parse(read(folder + "/train.json"));
  for (const auto& [key, value] : config.items()) {
    if (key == "minutes" || value.empty() || value == "") continue;
    if (value.is_boolean()) {
      flags.push_back((value.get<bool>() ? "--" : "--no-") + key);
      continue;
    }
    flags.push_back("--" + key);
    for (const json& item : value) flags.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  }
  return flags;
}

void check_repeats(const Scratch& scratch, const std::string& folder) {
  const std::string again = scratch.path("again");
  const Outcome run = run_program(repeated(folder, again));
  INFO(run.err << read(folder + "/train.json"));
  REQUIRE(run.code == 0);
  for (const char* file : {"/last/model.safetensors", "/last/optimizer.safetensors"})
    CHECK(read(again + file) == read(folder + file));
}

TEST_CASE("what train.json has repeats a run whose plan was corrected, bit for bit") {
  const Scratch scratch;
  const std::string text = scratch.text(), out = scratch.path("run");
  SECTION("in minutes") {
    must("train --text", text, "--preset tiny --minutes 0.04 --out", out, "--quiet");
    CHECK(json::parse(read(out + "/train.json")).contains("earlier-steps"));  // It was corrected.
    check_repeats(scratch, out);
  }
  SECTION("by other steps when it was resumed") {
    must("train --text", text, "--preset tiny --steps 60 --stop-after 40 --out", out, "--quiet");
    must("train --out", out, "--resume --steps 80 --stop-after 70 --quiet");
    must("train --out", out, "--resume --quiet");
    CHECK(json::parse(read(out + "/train.json")).at("earlier-steps") == json::parse("[40, 60]"));
    check_repeats(scratch, out);
  }
}

}  // namespace gradus::cli::test_repeat
