#include <signal.h>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "machine.hpp"

namespace gradus::cli::test_resume {

/// Twenty steps with dropout, evaluated at steps 5, 10, 15 and 20.
std::vector<std::string> train(const Scratch& scratch, const std::string& out,
                               const std::vector<std::string>& more = {}) {
  return args(
      "train --preset tiny --block 8 --steps 20 --dropout 0.1 --seed 3 --warmup 3 --eval-every 5 "
      "--save-every 6 --json --quiet --text",
      scratch.text(), "--out", scratch.path(out), more);
}

/// All that a finished run must have in common with another: everything but speeds.
void check_same_run(const Scratch& scratch, const std::string& one, const std::string& two,
                    size_t records_expected = 20 + 4 * 3 + 1) {
  check_same(scratch.path(one), scratch.path(two),
             {"model.safetensors", "config.json", "vocab.json", "last/model.safetensors",
              "last/optimizer.safetensors", "last/trainer.json"});
  const auto records = [&](const std::string& run) {
    std::vector<std::string> lines = lines_of(read(scratch.path(run) + "/metrics.jsonl"));
    std::erase_if(lines, [](const std::string& line) { return line.starts_with(R"({"event":"start")"); });
    for (std::string& line : lines)
      for (const char* of_speed : {",\"tokens_per_s\"", ",\"elapsed_s\"", ",\"seconds\"", ",\"peak_bytes\""})
        line.resize(std::min(line.size(), line.find(of_speed)));
    return lines;
  };
  CHECK(records(one).size() == records_expected);
  CHECK(records(one) == records(two));
}

TEST_CASE("a run that was stopped and resumed ends with the bits of one in one go", "[needs.fast]") {
  const Scratch scratch;
  const auto goes_on = [&] { must("train --out", scratch.path("parts"), "--resume --quiet"); };
  SECTION("however it ended") {
    must(train(scratch, "whole"));
    const std::filesystem::path parts = scratch.path("parts");
    for (const char* how : {"after --stop-after", "after a crash between two renames of last",
                            "with a torn line in the log, as a killed run leaves it"}) {
      INFO(how);
      std::filesystem::remove_all(parts);
      const Outcome stopped = must(train(scratch, "parts", args("--stop-after 7")));
      CHECK(lines_of(stopped.out).back().starts_with(R"({"event":"stopped","steps":7,)"));
      if (std::string_view(how).find("renames") != std::string_view::npos)
        std::filesystem::rename(parts / "last", parts / "last.old");
      if (std::string_view(how).find("torn") != std::string_view::npos)
        std::ofstream(parts / "metrics.jsonl", std::ios::app) << R"({"event":"step","step":8,"lo)";
      goes_on();
      check_same_run(scratch, "whole", "parts");
      CHECK_FALSE(std::filesystem::exists(parts / "last.old"));
    }
    const std::string before = read(scratch.path("whole/last/trainer.json"));
    must("train --out", scratch.path("whole"), "--resume --quiet");  // It is finished.
    CHECK(read(scratch.path("whole/last/trainer.json")) == before);
  }
  SECTION("with fewer steps at first, as long as both are in the warm-up") {
    must(train(scratch, "long", args("--warmup 100")));
    must(train(scratch, "parts", args("--warmup 100 --steps 7")));
    must(train(scratch, "parts", args("--warmup 100 --resume")));
    check_same(scratch.path("long"), scratch.path("parts"), {"model.safetensors"});
  }
  SECTION("in bfloat16") {
    must(train(scratch, "whole"));
    must(train(scratch, "rounded", args("--precision bf16")));
    must(train(scratch, "parts", args("--precision bf16 --stop-after 7")));
    check_refused(args("train --out", scratch.path("parts"), "--resume --precision float32"),
                  {"[train] --precision of a resumed run must stay bf16, got float32."});
    goes_on();
    check_same_run(scratch, "rounded", "parts");
    CHECK(read(scratch.path("rounded/model.safetensors")) != read(scratch.path("whole/model.safetensors")));
  }
  SECTION("in the precision that the machine was the fastest in at the start") {
    must(train(scratch, "whole"));
    const auto precision_of = [&](const std::string& run) {
      return nlohmann::json::parse(read(scratch.path(run + "/train.json"))).at("precision");
    };
    const auto begun = train(scratch, "parts", args("--precision auto --stop-after 7"));
    must_run(begun, {.environment = {"GRADUS_UNIT=widened"}});
    CHECK(precision_of("parts") == "float32");
    must("train --out", scratch.path("parts"), "--resume --precision auto");
    check_same_run(scratch, "whole", "parts");
    must(train(scratch, "auto", args("--precision auto")));
    const bool has_unit = kernels::isa_in_use<kernels::Bf16Unit>() != kernels::Bf16Unit::widened;
    CHECK(precision_of("auto") == (has_unit ? "bf16" : "float32"));
  }
  SECTION("with Muon and means of the weights") {
    const std::vector<std::string> flags = args("--optimizer muon --ema 0.9 --decay wsd");
    const std::vector<std::string> parts = args(flags, "--stop-after 7");
    must(train(scratch, "muon", flags));
    must(train(scratch, "parts", parts));
    goes_on();
    check_same_run(scratch, "muon", "parts");
    CHECK(read(scratch.path("muon/model.safetensors")) != read(scratch.path("muon/last/model.safetensors")));
  }
}

TEST_CASE("the elapsed time of a resumed run goes on where the log stopped") {
  const Scratch scratch;
  must(train(scratch, "run", args("--stop-after 7")));
  const std::string metrics = scratch.path("run/metrics.jsonl");
  const auto elapsed = [&](int64_t step) {
    for (const std::string& line : lines_of(read(metrics)))
      if (const auto record = nlohmann::json::parse(line);
          record.at("event") == "step" && record.at("step") == step)
        return record.at("elapsed_s").get<double>();
    return std::nan("");
  };
  const auto put_last = [&](const std::string& record) {  // in the place of step 7's
    std::string log = read(metrics);
    log.resize(log.find(R"({"event":"step","step":7,)"));
    std::ofstream(metrics) << log << record << "\n";
  };
  const std::vector<std::string> resume = args("train --out", scratch.path("run"), "--resume --quiet");
  SECTION("as written") {
    const double before = elapsed(7);
    must(resume);
    CHECK(elapsed(8) >= before);
  }
  SECTION("after hours") {
    put_last(R"({"event":"step","step":7,"elapsed_s":7200.5})");
    must(resume);
    CHECK(elapsed(8) >= 7200.5);
    CHECK(elapsed(20) >= elapsed(8));
  }
}

TEST_CASE("the log of a finished run stays as it is when the run is resumed") {
  const Scratch scratch;
  const std::string log = scratch.path("run/metrics.jsonl");
  const auto patience = GENERATE("0", "1");  // With a patience of 1 and no training the run ends at step 10.
  must(train(scratch, "run", args("--patience", patience, "--lr 1e-30 --min-lr 0")));
  const std::string before = read(log);
  CHECK_THAT(lines_of(before).back(), Catch::Matchers::StartsWith(R"({"event":"done",)"));
  must("train --out", scratch.path("run"), "--resume --quiet");
  CHECK(read(log) == before);
}

TEST_CASE("a run saves and stops on a signal, and goes on with the same bits") {
  const Scratch scratch;
  // The program is ahead of its reader by what the pipe holds, some sixty lines: far from the end.
  const std::vector<std::string> long_run = args("--steps 400 --eval-every 100 --save-every 100");
  must(train(scratch, "whole", long_run));

  const auto send_once = [](int signal) {
    return [signal, sent = false](const std::string&, int process) mutable {
      if (!sent) ::kill(process, signal);
      sent = true;
    };
  };
  const std::string parts = scratch.path("parts");
  REQUIRE(run_program(train(scratch, "parts", long_run), {.on_line = send_once(SIGINT)}).code == 130);
  REQUIRE(run_program(args("train --out", parts, "--resume --json"), {.on_line = send_once(SIGHUP)}).code ==
          129);
  const Outcome terminated =
      run_program(args("train --out", parts, "--resume --json"), {.on_line = send_once(SIGTERM)});
  REQUIRE(terminated.code == 143);
  const std::string last = lines_of(terminated.err).back();
  CHECK(last.starts_with("stopped after step "));
  CHECK(last.ends_with(" and saved; resume with: gradus train --out " + parts + " --resume"));
  must("train --out", parts, "--resume --quiet");
  check_same_run(scratch, "whole", "parts", 400 + 4 * 3 + 1);
}

TEST_CASE("neither threads nor the times of evaluating and saving change what is learnt") {
  const Scratch scratch;
  must(train(scratch, "one", args("--threads 1")));
  must(train(scratch, "two", args("--threads 2")));
  check_same_run(scratch, "one", "two");

  must(train(scratch, "other", args("--eval-every 3 --save-every 4")));
  check_same(scratch.path("one"), scratch.path("other"), {"last/model.safetensors"});
}

TEST_CASE("info knows a state of its own too, the last one or one that was kept") {
  const Scratch scratch;
  const std::string out = scratch.path("run");
  must("train --preset tiny --text", scratch.text(), "--steps 4 --save-every 2 --keep 2 --out", out,
       "--quiet");
  for (const auto& [state, step] :
       {std::pair{"", "4 of 4; finished"}, {"/last", "4 of 4; finished"}, {"/kept/step-2", "2 of 4; "}})
    CHECK_HAS(call("info", out + state).out, std::string("state       step ") + step);
}

TEST_CASE("a resumed run keeps its flags, and says so where it must") {
  const Scratch scratch;
  must(train(scratch, "run", args("--stop-after 2")));
  const auto before = contents(scratch.path("run"));
  const auto refused = [&](const std::string& flags, const std::string& words) {
    check_refused(args("train --out", scratch.path("run"), "--resume", split(flags)), {words});
    CHECK(contents(scratch.path("run")) == before);
  };
  refused("--dropout 0.2", "--dropout of a resumed run must stay 0.1, got 0.2.");
  refused("--preset nano", "--preset of a resumed run must stay tiny, got nano.");
  refused("--no-bias", "--bias of a resumed run must stay true, got false.");
  refused("--chat-format chatml", "--chat-format of a resumed run must stay unset, got chatml.");
  refused("--teacher " + scratch.path("run"), "--teacher of a resumed run must stay unset");
  refused("--steps 1", "--steps must be at least the 2 that are done, got 1.");
  refused("--stop-after 1", "--stop-after must be more than the 2 steps that are done, got 1.");
  refused("--stop-after 2", "--stop-after must be more than the 2 steps that are done, got 2.");
  refused("--overwrite", "--resume and --overwrite must not come together");
  scratch.file("text.txt", train::small_text() + "more");
  refused("", "the text of a resumed run must not change");
}

TEST_CASE("a run goes on with its text wherever that is now") {
  const Scratch scratch;
  const std::vector<std::string> resume = args("train --out", scratch.path("run"), "--resume --quiet");
  must(train(scratch, "whole"));

  SECTION("in another place") {
    must(train(scratch, "run", args("--stop-after 2")));
    std::filesystem::rename(scratch.path("text.txt"), scratch.path("moved.txt"));
    check_refused(resume, {"text.txt", "No such file", "--text gives its new place"});
    const std::string other = scratch.file("other.txt", train::small_text() + "more");
    check_refused(args(resume, "--text", other), {"the text of a resumed run must not change, got " + other,
                                                  "was trained on " + scratch.path("text.txt")});
    CHECK(must(resume, "--text", scratch.path("moved.txt"), "--stop-after 4").err.empty());
    CHECK(must(resume).err.empty());  // It is known now.
    check_same(scratch.path("run"), scratch.path("whole"), {"last/model.safetensors"});
  }
  SECTION("from a pipe") {
    if (!testing::machine_has("/dev/stdin")) return;
    std::string command = "cat '" + scratch.path("text.txt") + "' | \"$GRADUS\"";
    for (const std::string& argument : train(scratch, "run", args("--stop-after 2")))
      if (argument != "--quiet")
        command += " '" + (argument == scratch.path("text.txt") ? "/dev/stdin" : argument) + "'";
    const Outcome begun = run_shell(command);
    REQUIRE(begun.code == 0);
    CHECK_HAS(begun.err, "note: the text comes from a pipe", "--resume --text FILE");
    check_refused(resume, {"--text gives its new place"});
    CHECK(must(resume, "--text", scratch.path("text.txt")).err.empty());
    check_same(scratch.path("run"), scratch.path("whole"), {"last/model.safetensors"});
  }
  SECTION("another one than a corpus") {
    must("train --preset tiny --corpus stories --steps 1 --out", scratch.path("run"),
         "--quiet --val-fraction 0");
    check_refused(args(resume, "--text", scratch.path("text.txt"), "--steps 2"),
                  {"was trained on the corpus stories with"});
  }
}

TEST_CASE("the best model may be lost, and the next evaluation chooses a new one") {
  const Scratch scratch;
  must(train(scratch, "run", args("--stop-after 7")));
  std::filesystem::remove(scratch.path("run/model.safetensors"));
  const Outcome outcome = must("train --out", scratch.path("run"), "--resume");
  CHECK_HAS(outcome.err, "note: the best model is missing");
  must("sample", scratch.path("run"));
}

/// The flags that ask for the run in a folder once more, by its train.json; all but its minutes.
std::vector<std::string> repeated(const std::string& folder, const std::string& out) {
  std::vector<std::string> flags = args("train --out", out, "--quiet");
  const nlohmann::json config = nlohmann::json::parse(read(folder + "/train.json"));
  for (const auto& [key, value] : config.items()) {
    if (key == "minutes" || value.empty() || value == "") continue;
    if (value.is_boolean()) {
      flags.push_back((value.get<bool>() ? "--" : "--no-") + key);
      continue;
    }
    flags.push_back("--" + key);
    for (const nlohmann::json& item : value)
      flags.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  }
  return flags;
}

void check_repeats(const Scratch& scratch, const std::string& folder) {
  const std::string again = scratch.path("again");
  const Outcome run = run_program(repeated(folder, again));
  INFO(run.err << read(folder + "/train.json"));
  REQUIRE(run.code == 0);
  check_same(again, folder, {"last/model.safetensors", "last/optimizer.safetensors"});
}

TEST_CASE("what train.json has repeats a run whose plan was corrected, bit for bit") {
  const Scratch scratch;
  const std::string text = scratch.text(), out = scratch.path("run");
  SECTION("in minutes") {
    must("train --text", text, "--preset tiny --minutes 0.03 --out", out, "--quiet");
    CHECK(nlohmann::json::parse(read(out + "/train.json")).contains("earlier-steps"));  // It was corrected.
    check_repeats(scratch, out);
  }
  SECTION("by other steps when it was resumed") {
    must("train --text", text, "--preset tiny --steps 60 --stop-after 40 --out", out, "--quiet");
    must("train --out", out, "--resume --steps 80 --stop-after 70 --quiet");
    must("train --out", out, "--resume --quiet");
    CHECK(nlohmann::json::parse(read(out + "/train.json")).at("earlier-steps") ==
          nlohmann::json::parse("[40, 60]"));
    check_repeats(scratch, out);
  }
}

}  // namespace gradus::cli::test_resume
