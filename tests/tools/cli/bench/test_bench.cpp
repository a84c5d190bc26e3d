// gradus bench, as a user or a script runs it.
#include <nlohmann/json.hpp>
#include <regex>

#include "tools/cli/program.hpp"

namespace gradus::cli::test_bench {

using nlohmann::json;

std::vector<json> events(const std::vector<std::string>& arguments) {
  const Outcome outcome = run_program(arguments);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK(outcome.err.empty());
  std::vector<json> all;
  for (const std::string& line : lines_of(outcome.out)) all.push_back(json::parse(line));
  return all;
}

bool has_torch() {
  for (const char* python : {"python3", "/usr/bin/python3"})
    if (std::system(
            (std::string(python) + " -c \"import importlib.util as u; exit(not u.find_spec('torch'))\"")
                .c_str()) == 0)
      return true;
  return false;
}

TEST_CASE("bench --json prints the machine, a line a workload and the end") {
  const auto lines = events(args("bench --workload W0,W5-W1 --threads 2 --steps 5 --json"));
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].at("event") == "machine");
  for (const char* key : {"cpu", "cores", "load", "date", "system", "gradus", "level", "compiler", "blas",
                          "units", "peak_gflops", "read_gb_s", "torch"})
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
  const Outcome outcome = call("bench --workload W0 --threads 1 --steps 5");
  CHECK(outcome.code == 0);
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

TEST_CASE("bench --vs torch finds the same losses and tokens, and prints the ratio turn by turn", "[torch]") {
  if (!has_torch()) {
    SUCCEED();
    WARN("skipped: no Python with PyTorch");  // what ctest looks for
    return;
  }
  const auto lines = events(args("bench --workload W0,W5-W1 --threads 1 --steps 5 --vs torch --json"));
  REQUIRE(lines.size() == 4);
  const auto rounded =
      events(args("bench --workload W0 --precision bf16 --threads 1 --steps 5 --vs torch --json"));
  CHECK(rounded.at(1).at("torch").at("difference").get<double>() <= 1e-2);
  CHECK(lines[0].at("torch").is_string());
  for (const size_t i : {1, 2}) {
    const json& torch = lines[i].at("torch");
    CHECK(torch.at("ratios").size() == 5);
    for (const json& ratio : torch.at("ratios")) CHECK(ratio.get<double>() > 0);
    CHECK(torch.at("ratio").get<double>() > 0);
    CHECK(torch.at("difference").get<double>() <= 1e-3);
    CHECK(torch.at("peak_mib").get<double>() > 50);
  }
}

TEST_CASE("bench --precision bf16 measures beside float32") {
  const auto lines = events(args("bench --workload W0 --precision float32,bf16 --steps 5 --json"));
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].at("bf16_gflops").get<double>() > 0);
  CHECK(lines[0].at("unit").get<std::string>() != "");
  CHECK(lines[1].at("workload") == "W0");
  CHECK_FALSE(lines[1].contains("float32_ratio"));
  CHECK(lines[2].at("workload") == "W0 bf16");
  CHECK(lines[2].at("float32_ratio").get<double>() > 0);
  const Outcome table = call("bench --workload W0 --precision bf16 --threads 1 --steps 5");
  CHECK(table.code == 0);
  CHECK_HAS(table.out, "| W0 bf16  |", " of float32\n");
}

TEST_CASE("bench --scaling lists every point, and draws them") {
  const Scratch scratch;
  const std::string plot = scratch.path("scaling.svg");
  const auto lines =
      events(args("bench --scaling --quick --seconds 0.03 --threads 1 --plot", plot, "--json"));
  REQUIRE(lines.size() == 1 + 8 + 1);
  for (size_t i = 1; i < 9; ++i) {
    CHECK(lines[i].at("event") == "point");
    for (const char* key :
         {"value", "us_per_token", "predicted_us_per_token", "floor_us_per_token", "gflop", "over_predicted"})
      CHECK(lines[i].at(key).get<double>() > 0);
    CHECK(lines[i].at("floor_us_per_token") <= lines[i].at("predicted_us_per_token"));
    CHECK(lines[i].at("slow") == (lines[i].at("over_predicted").get<double>() > 1.15));
  }
  CHECK(lines[9] == json{{"event", "done"}});
  CHECK(read(plot).ends_with("</svg>\n"));
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
  refused(args("--vs jax"), "--vs must be torch, got 'jax'");
  refused(args("--vs torch --python /bin/false"),
          "--vs torch needs a Python with PyTorch, got none as /bin/false");
  refused(args("--precision bf17"), "--precision must be float32 or bf16, got 'bf17'");
  refused(args("--workload W5-W1 --precision bf16"), "--precision bf16 is for workloads that train");
  refused(args("--scaling --precision bf16,float32"), "--scaling must have one --precision, got 2");
  refused(args("--scaling --vs torch"), "--scaling and --vs must not come together");
  refused(args("--plot x.svg"), "--plot must come with --scaling");
  refused({"--worker", "bee", "--shape", "train gpt2 1 1 4 4 1 4 0 float32"},
          "--worker must be steps or floor, got 'bee'");
  refused(args("--worker steps --shape nonsense"), "a workload must be a task, an architecture");
}

}  // namespace gradus::cli::test_bench
