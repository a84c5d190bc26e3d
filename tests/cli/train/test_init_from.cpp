// Runs that begin with a model that is there: `train --init-from`.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/nn/safetensors.hpp"
#include "test_files.hpp"

namespace gradus::cli::test_init_from {

using nlohmann::json;

std::string cats() {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "the cat that sat there sat there.\n";
  return text;
}

/// A model that was trained a little, and a text that it has not seen.
struct Beginning {
  Scratch scratch;
  std::string text = scratch.text();
  std::string other = scratch.file("other.txt", cats());
  std::string base = scratch.path("base");

  explicit Beginning(const std::vector<std::string>& more = {}) {
    must("train --preset tiny --steps 20 --block 16 --text", text, "--out", base, "--tokenizer byte --quiet",
         more);
  }
  std::vector<std::string> arguments(const std::string& out, const std::vector<std::string>& more) const {
    return args("train --init-from", base, "--text", other, "--out", scratch.path(out), more);
  }
  Outcome train(const std::string& out, const std::vector<std::string>& more = {}) const {
    return must(arguments(out, more));
  }
  void refused(const std::vector<std::string>& flags, const std::vector<std::string>& words) const {
    INFO(flags.at(0));
    check_refused(arguments("refused", flags), words);
    CHECK_FALSE(std::filesystem::exists(scratch.path("refused")));
  }
};

int64_t data_tokens(const std::string& tokenizer) { return data::load_tokenizer(tokenizer).vocab_size(); }

double val_loss_of(const std::string& line) { return json::parse(line).at("val_loss").get<double>(); }

TEST_CASE("the loss before the first step is the model's own, and learning lowers it") {
  const Beginning begin;
  const Outcome tuned = begin.train("tuned", args("--steps 30 --val-fraction 0.5 --json"));
  const std::vector<std::string> lines = lines_of(tuned.out);
  CHECK(json::parse(lines.at(0)).at("event") == "start");
  const json first = json::parse(lines.at(1));
  CHECK(first.at("event") == "eval");
  CHECK(first.at("step") == 0);
  CHECK_HAS(tuned.err, "before  val ", " nats a token\n", "model   " + begin.base + ": 2 layers, ");
  CHECK(lines_of(read(begin.scratch.path("tuned/metrics.jsonl"))).at(1) == lines.at(1));

  // The second half of the text, by the model as it was.
  const std::string text = read(begin.other);
  const std::string half = begin.scratch.file("half.txt", text.substr(text.size() / 2));
  CHECK(std::abs(loss_of({begin.base}, half) - first.at("val_loss").get<double>()) < 1e-4);
  CHECK(val_loss_of(lines.back()) < first.at("val_loss").get<double>() - 0.2);

  const json flags = json::parse(read(begin.scratch.path("tuned/train.json")));
  CHECK(flags.at("init-from") == begin.base);
  CHECK(flags.at("lr") == 3e-4);
  CHECK(flags.at("min-lr") == 3e-5);
  CHECK(flags.at("warmup") == 20);
  CHECK(flags.at("block") == 16);
  CHECK_HAS(call("info", begin.scratch.path("tuned")).out, "began as    " + begin.base);
}

TEST_CASE("a model that nothing improves on is kept as the best") {
  const Beginning begin;
  // The text it was trained on; a rate that ruins it.
  must("train --init-from", begin.base, "--text", begin.text, "--out", begin.scratch.path("worse"),
       "--steps 3 --warmup 0 --lr 30 --clip 0 --quiet");
  CHECK(read(begin.scratch.path("worse/model.safetensors")) == read(begin.base + "/model.safetensors"));
  CHECK(read(begin.scratch.path("worse/last/model.safetensors")) != read(begin.base + "/model.safetensors"));
}

TEST_CASE("a run that began with a model goes on with the same bits, without that model") {
  const bool llama = GENERATE(false, true);
  const Beginning begin(llama ? args("--arch llama --norm-eps 1e-6") : std::vector<std::string>{"--no-bias"});
  const std::vector<std::string> flags =
      args("--steps 12 --dropout 0.1 --eval-every 4 --save-every 4 --quiet");
  begin.train("whole", flags);
  const std::vector<std::string> stopped = args(flags, "--stop-after 5");
  begin.train("parts", stopped);
  std::filesystem::remove_all(begin.base);
  const Outcome resumed = must("train --out", begin.scratch.path("parts"), "--resume");
  CHECK(resumed.err.find("before") == std::string::npos);
  check_same(begin.scratch.path("whole"), begin.scratch.path("parts"),
             {"model.safetensors", "config.json", "train.json", "last/model.safetensors",
              "last/optimizer.safetensors", "last/trainer.json"});
  check_refused(args("train --out", begin.scratch.path("parts"), "--resume --init-from", begin.other),
                {"--init-from of a resumed run must stay " + begin.base});
}

TEST_CASE("windows may be shorter than the model's context, which stays; of a llama also longer") {
  const Beginning begin;
  const auto block_of = [](const Beginning& of, const std::string& run) {
    return json::parse(read(of.scratch.path(run) + "/train.json")).at("block");
  };
  begin.train("short", args("--block 9 --steps 2 --quiet"));
  CHECK(block_of(begin, "short") == 9);
  CHECK(models::load_config(begin.scratch.path("short")).block_size == 16);
  must("train --resume --out", begin.scratch.path("short"), "--steps 3 --quiet");
  begin.refused(
      args("--block 17"),
      {"--block must be at most the 16 positions that the model of --init-from has learnt, got 17."});
  const Beginning llama(args("--arch llama"));
  llama.train("long", args("--block 24 --steps 2 --quiet"));
  CHECK(models::load_config(llama.scratch.path("long")).block_size == 24);
}

TEST_CASE("windows have at most 512 tokens, and a step about 2,048, unless flags say otherwise",
          "[needs.formats]") {
  const Beginning begin(args("--arch llama"));
  models::DecoderConfig config = models::load_config(begin.base);
  config.block_size = 1000;
  Generator g(1);
  const std::string wide = begin.scratch.path("wide");
  models::save_pretrained(models::Decoder(config, g), wide);
  std::filesystem::copy(begin.base + "/tokenizer.json", wide);

  const auto check_settings = [&](const std::vector<std::string>& flags, int block, int batch) {
    const std::string run = begin.scratch.path("run");
    must("train --init-from", wide, "--text", begin.other, "--out", run,
         "--steps 1 --val-fraction 0 --overwrite --quiet", flags);
    const json settings = json::parse(read(run + "/train.json"));
    CHECK(settings.at("block") == block);
    CHECK(settings.at("batch") == batch);
    CHECK(models::load_config(run).block_size == 1000);
  };
  check_settings({}, 512, 4);
  check_settings(args("--block 700"), 700, 2);
  check_settings(args("--block 100 --batch 3"), 100, 3);
}

TEST_CASE("flags that the model contradicts are refused by name; those that agree are not") {
  const Beginning begin;
  const std::pair<const char*, const char*> table[] = {
      {"--layers 3", "--layers must be left out with --init-from, whose model has 2, got 3."},
      {"--heads 4", "--heads must be left out with --init-from, whose model has 2, got 4."},
      {"--embd 64", "--embd must be left out with --init-from, whose model has 32, got 64."},
      {"--arch llama", "--arch must be left out with --init-from, whose model has gpt2, got llama."},
      {"--no-bias", "--bias must be left out with --init-from, whose model has true, got false."},
      {"--untied", "--tied must be left out with --init-from, whose model has true, got false."},
      {"--norm-eps 1e-6", "--norm-eps must be left out with --init-from, whose model has 1e-05"},
      {"--preset nano", "--preset must be left out with --init-from"},
      {"--tokenizer char", "--tokenizer must be left out with --init-from, whose folder has one"},
      {"--vocab 300", "--vocab must be left out with --init-from"}};
  for (const auto& [flags, words] : table) begin.refused(split(flags), {words});
  begin.refused({"--init-from", begin.scratch.path("none")}, {"none/config.json: No such file or directory"});
  check_refused(
      args("train --init-from", begin.base, "--text", begin.other, "--out", begin.base, "--overwrite"),
      {"--out must be another folder than that of --init-from"});
  check_refused(args("train --teacher", begin.base + "/last", "--text", begin.other, "--out", begin.base,
                     "--overwrite"),
                {"--out must be another folder than that of --teacher"});
  begin.train("agreed", args("--layers 2 --embd 32 --steps 1 --quiet"));
}

TEST_CASE("a folder of others needs a tokenizer that fits, and its padding is left out") {
  const Beginning begin;
  const std::string folder = begin.scratch.path("theirs");
  std::filesystem::create_directory(folder);
  json config = json::parse(read(begin.base + "/config.json"));
  std::ofstream(folder + "/config.json") << config.dump();
  std::filesystem::copy(begin.base + "/model.safetensors", folder + "/model.safetensors");
  const auto tune = [&](const std::vector<std::string>& more) {
    return args("train --init-from", folder, "--text", begin.other, "--steps 2 --quiet --out",
                begin.scratch.path("tuned"), "--overwrite", more);
  };
  check_refused(tune({}), {"theirs", "must have a tokenizer", "Hint: --tokenizer takes one from elsewhere."});
  check_refused(tune(args("--tokenizer byte")), {"--tokenizer must be the path of the one", "got byte."});
  must(tune({"--tokenizer", begin.base}));
  check_refused(args("sample", folder, "--tokens 3"), {"Hint: --tokenizer takes one from elsewhere."});
  must("sample", folder, "--tokens 3 --tokenizer", begin.base);
  must("eval", folder, "--text", begin.other, "--tokenizer", begin.base);

  // A tokenizer of 300 pairs for a table of 320 rows.
  must("tokenizer train", begin.text, begin.other, "--out", begin.scratch.path("pairs"),
       "--vocab 280 --quiet");
  nn::StateDict stored = nn::load_safetensors(folder + "/model.safetensors");
  Generator g(3);
  const int64_t tokens = data_tokens(begin.scratch.path("pairs"));
  stored["wte.weight"] = randn({320, 32}, g);
  nn::save_safetensors(folder + "/model.safetensors", stored);
  config["vocab_size"] = 320;
  std::ofstream(folder + "/config.json") << config.dump();
  must(tune({"--tokenizer", begin.scratch.path("pairs")}));
  CHECK(models::load_config(begin.scratch.path("tuned")).vocab_size == tokens);
  must("sample", folder, "--tokens 200 --temperature 100 --tokenizer", begin.scratch.path("pairs"));
}

TEST_CASE("the commands of docs/training.md and of help for a text of your own run in their order") {
  const Scratch scratch;
  scratch.text("my.txt");
  scratch.text("more.txt");
  scratch.file("other.txt", train::small_text() + "\xC3\xA9 100 %\n");  // other characters
  const std::string page = read(testing::test_files().parent_path() / "docs/training.md");
  for (const std::string& text : {page, call("train --help").out}) {
    std::string script = "set -e; cd " + scratch.path(".") + "; rm -rf out\n";
    int commands = 0;
    for (std::string line : lines_of(text)) {
      const size_t program = line.find("gradus "), at = line.find("out/my");
      if (program > 6 || at == std::string::npos || line.find("out/my-") == at) continue;
      line = "\"$GRADUS\" " + line.substr(program + 7, line.find('#') - program - 7);
      const bool begins = line.find(" train ") != line.npos && line.find("--resume") == line.npos;
      if (begins) line += line.find("--init-from") == line.npos ? " --preset tiny --steps 2" : " --steps 2";
      script += line + "\n";
      ++commands;
    }
    CHECK(commands >= 3);
    const Outcome all = run_shell(script);
    INFO(script << all.err);
    CHECK(all.code == 0);
  }
}

}  // namespace gradus::cli::test_init_from
