// The program with groups of parameters: --lr-of, --freeze.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"

namespace gradus::cli::test_optimizers {

TEST_CASE("the groups of a run are in train.json, and a resumed run keeps them") {
  const Scratch scratch;
  const std::vector<std::string> groups =
      args("--optimizer lion --lr-of *wte*=0.1 --freeze *wpe* --steps 4 --save-every 2 --quiet");
  check_resumes(scratch, args("train --preset tiny --text", scratch.text(), groups), "2",
                {"last/model.safetensors"});
  const auto json = nlohmann::json::parse(read(scratch.path("parts/train.json")));
  CHECK(json.at("lr-of") == std::vector<std::string>{"*wte*=0.1"});
  CHECK(json.at("freeze") == std::vector<std::string>{"*wpe*"});
  check_refused(args("train --out", scratch.path("parts"), "--resume --freeze *wte*"),
                {"[train] --freeze of a resumed run must stay *wpe*, got *wte*."});
}

TEST_CASE("a pattern that matches no parameter is refused before anything is written") {
  const Scratch scratch;
  const std::string text = scratch.text();
  for (const auto& [flag, value] : {std::pair("--freeze", "h.9.*"), std::pair("--lr-of", "h.9.*=2")})
    check_refused(args("train --preset tiny --text", text, "--out", scratch.path("run"), flag, value),
                  {"a pattern must match the name of a parameter, got 'h.9.*'"});
  check_refused(args("train --preset tiny --text", text, "--out", scratch.path("run"), "--freeze *"),
                {"[train] --freeze must leave a parameter to train"});
  CHECK_FALSE(std::filesystem::exists(scratch.path("run")));
}

}  // namespace gradus::cli::test_optimizers
