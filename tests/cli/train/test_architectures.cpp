// The program with --arch llama and mingru, from training to text.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"

namespace gradus::cli::test_architectures {

using nlohmann::json;

const char* const kLlama = "llama --heads 4 --kv-heads 2 --hidden 40 --rope-theta 500 --qk-norm --untied";

/// `train` with a small decoder: its architecture and flags.
std::vector<std::string> train(const Scratch& scratch, const std::string& arch) {
  return args(
      "train --preset tiny --embd 32 --block 8 --steps 12 --dropout 0.1 --eval-every 4 --save-every 4",
      "--warmup 2 --quiet --text", scratch.text(), "--arch", split(arch));
}

TEST_CASE("a decoder of each architecture is trained, described, sampled, evaluated, checked and exported",
          "[needs.fast][needs.formats]") {
  struct Row {
    const char *arch, *model_type;
    std::vector<const char*> shown, exports, refused;
  };
  const Row row =
      GENERATE(values<Row>({{kLlama,
                             "qwen3",
                             {"model.layers.1.self_attn.k_proj.weight          (16, 32)", "lm_head.weight",
                              "llama, 40 wide inside the MLP, norms of queries and keys, untied; "},
                             {"gguf", "web"},
                             {}},
                            {"mingru",
                             "mingru",
                             {"model.layers.1.min_gru.linear_z.weight", "2 layers, 32 wide, block 8, ",
                              "mingru, 96 wide inside the MLP, tied; "},
                             {},
                             {"gguf", "web"}}}));
  INFO(row.arch);
  const Scratch scratch;
  const std::string run = scratch.path("run");
  must(train(scratch, row.arch), "--out", run);
  const json config = json::parse(read(run + "/config.json"));
  CHECK(config.at("model_type") == row.model_type);
  if (row.arch == kLlama) {
    CHECK(config.at("intermediate_size") == 40);
    CHECK(config.at("num_key_value_heads") == 2);
    CHECK(config.at("rope_theta") == 500.0);
    CHECK(config.at("tie_word_embeddings") == false);
  }
  CHECK(std::string(row.arch).starts_with(
      json::parse(read(run + "/train.json")).at("arch").get<std::string>()));

  const Outcome info = must("info", run);
  for (const char* words : row.shown) CHECK_HAS(info.out, words);
  for (const std::string weights : {"float32", "bfloat16", "int8", "int4"}) {
    INFO(weights);
    const Outcome sample =
        must("sample", run, "--prompt", std::string("the "), "--tokens 12 --weights", weights);
    CHECK(sample.out.size() == 4 + 12 + 1);
    must("eval", run, "--text", scratch.path("text.txt"), "--weights", weights);
  }
  const Outcome checked = must("gradcheck --model", run, "--order 1 --json");
  CHECK(json::parse(lines_of(checked.out).at(0)).at("passed") == true);
  for (const std::string format : row.exports)
    must("export", run, "--to", format, "--out", scratch.path("export." + format));
  for (const std::string format : row.refused)
    check_refused(args("export", run, "--to", format, "--out", scratch.path(format)),
                  {"must be of an architecture that other programs have, got --arch mingru"});
}

TEST_CASE("a decoder that was stopped and resumed ends with the bits of one in one go") {
  const std::string arch = GENERATE(std::string(kLlama), std::string("mingru"));
  const Scratch scratch;
  check_resumes(scratch, train(scratch, arch), "5",
                {"model.safetensors", "config.json", "train.json", "last/model.safetensors",
                 "last/optimizer.safetensors", "last/trainer.json"});
  const auto resume = args("train --out", scratch.path("parts"), "--resume");
  if (arch != kLlama) return;
  check_refused(args(resume, "--arch gpt2"), {"--arch of a resumed run must stay llama, got gpt2"});
  check_refused(args(resume, "--kv-heads 4"), {"--kv-heads of a resumed run must stay 2, got 4"});
}

TEST_CASE("a size that is given as its default resumes like one that is left out") {
  const Scratch scratch;
  for (const auto& [flag, value] : {std::pair("--kv-heads", "4"), std::pair("--hidden", "64")}) {
    INFO(flag);
    const std::string run = scratch.path(flag);
    must(
        "train --arch llama --layers 1 --heads 4 --embd 16 --block 8 --batch 2 --steps 1 --eval-tokens 16 "
        "--quiet --text",
        scratch.text(), "--out", run, flag, value);
    must("train --resume --steps 2 --quiet --out", run);
  }
}

TEST_CASE("what a decoder cannot have is refused in one line") {
  const auto refused = [](const std::vector<std::string>& flags, const char* why) {
    check_refused(args("train --corpus stories --out /nowhere", flags), {why});
  };
  refused(args("--arch lama"),
          "--arch must be gpt2, llama, gemma or mingru, got 'lama'. Hint: did you mean llama?");
  refused(args("--arch gpt2 --kv-heads 2"), "--kv-heads must be left out with --arch gpt2, got 2");
  refused(args("--arch gpt2 --hidden 64"), "--hidden must be left out with --arch gpt2, got 64");
  refused(args("--arch llama --bias"), "--bias must be false with --arch llama, whose layers have none");
}

TEST_CASE("mingru has a preset, and what it cannot have is refused in one line") {
  const Outcome info = must("info --arch mingru");
  CHECK_HAS(info.out, "4 layers, 128 wide, block 128, 65 tokens, mingru");
  must("info --arch mingru --preset nano");
  must("info --arch llama --preset gru");
  check_refused(args("info --arch mingru --heads 2"), {"--heads must be 1 with --arch mingru, got 2."});
}

}  // namespace gradus::cli::test_architectures
