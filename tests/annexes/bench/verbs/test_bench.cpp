// gradus bench, as a user or a script runs it.
#include <nlohmann/json.hpp>
#include <regex>

#include "cli/program.hpp"
#include "gradus/files/error.hpp"
#include "test_files.hpp"

namespace gradus::cli::test_bench {

using nlohmann::json;

std::vector<json> events(const std::vector<std::string>& arguments) {
  const Outcome outcome = must(arguments);
  CHECK(outcome.err.empty());
  std::vector<json> all;
  for (const std::string& line : lines_of(outcome.out)) all.push_back(json::parse(line));
  return all;
}

TEST_CASE("bench --json prints the machine, a line a workload and the end") {
  const auto lines = events(args("bench --workload W0,W5-W1 --threads 2 --steps 5 --json"));
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].at("event") == "machine");
  for (const char* key : {"cpu", "cores", "load", "date", "system", "gradus", "level", "compiler", "blas",
                          "units", "peak_gflops", "read_gb_s"})
    CHECK(lines[0].contains(key));
  CHECK(lines[0].at("date").get<std::string>().size() == 10);
  CHECK(lines[3] == json{{"event", "done"}});

  const json &w0 = lines[1], &w5 = lines[2];
  CHECK(w0.at("workload") == "W0");
  CHECK(w0.at("threads") == 2);
  for (const json& w : {w0, w5})
    for (const char* key : {"ms_median", "ms_min", "tokens_per_s", "peak_mib", "floor_ratio"})
      CHECK(w.at(key).get<double>() > 0);
  CHECK(w0.at("ms_min") <= w0.at("ms_median"));
  CHECK(w0.at("tokens_per_s").get<double>() == Approx(1e3 * 32 / w0.at("ms_median").get<double>()));
  CHECK(w0.at("gemm_floor_ms").get<double>() > 0);
  CHECK(w0.at("gflop").get<double>() == Approx(32 * (6 * (12 * 256 + 512) + 12 * 8 * 16) / 1e9));
  CHECK(w5.at("gemm_floor_ms").is_null());
  CHECK(w5.at("read_floor_ms").get<double>() > 0);
  double shares = 0;
  for (const auto& [op, share] : w0.at("op_shares").items())
    shares += share.at("forward").get<double>() + share.at("backward").get<double>();
  CHECK(shares > 0);  // how much is between them depends on what else the machine does
  CHECK(shares <= 1 + 1e-9);
}

TEST_CASE("the command of the tables in docs/speed.md, at a small size") {
  const Outcome outcome = must("bench --workload W0 --threads 1 --steps 5");
  const std::vector<std::string> lines = lines_of(outcome.out);
  REQUIRE(lines.size() == 9);
  CHECK_HAS(lines[0], "1 thread used", "; 20");
  CHECK_HAS(lines[1], " GFLOP/s in float32, ", " GB/s read");
  CHECK(lines[2].starts_with("gradus "));
  CHECK(lines[4].starts_with("| workload |"));
  CHECK(lines[5].find_first_not_of("|-: ") == std::string::npos);
  CHECK(lines[6].starts_with("| W0       |"));
  for (const size_t i : {5, 6}) CHECK(lines[i].size() == lines[4].size());
  const std::string ms = R"( +(0\.\d{4}|[1-9]\.\d\d|[1-9]\d\.\d|[1-9]\d{2,}) \|)";  // three digits or more
  CHECK(std::regex_search(lines[6], std::regex("^\\| W0 +\\|" + ms + ms)));
  CHECK(std::regex_match(lines[8], std::regex(R"(W0: ([a-z_]+ \d+( \+ \d+)? %, ){6}other \d+ %)")));
  CHECK_HAS(lines[8], "linear ");
}

TEST_CASE("PyTorch finds the same losses and tokens, and its ratio is printed turn by turn", "[torch]") {
  const std::string python = python_with_torch();
  if (python.empty()) return;
  const std::string script = (testing::test_files().parent_path() / "annexes/bench/compare.py").string();
  for (const char* flags : {"W0", "W5-W1", "W0 --precision bf16", "'train llama 1 2 32 8 2 16 0 float32'"}) {
    const Outcome outcome =
        run_shell(concat(python, " -B '", script, "' \"$GRADUS\" ", flags, " --threads 1 --seconds 0.05"));
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(std::regex_search(outcome.out, std::regex(R"(takes \d+\.\d\d of .*; by turn( \d+\.\d\d){5}\n)")));
  }
}

TEST_CASE("bench measures in each precision, and a shape of the user's", "[needs.fast]") {
  const auto lines = events(args("bench --precision float32,bf16 --steps 5 --json --workload W0 --workload",
                                 std::string("train llama 1 2 32 8 2 16 0 float32")));
  REQUIRE(lines.size() == 6);
  CHECK(lines[0].at("bf16_gflops").get<double>() > 0);
  CHECK(lines[0].at("unit").get<std::string>() != "");
  CHECK(lines[1].at("workload") == "W0");
  CHECK(lines[2].at("workload") == "W0 bf16");
  CHECK(lines[2].at("shape") == "train gpt2 1 2 16 8 4 32 0 bfloat16");
  CHECK(lines[3].at("shape") == "train llama 1 2 32 8 2 16 0 float32");
}

TEST_CASE("bench refuses what makes no sense, in one line") {
  const auto refused = [](const std::vector<std::string>& flags, const char* why) {
    check_refused(args("bench", flags), {why});
  };
  refused(args("--workload W9"), "[bench] --workload must name some of W0, W1, W1d, W2, ");
  refused(args("--threads 0"), "--threads must be a whole number of at least 1, got 0");
  refused(args("--steps -1"), "--steps must be a whole number of at least 1, got -1");
  for (const char* seconds : {"0", "-1", "nan", "inf", "1000000"})
    refused({"--seconds", seconds}, "--seconds must be above 0 and finite");
  refused(args("--seconds 1 --steps 1"), "--steps and --seconds must not come together");
  refused(args("--vs torch --python python3"), "Hint: `python3 annexes/bench/compare.py");
  refused(args("--scaling --quick --plot x.svg"),
          "sizes must be varied in a loop of --workload, got --scaling");
  refused(args("--workload W4 --save x"), "--save must come with one workload, got 2");
  refused(args("--workload W0 --save /dev/null"), "--save must be a new file or an earlier one of its kind");
  const std::string of_look = R"(lengthxx{"__metadata__":{"gradus":"look"},"tokens":{"dtype":"I64")";
  refused({"--workload", "W0", "--save", Scratch().file("x", of_look)}, "--save must be a new file or an");
  refused(args("--precision bf17"), "--precision must be float32 or bf16, got 'bf17'");
  refused(args("--workload W5-W1 --precision bf16"), "--precision is for workloads that train");
  refused({"--workload", "walk gpt2"}, "a workload must be a task, an architecture");
}

}  // namespace gradus::cli::test_bench
