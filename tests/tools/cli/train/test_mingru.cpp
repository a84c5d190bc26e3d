// The program with --arch mingru, from training to text.
#include <nlohmann/json.hpp>

#include "tools/cli/program.hpp"
#include "train/small_model.hpp"

namespace gradus::cli::test_mingru {

using nlohmann::json;

Outcome train_mingru(const Scratch& scratch, const std::string& out,
                     const std::vector<std::string>& more = {}) {
  return call(
      "train --preset tiny --arch mingru --embd 32 --block 8 --steps 12 --dropout 0.1 --eval-every 4 "
      "--save-every 4 --warmup 2 --quiet --text",
      scratch.text(), "--out", scratch.path(out), more);
}

TEST_CASE("a mingru is trained, described, sampled, evaluated, checked and exported") {
  const Scratch scratch;
  REQUIRE(train_mingru(scratch, "run").code == 0);
  const std::string run = scratch.path("run");
  CHECK(json::parse(read(run + "/config.json")).at("model_type") == "mingru");
  const Outcome info = call("info", run);
  CHECK(info.code == 0);
  CHECK_HAS(info.out, "model.layers.1.min_gru.linear_z.weight", "2 layers, 32 wide, block 8, ",
            "mingru, 96 wide inside the MLP, tied; ");
  for (const char* weights : {"float32", "int8"}) {
    INFO(weights);
    const Outcome sample =
        call("sample", run, "--prompt", std::string("the "), "--tokens 30 --weights", weights);
    CHECK(sample.code == 0);
    CHECK(sample.out.size() == 4 + 30 + 1);
    CHECK(call("eval", run, "--text", scratch.path("text.txt"), "--weights", weights).code == 0);
  }
  CHECK(call("gradcheck --model", run, "--order 1").code == 0);
  CHECK(call("export", run, "--to npz --out", scratch.path("a.npz")).code == 0);
  for (const char* format : {"gguf", "pytorch", "web"})
    check_refused({"export", run, "--to", format, "--out", scratch.path(format)},
                  {concat("--to must be npz for a model of --arch mingru, got ", format).c_str()});
}

TEST_CASE("a mingru that was stopped and resumed ends with the bits of one in one go") {
  const Scratch scratch;
  REQUIRE(train_mingru(scratch, "whole").code == 0);
  REQUIRE(train_mingru(scratch, "parts", args("--stop-after 5")).code == 0);
  must("train --out", scratch.path("parts"), "--resume --quiet");
  for (const char* file : {"model.safetensors", "config.json", "last/model.safetensors"}) {
    INFO(file);
    CHECK(read(scratch.path("whole") + "/" + file) == read(scratch.path("parts") + "/" + file));
  }
}

TEST_CASE("mingru has a preset, and what it cannot have is refused in one line") {
  const Outcome info = call("info --arch mingru");
  CHECK(info.code == 0);
  CHECK_HAS(info.out, "4 layers, 128 wide, block 128, 65 tokens, mingru");
  CHECK(call("info --arch mingru --preset nano").code == 0);
  CHECK(call("info --arch llama --preset gru").code == 0);
  check_refused(args("info --arch mingru --heads 2"), {"--heads must be 1 with --arch mingru, got 2."});
  check_refused(args("info --arch mingru --bias"), {"--bias must be false with --arch mingru"});
}

}  // namespace gradus::cli::test_mingru
