// The program as it is meant to be used.
#include <nlohmann/json.hpp>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/plan.hpp"
#include "program.hpp"

namespace gradus::cli::test_program {

using nlohmann::json;

struct Trained {
  Scratch scratch;
  std::string text = scratch.text();
  std::string out = scratch.path("run");
  Outcome outcome;

  explicit Trained(std::vector<std::string> more = {}) {
    outcome = must("train --text", text, "--preset tiny --steps 12 --eval-every 5 --out", out, more);
  }
};

TEST_CASE("train --json prints an object for every event, and nothing else") {
  const Trained run({"--json"});
  int64_t steps = 0, evals = 0;
  double best = 1e9, elapsed = 0;
  const std::vector<std::string> lines = lines_of(run.outcome.out);
  for (const std::string& line : lines) {
    const json event = json::parse(line);
    if (event.at("event") == "step") {
      CHECK(event.at("step") == ++steps);
      for (const char* key : {"loss", "lr", "grad_norm", "tokens_per_s"})
        CHECK(event.at(key).get<double>() > 0);
      CHECK(event.size() == 7);
    } else if (event.at("event") == "eval") {
      CHECK(event.at("step") == std::vector<int64_t>{5, 10, 12}.at(static_cast<size_t>(evals++)));
      best = std::min(best, event.at("val_loss").get<double>());
      CHECK(event.at("tokens").get<int64_t>() > 0);
      CHECK(event.at("peak_bytes").get<double>() > 1e6);
      CHECK(event.size() == 6);
    }
    if (event.contains("elapsed_s")) {
      CHECK(event.at("elapsed_s").get<double>() >= elapsed);
      elapsed = event.at("elapsed_s").get<double>();
    }
  }
  CHECK(steps == 12);
  CHECK(evals == 3);
  const json done = json::parse(lines.back());
  CHECK(done.at("event") == "done");
  CHECK(done.at("steps") == 12);
  CHECK(done.at("val_loss") == best);
  CHECK(done.at("seconds").get<double>() > 0);
  CHECK(done.at("seconds").get<double>() >= elapsed - 0.001);  // Which is rounded to milliseconds.
  CHECK(done.at("tokens_per_s").get<double>() > 0);
  CHECK(done.at("out") == run.out);
  CHECK(done.at("val_tokens").get<int64_t>() > 0);
  CHECK(done.size() == 7);

  // The log has the same lines.
  CHECK(read(run.out + "/metrics.jsonl") == run.outcome.out);
  CHECK_HAS(run.outcome.err, "sample");
}

TEST_CASE("evaluations read a sample of the validation part, the last one more") {
  const Trained run(args("--json --eval-tokens 20 --eval-every 4 --sample-every 5"));
  std::vector<int64_t> samples;
  for (const std::string& line : lines_of(run.outcome.out)) {
    const json event = json::parse(line);
    if (event.at("event") == "eval") CHECK(event.at("tokens") == 32);  // a window of the preset tiny
    if (event.at("event") == "sample") {
      samples.push_back(event.at("step"));
      CHECK_FALSE(event.at("text").get<std::string>().empty());
    }
  }
  CHECK(samples == std::vector<int64_t>{4, 5, 8, 10, 12});  // and after each evaluation
  const std::string log = read(run.out + "/metrics.jsonl");
  const json done = json::parse(lines_of(log).back());
  CHECK(done.at("event") == "done");
  CHECK(done.at("val_tokens") == 187);
  CHECK_HAS(run.outcome.err, "sample after step 5\n", "nats a token on the validation text");
  const std::string loss = std::to_string(done.at("val_loss").get<double>()).substr(0, 5);
  CHECK_HAS(call("info", run.out).out, " nats a token, the lowest validation loss\nat the end  " + loss,
            " nats a token on 187 tokens of the validation text\n");
  must("train --out", run.out, "--resume --quiet");
  CHECK(lines_of(read(run.out + "/metrics.jsonl")).size() == lines_of(log).size());
}

TEST_CASE("minutes choose a tokenizer unless one is given") {
  const Scratch scratch;
  const std::string text = scratch.text(), out = scratch.path("run");
  const auto [flags, tokenizer, vocab] = GENERATE(table<std::vector<std::string>, std::string, int64_t>(
      {{{"--tokenizer", "char"}, "char", 0},
       {{"--tokenizer", "bpe", "--vocab", "300"}, "bpe", 300},
       {{}, "bpe", 257}}));
  must("train --text", text, "--preset tiny --minutes 0.01 --out", out, flags);
  const json config = json::parse(read(out + "/train.json"));
  CHECK(config.at("tokenizer") == tokenizer);
  CHECK(config.value("vocab", int64_t{0}) == vocab);
}

TEST_CASE("minutes are planned, kept in the folder, and repeated by a run that goes on") {
  const Scratch scratch;
  const std::string text = scratch.text(), out = scratch.path("run");
  const auto train = args("train --text", text, "--preset tiny --minutes 0.03 --out");
  const Outcome run = must(train, out);
  CHECK_HAS(run.err, "steps in 0.03 minutes");
  const json config = json::parse(read(out + "/last/train.json"));
  CHECK(config.at("minutes") == 0.03);
  CHECK(config.at("tokenizer") == "bpe");
  CHECK(config.at("vocab") == 257);  // of so short a text
  // So short a text is read hundreds of times, unless the machine hardly gets to a step.
  const std::string words = ": the text is read ";
  const size_t read_at = run.err.find(words);
  REQUIRE(read_at != std::string::npos);
  const double epochs = std::stod(run.err.substr(read_at + words.size())), dropout = config.at("dropout");
  INFO(epochs << " readings, dropout " << dropout);
  CHECK(dropout >= gradus::train::planned_dropout(epochs / 3, 16));
  CHECK(run.err.substr(0, read_at).ends_with(concat(", dropout ", dropout)));
  const bool has_unit = kernels::isa_in_use<kernels::Bf16Unit>() != kernels::Bf16Unit::widened;
  CHECK(config.at("precision") == (has_unit ? "bf16" : "float32"));
  const int64_t steps = config.at("steps");
  CHECK(steps > 0);
  CHECK(json::parse(read(out + "/last/trainer.json")).at("step") == steps);
  CHECK(json::parse(read(out + "/train.json")).at("steps") == steps);
  must("train --out", out, "--resume --quiet");
  CHECK(json::parse(read(out + "/last/trainer.json")).at("step") == steps);

  must(train, scratch.path("without"), "--dropout 0 --precision float32 --stop-after 1");
  const json asked = json::parse(read(scratch.path("without/train.json")));
  CHECK(asked.at("dropout") == 0);
  CHECK(asked.at("precision") == "float32");

  // Stopped before its end, it goes on with the same bits as often as one likes.
  must(train, scratch.path("stopped"), "--stop-after 3");
  std::filesystem::copy(scratch.path("stopped"), scratch.path("copy"),
                        std::filesystem::copy_options::recursive);
  for (const char* folder : {"stopped", "copy"})
    must("train --out", scratch.path(folder), "--resume --quiet");
  CHECK(read(scratch.path("stopped/last/model.safetensors")) ==
        read(scratch.path("copy/last/model.safetensors")));
  CHECK(read(scratch.path("stopped/last/train.json")) == read(scratch.path("copy/last/train.json")));
}

TEST_CASE("patience ends a run that makes no progress, for good") {
  const Trained run(args("--json --lr 1e-30 --eval-every 2 --patience 2"));
  const json done = json::parse(lines_of(run.outcome.out).back());
  CHECK(done.at("event") == "done");
  CHECK(done.at("steps") == 6);  // of 12: the lowest loss after step 2, none lower after 4 and 6
  const Outcome again = must("train --out", run.out, "--resume --json");
  CHECK(json::parse(lines_of(again.out).back()).at("steps") == 6);
  const Outcome on = call("train --out", run.out, "--resume --patience 0 --json");
  CHECK(json::parse(lines_of(on.out).back()).at("steps") == 12);
}

TEST_CASE("without a terminal there are no live lines, and a sample ends the run") {
  const Trained run;
  CHECK(run.outcome.err.find_first_of("\r\033") == std::string::npos);
  CHECK_HAS(run.outcome.err, "step 12/12  loss ", " val ", "tokens/s", " left",
            run.out + "/model.safetensors", "gradus sample " + run.out);
  CHECK(run.outcome.out.size() > 300);
  const Trained quiet({"--quiet"});
  CHECK(quiet.outcome.err.empty());
  CHECK(quiet.outcome.out.empty());
}

TEST_CASE("without a validation split the newest model is kept") {
  const Trained run(args("--val-fraction 0 --json"));
  CHECK(json::parse(lines_of(run.outcome.out).back()).at("val_loss").is_null());
  CHECK(read(run.out + "/model.safetensors") == read(run.out + "/last/model.safetensors"));
}

TEST_CASE("a run whose loss is not finite says why, and its last checkpoint stays") {
  const Scratch scratch;
  const std::string out = scratch.path("run");
  const Outcome outcome =
      call("train --text", scratch.text(),
           "--preset tiny --lr 1e30 --clip 0 --warmup 0 --save-every 1 --quiet --out", out);
  CHECK(outcome.code == 1);
  REQUIRE(lines_of(outcome.err).size() == 1);
  CHECK_HAS(outcome.err, "loss must stay finite, got ", "at step 2", "Hint: lower --lr");
  CHECK(train::RunFolder(out).load_last().trainer.step == 1);
}

TEST_CASE("a run without --out twice says what to do") {
  const Scratch scratch;
  const std::string text = scratch.text("poem.txt");
  const auto train = [&] {
    return run_shell(
        concat("cd ", scratch.path("."), "; exec $GRADUS train --text ", text, " --preset tiny --steps 1"));
  };
  const Outcome first = train();
  CHECK(first.code == 0);
  CHECK_HAS(first.err, "done    1 step, ");
  CHECK(std::filesystem::exists(scratch.path("out/poem-tiny/model.safetensors")));
  const Outcome second = train();
  CHECK(second.code == 2);
  CHECK_HAS(second.err, "out/poem-tiny", "--resume", "--overwrite");
}

TEST_CASE("a config file stands for flags, the command line wins over it, and both over the preset") {
  const Scratch scratch;
  const std::string text = scratch.text("a b#c.txt");
  const std::string toml =
      scratch.file("run.toml", "# Mine.\n[train]\ntext = [\"" + text +
                                   "\"]  # with a hash in its name\nsteps = 1_0\nlr = 2e-3\n"
                                   "bias = false\ndecay = 'linear'\npreset = \"tiny\"\nquiet = true\n");
  const std::string out = scratch.path("run");
  const Outcome outcome = must("train --config", toml, "--out", out, "--steps 3 --steps 2");
  CHECK(outcome.err.empty());
  const auto config = train::load_config(train::RunFolder(out));
  CHECK(config.text == std::vector<std::string>{text});
  CHECK(config.steps == 2);  // The last one given.
  CHECK(config.lr == 2e-3);
  CHECK(config.min_lr == 2e-4);  // A tenth, unless given.
  CHECK_FALSE(config.model.bias);
  CHECK(config.decay == "linear");
  CHECK(config.batch == train::preset("tiny").batch);
}

TEST_CASE("a run folder is complete, and sample, eval and info read it", "[needs.pages]") {
  const Trained run({"--quiet"});
  for (const char* file :
       {"config.json", "model.safetensors", "vocab.json", "train.json", "metrics.jsonl", "last/config.json",
        "last/model.safetensors", "last/vocab.json", "last/optimizer.safetensors", "last/trainer.json",
        "last/train.json", "tokenizer.json", "tokenizer_config.json", "last/tokenizer.json",
        "last/tokenizer_config.json", "checksums.sfv", "last/checksums.sfv", "report.html", ".lock"})
    CHECK(std::filesystem::is_regular_file(run.out + "/" + file));
  CHECK(contents(run.out).size() == 19);
  CHECK(models::load_pretrained(run.out).config().bias);
  const train::TrainConfig config = train::load_config(train::RunFolder(run.out));
  CHECK(config.preset == "tiny");
  CHECK(config.steps == 12);
  CHECK(config.text == std::vector<std::string>{run.text});
  CHECK(json::parse(read(run.out + "/config.json")).at("model_type") == "gpt2");
  const std::string version = call("--version").out;
  for (const char* file : {"/config.json", "/last/config.json"})
    CHECK("gradus " + json::parse(read(run.out + file)).at("gradus_version").get<std::string>() + "\n" ==
          version);

  const auto sample = [&](const std::vector<std::string>& more, const Input& input = {}) {
    const Outcome outcome = must_run(args("sample", run.out, "--tokens 20", more), input);
    CHECK(outcome.err.empty());
    return outcome.out;
  };
  const std::vector<std::string> the{"--prompt", "the "};
  const std::string text = sample(the), greedy = sample(args(the, "--greedy"));
  CHECK(text.size() == 4 + 20 + 1);
  CHECK(text.starts_with("the "));
  CHECK(sample(the) == text);
  CHECK(sample(args("--prompt -"), {.stdin_text = "the \n"}) == text);
  CHECK(sample(args(the, "--seed 2")) != text);
  CHECK(sample(args(the, "--greedy --seed 2")) == greedy);
  CHECK(sample(args(the, "--top-k 1")) == greedy);
  CHECK(sample({}).size() == 20 + 1);
  CHECK(sample(args("--count 2")).size() == 2 * (20 + 1) + 5);
  must("sample", run.out + "/last", "--tokens 1");

  const json eval = json::parse(call("eval", run.out, "--text", run.text, "--json").out);
  const double loss = eval.at("loss").get<double>();
  CHECK(eval.at("tokens") == train::small_text().size() - 1);
  CHECK(eval.at("perplexity").get<double>() == Approx(std::exp(loss)));
  CHECK(eval.at("bits_per_byte").get<double>() == Approx(loss / std::log(2.0)));
  CHECK_HAS(call("eval", run.out, "--text", run.text).out, "bits per byte");

  const std::string info = call("info", run.out).out;
  const nn::SafetensorsFile file(run.out + "/model.safetensors");  // The shapes are those in the file.
  for (const nn::TensorEntry& entry : file.header().entries) {
    const size_t at = ("\n" + info).find("\n" + entry.name + " ");
    REQUIRE(at != std::string::npos);
    CHECK_HAS(info.substr(at, info.find('\n', at) - at), " " + concat(entry.shape) + " ");
  }
  CHECK_HAS(info, "h.0.attn.c_attn.weight  (32, 96)", "wte.weight", "h.1.mlp.c_proj.bias",
            "step 12 of 12; finished", "memory", "written by  " + version);
}

TEST_CASE("help shows groups, defaults and examples in at most 100 columns", "[needs.verbs]") {
  for (const char* verb :
       {"", "train", "sample", "chat", "eval", "look", "gradcheck", "bench", "plan", "info"}) {
    std::vector<std::string> arguments{"--help"};
    if (*verb) arguments.insert(arguments.begin(), verb);
    const Outcome outcome = must(arguments);
    CHECK(outcome.err.empty());
    CHECK_HAS(outcome.out, "Examples:");
    size_t flags = 0;
    for (const std::string& line : lines_of(outcome.out)) {
      INFO(line);
      CHECK(line.size() <= 100);
      flags += line.starts_with("  -");
    }
    CHECK(flags <= 14);
  }
  const std::string help = call("train --help-all").out;
  CHECK_HAS(help, "Text:", "Model:", "Learning:", "Run:", "Output:", "--steps N=600", "--lr RATE=0.005",
            "--min-lr RATE  ", "--beta2 F=0.99", "--batch N=12", "--seed N=1337", "--decay", "cosine");
  CHECK_HAS(call("--version").out, "gradus 0.");
}

}  // namespace gradus::cli::test_program
