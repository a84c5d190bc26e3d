// The program with --arch mingru, from training to text.
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "tools/cli/program.hpp"
#include "train/small_model.hpp"

namespace test_mingru {

using namespace gradus;
using namespace gradus::cli;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

Outcome train_mingru(const Scratch& scratch, const std::string& out,
                     const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"train",  "--preset",
                                        "tiny",   "--arch",
                                        "mingru", "--embd",
                                        "32",     "--block",
                                        "8",      "--steps",
                                        "12",     "--dropout",
                                        "0.1",    "--eval-every",
                                        "4",      "--save-every",
                                        "4",      "--warmup",
                                        "2",      "--quiet",
                                        "--text", scratch.file("text.txt", train::small_text()),
                                        "--out",  scratch.path(out)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

TEST_CASE("a mingru is trained, described, sampled, evaluated, checked and exported") {
  const Scratch scratch;
  REQUIRE(train_mingru(scratch, "run").code == 0);
  const std::string run = scratch.path("run");
  CHECK(json::parse(read(run + "/config.json")).at("model_type") == "mingru");
  const Outcome info = run_program({"info", run});
  CHECK(info.code == 0);
  CHECK_THAT(info.out, ContainsSubstring("model.layers.1.min_gru.linear_z.weight") &&
                           ContainsSubstring("2 layers, 32 wide, block 8, ") &&
                           ContainsSubstring("mingru, 96 wide inside the MLP, tied; "));
  for (const char* weights : {"float32", "int8"}) {
    INFO(weights);
    const Outcome sample =
        run_program({"sample", run, "--prompt", "the ", "--tokens", "30", "--weights", weights});
    CHECK(sample.code == 0);
    CHECK(sample.out.size() == 4 + 30 + 1);
    CHECK(run_program({"eval", run, "--text", scratch.path("text.txt"), "--weights", weights}).code == 0);
  }
  CHECK(run_program({"gradcheck", "--model", run, "--order", "1"}).code == 0);
  CHECK(run_program({"export", run, "--to", "npz", "--out", scratch.path("a.npz")}).code == 0);
  for (const char* format : {"gguf", "pytorch", "web"})
    check_refused({"export", run, "--to", format, "--out", scratch.path(format)},
                  {concat("--to must be npz for a model of --arch mingru, got ", format).c_str()});
}

TEST_CASE("a mingru that was stopped and resumed ends with the bits of one in one go") {
  const Scratch scratch;
  REQUIRE(train_mingru(scratch, "whole").code == 0);
  REQUIRE(train_mingru(scratch, "parts", {"--stop-after", "5"}).code == 0);
  REQUIRE(run_program({"train", "--out", scratch.path("parts"), "--resume", "--quiet"}).code == 0);
  for (const char* file : {"model.safetensors", "config.json", "last/model.safetensors"}) {
    INFO(file);
    CHECK(read(scratch.path("whole") + "/" + file) == read(scratch.path("parts") + "/" + file));
  }
}

TEST_CASE("mingru has a preset, and what it cannot have is refused in one line") {
  const Outcome info = run_program({"info", "--arch", "mingru"});
  CHECK(info.code == 0);
  CHECK_THAT(info.out, ContainsSubstring("4 layers, 128 wide, block 128, 65 tokens, mingru"));
  CHECK(run_program({"info", "--arch", "mingru", "--preset", "nano"}).code == 0);
  CHECK(run_program({"info", "--arch", "llama", "--preset", "gru"}).code == 0);
  check_refused({"info", "--arch", "mingru", "--heads", "2"},
                {"--heads must be 1 with --arch mingru, got 2."});
  check_refused({"info", "--arch", "mingru", "--bias"}, {"--bias must be false with --arch mingru"});
}

}  // namespace test_mingru
