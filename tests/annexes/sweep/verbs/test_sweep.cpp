// gradus sweep: which runs a table stands for, and that none is made twice.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "gradus/files/error.hpp"

namespace gradus::cli::test_sweep {

using nlohmann::json;

const std::string kTable =
    "seeds = [1, 2]\n[base]\npreset = \"tiny\"\nsteps = 4\n[try.adamw]\nlr = [1e-3, 3e-3]\n"
    "[try.muon]\noptimizer = \"muon\"\n";

std::string with_text(const Scratch& scratch) {
  std::string table = kTable;
  const std::string text = scratch.text();
  return table.replace(table.find("[base]\n"), 7, "[base]\ntext = [\"" + text + "\"]\n");
}

TEST_CASE("a sweep trains each setting with each seed, once, and prints means") {
  const Scratch scratch;
  const std::string file = scratch.file("table.toml", with_text(scratch)), out = scratch.path("sweep");
  const Outcome first = must("sweep", file, "--out", out, "--threads 1");
  CHECK_HAS(first.out, "adamw lr=0.001, seed 1: ", "adamw lr=0.003, seed 2: ", "muon, seed 2: ", " +- ");
  const std::vector<std::string> lines = lines_of(read(out + "/results.jsonl"));
  REQUIRE(lines.size() == 6);
  for (const std::string& line : lines) {
    const json entry = json::parse(line);
    CHECK(entry.at("val_loss").get<double>() > 0);
    CHECK(entry.at("seconds").get<double>() > 0);
  }

  if (call("report --help").code == 0)  // with the annex pages
    CHECK_HAS(call("report", out, "--json").out, "\"name\":\"adamw-lr=0.001-s1\"", "\"name\":\"muon-s2\"");

  // A line that a kill tore, a run that was stopped: only that one is made again.
  std::string torn;
  for (size_t i = 0; i < 5; ++i) torn += lines[i] + "\n";
  std::ofstream(out + "/results.jsonl") << torn << lines[5].substr(0, 20);
  const Outcome again = must("sweep", file, "--out", out, "--threads 1");
  CHECK_THAT(again.out, ContainsSubstring("muon, seed 2: ") && !ContainsSubstring("muon, seed 1: "));
  CHECK(lines_of(read(out + "/results.jsonl")).size() == 6);
  const auto muon = [](const Outcome& outcome) {  // but for the seconds, which are never the same
    const std::vector<std::string> table = lines_of(outcome.out);
    return table.back().substr(0, table.at(table.size() - 4).find("seconds"));
  };
  CHECK(muon(again) == muon(first));
}

TEST_CASE("a table of too many runs is refused before they are made") {
  const Scratch scratch;
  std::string values, seeds;
  for (int i = 1; i <= 100; ++i) values += concat(i == 1 ? "" : ", ", i / 1000.0);
  for (int i = 1; i <= 101; ++i) seeds += concat(i == 1 ? "" : ", ", i);
  const auto refused = [&](const std::string& table, const std::string& count) {
    check_refused({"sweep", scratch.file("table.toml", table), "--out", scratch.path("sweep")},
                  {"must have at most 10000 runs, got " + count});
    CHECK_FALSE(std::filesystem::exists(scratch.path("sweep")));
  };
  refused("seeds = [" + seeds + "]\n[try.a]\nlr = [" + values + "]\n", "10100");
  std::string many = "[try.a]\n";
  for (const char* flag : {"lr", "min-lr", "beta1", "beta2", "weight-decay", "clip", "dropout", "momentum"})
    many += concat(flag, " = [", values, "]\n");
  refused(many, "1e+16");
}

TEST_CASE("results that are none are refused by line, and stay as they are") {
  const Scratch scratch;
  const std::string file = scratch.file("table.toml", with_text(scratch));
  const std::string results = scratch.path("sweep/results.jsonl"),
                    whole = "{\"setting\":\"muon\",\"seed\":1,\"val_loss\":2.5,\"seconds\":3,\"flags\":[]}\n";
  std::filesystem::create_directories(scratch.path("sweep"));
  const auto refused = [&](const std::string& text, const std::string& words) {
    std::ofstream(results) << text;
    check_refused({"sweep", file, "--out", scratch.path("sweep")}, {words});
    CHECK(read(results) == text);
  };
  const std::string must_be = " must be JSON with setting, seed, val_loss and seconds, got '";
  refused(whole + "{}\n", "results.jsonl:2" + must_be + "{}'");
  for (const std::string line : {"[1]", "x", "{\"setting\":3}"})
    refused(line + "\n" + whole, "results.jsonl:1" + must_be + line + "'");
  for (const char* loss : {"null", "NaN", "1e999", "true"})
    refused(whole.substr(0, whole.find("2.5")) + loss + ",\"seconds\":3}\n", "results.jsonl:1" + must_be);
}

TEST_CASE("a sweep whose run fails says which, and keeps what is done") {
  const Scratch scratch;
  std::string table = with_text(scratch);
  table += "lr = 1e39\nwarmup = 0\n";
  const Outcome outcome = call("sweep", scratch.file("table.toml", table), "--out", scratch.path("sweep"));
  CHECK(outcome.code == 1);
  CHECK_HAS(outcome.err, "must end with a validation loss, got exit code 1 for muon, seed 1");
  CHECK(lines_of(read(scratch.path("sweep/results.jsonl"))).size() == 4);
}

TEST_CASE("a sweep passes switches and lists on, and makes no setting of a list that is one value") {
  const Scratch scratch;
  const std::string text = scratch.text();
  const std::string file = scratch.file(
      "table.toml", "seeds = [3]\n[base]\npreset = \"tiny\"\nsteps = 2\ntext = [\"" + text + "\", \"" + text +
                        "\"]\ntext-weights = [1, 2]\nearlier-steps = [1, 3]\n[try.untied]\ntied = "
                        "false\n[try.heads]\nbias = [true, false]\n[try.again]\nearlier-steps = [1, 4]\n");
  const std::string said = must("sweep", file, "--out", scratch.path("sweep"), "--threads 1").out;
  CHECK(said.starts_with("untied, seed 3: "));  // in the order of the table
  CHECK(lines_of(read(scratch.path("sweep/results.jsonl"))).size() == 4);
  const auto trained = [&](const std::string& folder) {
    return json::parse(read(scratch.path("sweep/" + folder + "/train.json")));
  };
  CHECK(trained("untied-s3").at("tied") == false);
  CHECK(trained("untied-s3").at("text-weights") == json{1.0, 2.0});
  CHECK(trained("untied-s3").at("earlier-steps") == json{1, 3});
  CHECK(trained("again-s3").at("earlier-steps") == json{1, 4});
  CHECK(trained("heads-bias=true-s3").at("bias") == true);
  CHECK(trained("heads-bias=false-s3").at("bias") == false);
}

TEST_CASE("a sweep sets no results of another table beside its own") {
  const Scratch scratch;
  std::string table = with_text(scratch);
  const std::string out = scratch.path("sweep");
  const auto sweep = [&] {
    return call("sweep", scratch.file("table.toml", table), "--out", out, "--threads 1");
  };
  REQUIRE(sweep().code == 0);
  const std::string results = read(out + "/results.jsonl");
  const std::string but_one =
      results.substr(results.find('\n') + 1);  // a run that was stopped is of its table too
  const std::string begun = read(out + "/table.json");
  std::ofstream(out + "/table.json") << begun.substr(0, begun.size() - 1);  // without its last line end
  table.replace(table.find("steps = 4"), 9, "steps = 5");
  for (const std::string& kept : {results, but_one}) {
    std::ofstream(out + "/results.jsonl") << kept;
    const Outcome outcome = sweep();
    CHECK(outcome.code == 2);
    CHECK_HAS(outcome.err, "the flags of adamw lr=0.001, seed 1, must stay [", "\"--steps=4\"",
              "\"--steps=5\"");
    CHECK(read(out + "/results.jsonl") == kept);
  }
  table.replace(table.find("[try.adamw]"), 11, "[try.other]");  // a setting more is no other table
  table.erase(table.find("[try.muon]"));
  const Outcome more = sweep();
  CHECK(more.code == 0);
  CHECK(lines_of(read(out + "/results.jsonl")).size() == 9);
}

TEST_CASE("a sweep says what is missing where there is no Python, and makes nothing") {
  const Scratch scratch;
  check_refused({"sweep", scratch.file("table.toml", kTable), "--out", scratch.path("sweep")},
                {"Python 3 must be installed, got no python3 that runs. Hint: apt-get install python3."},
                {.environment = {"PATH=" + scratch.path("")}});
  CHECK_FALSE(std::filesystem::exists(scratch.path("sweep")));
}

TEST_CASE("a sweep refuses a table that is none, by line and column") {
  const auto refused = [](const std::string& table, const std::string& why) {
    const Scratch scratch;
    check_refused({"sweep", scratch.file("table.toml", table), "--out", scratch.path("sweep")}, {why});
  };
  refused("", "must have a section [try.NAME] at least, got none");
  refused("[try.a]\nlrr = 1\n",
          ":2:1: must have flags of `train` as keys, got 'lrr'. Hint: did you mean lr?");
  refused("[try.a]\nseed = 1\n", ":2:1: must have flags of `train` as keys, got 'seed'");
  refused("seeds = [-1]\n[try.a]\n",
          ":1:1: seeds must be whole numbers from 0 to 1000000000000000, got '-1'");
  refused("seeds = [1, 1000000000000001]\n[try.a]\n",
          ":1:1: seeds must be whole numbers from 0 to 1000000000000000, got '1000000000000001'");
  refused("seeds = ['']\n[try.a]\n", ":1:1: seeds must be whole numbers from 0 to 1000000000000000, got ''");
  refused("seeds = []\n[try.a]\n", "seeds must be one at least, got none");
  refused("sedes = [1]\n", ":1:1: must have seeds, [base] and [try.NAME] only, got 'sedes'");
  refused("[try]\na = 1\n", "try.a must be a section");
  refused("[try.a]\nlr = []\n", "lr must have a value, got none");
  refused("[try.a\n", "must be TOML, got");
  refused("seeds = [1, 1]\n[try.a]\n", "must have each setting and seed once, got 'a', seed 1 again");
  refused("[try.a]\nlr = [1e-3, 1e-3]\n",
          "must have each setting and seed once, got 'a lr=0.001', seed 1337");
  refused("[try.a]\nlr = 1979-05-27\n", "must be a string, a number, true or false");
}

}  // namespace gradus::cli::test_sweep
