// gradus plot: losses of runs, as a picture.
#include "machine.hpp"
#include "tools/cli/program.hpp"
#include "tools/cli/pseudo_terminal.hpp"
#include "tools/cli/screen.hpp"

namespace gradus::cli::test_plot {

TEST_CASE("a run that was trained is drawn") {
  const Scratch scratch;
  const std::string text = scratch.text(), run = scratch.path("run"), picture = scratch.path("loss.svg");
  must("train --preset tiny --steps 4 --text", text, "--out", run);
  const Outcome drawn = call("plot", run, run + "/metrics.jsonl", "--out", picture);
  CHECK(drawn.code == 0);
  CHECK(drawn.out == "");
  CHECK_HAS(drawn.err, "wrote   ", "loss.svg");
  CHECK_HAS(read(picture), "<svg", "run/metrics.jsonl: ");
  CHECK(call("plot", run, "--out", picture, "--by steps --log --quiet").err == "");
  CHECK_HAS(read(picture), "loss against steps", ">run: ");

  check_refused(args("plot", run, "--out", picture, "--by minute"),
                {"--by must be", "did you mean minutes?"});
  check_refused({"plot", scratch.path("none"), "--out", picture}, {"none"});
  check_refused({"plot", run, "--out", ""}, {"--out must be a path, got none"});
  check_refused({"plot", text, "--out", picture}, {"text.txt:1 must be JSON"});
}

TEST_CASE("without a file, the losses are drawn in characters, 80 columns wide in a pipe") {
  const Scratch scratch;
  std::string log;
  for (int i = 1; i <= 100; ++i)
    log += "{\"event\":\"step\",\"step\":" + std::to_string(i) + ",\"loss\":" + std::to_string(5 - 0.02 * i) +
           ",\"elapsed_s\":" + std::to_string(i) + "}\n";
  log += "{\"event\":\"eval\",\"step\":100,\"val_loss\":3.25,\"elapsed_s\":100}\n";
  std::filesystem::create_directory(scratch.path("a"));
  std::filesystem::create_directory(scratch.path("b"));
  const std::string a = scratch.file("a/metrics.jsonl", log), b = scratch.file("b/metrics.jsonl", log);
  const Outcome drawn = call("plot", a, b, "--by steps");
  CHECK(drawn.code == 0);
  CHECK(drawn.err == "");
  CHECK(drawn.out.find('\033') == std::string::npos);
  CHECK_HAS(drawn.out, "loss, nats a token\n", " steps\n", "o a: 3.25 at the end\n", "x b: 3.25 at the end\n",
            "Marks: validation loss");
  const std::vector<std::string> lines = lines_of(drawn.out);
  CHECK(std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
          return line.find("│") != line.npos || line.find("┤") != line.npos;
        }) == 16);  // 24 rows less the axis, the legend, the title and the prompt
  if (testing::machine_has("/dev/pts/ptmx")) {
    PseudoTerminal terminal({"plot", a, b}, {}, 60, 20);
    CHECK(terminal.exit_code() == 0);
    CHECK_HAS(terminal.rest(), "\033[36mo\033[0m a: 3.25", "\033[35m");
    Screen screen(60, 20);
    screen.write(terminal.rest());
    const std::vector<std::string> shown = screen.lines();
    CHECK(std::count_if(shown.begin(), shown.end(), [](const std::string& line) {
            return line.find("│") != line.npos || line.find("┤") != line.npos;
          }) == 12);  // no line was wrapped
    PseudoTerminal plain({"plot", a, b}, {"NO_COLOR=1"}, 60, 20);
    CHECK(plain.exit_code() == 0);
    CHECK(plain.rest().find('\033') == std::string::npos);
  }
  const Outcome full = run_program({"plot", a}, {.full_output = true});
  CHECK(full.code == 1);
  check_refused({"plot", a, "--quiet"}, {"--quiet must come with --out"});
  check_refused({"plot", a, "--overwrite"}, {"--overwrite must come with --out"});
}

TEST_CASE("a CSV has all numbers of the log, and replaces an earlier one only") {
  const Scratch scratch;
  const std::string log = scratch.file(
      "metrics.jsonl",
      "{\"event\":\"step\",\"step\":1000000,\"loss\":4.123456789012345,\"lr\":1e-05,\"grad_norm\":0.1,"
      "\"tokens_per_s\":3e20,\"elapsed_s\":0.5}\n"
      "{\"event\":\"sample\",\"step\":2,\"text\":\"a\"}\n"
      "{\"event\":\"eval\",\"step\":1000000,\"val_loss\":2,\"tokens\":7,\"elapsed_s\":9}\n");
  const std::string table = scratch.path("t.csv");
  must("plot", log, "--out", table);
  const std::string name = std::filesystem::path(log).parent_path().filename().string();
  const std::string expected = "run,event,step,elapsed_s,loss,val_loss,lr,grad_norm,tokens_per_s\n" + name +
                               ",step,1000000,0.5,4.123456789012345,,1e-05,0.1,3e+20\n" + name +
                               ",eval,1000000,9,,2,,,\n";
  CHECK(read(table) == expected);
  CHECK(call("plot", log, "--out", table, "--quiet").code == 0);
  const std::string mine = scratch.file("mine.csv", "run,event\n");
  check_refused({"plot", log, "--out", mine},
                {"--out must be a new file or an earlier one of its kind", "--overwrite"});
  CHECK(run_program({"plot", log, "--out", mine, "--overwrite"}).code == 0);
  CHECK(read(mine) == expected);
  // A name with a comma and quotes is one field.
  const std::string odd = scratch.path("a,\"b");
  std::filesystem::create_directory(odd);
  std::filesystem::copy_file(log, odd + "/metrics.jsonl");
  must("plot", odd, "--out", table);
  CHECK_HAS(read(table), "\n\"a,\"\"b\",step,1000000,");
}

TEST_CASE("a plot replaces an earlier one, and nothing else unless that is asked for") {
  const Scratch scratch;
  const std::string run =
      scratch.file("metrics.jsonl", "{\"event\":\"eval\",\"step\":1,\"val_loss\":2.5,\"elapsed_s\":9}\n");
  for (const std::string& mine :
       {std::string("a note"), std::string(""),
        std::string("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\">\n</svg>\n")}) {
    const std::string picture = scratch.file("mine.svg", mine);
    check_refused({"plot", run, "--out", picture}, {"--out must be a new file or an earlier one of its kind",
                                                    "mine.svg", "--overwrite replaces it"});
    CHECK(read(picture) == mine);
    must("plot", run, "--out", picture, "--overwrite");
    CHECK_HAS(read(picture), "loss against minutes");
    must("plot", run, "--out", picture, "--by steps");
    CHECK_HAS(read(picture), "loss against steps");
  }
  for (const char* name : {"x.png", "svg", "x.svg.txt", ".svg"})
    for (const std::string& flag : args("--quiet --overwrite"))
      check_refused({"plot", run, "--out", scratch.path(name), flag}, {"--out must end in .svg", name});
  CHECK(contents(std::filesystem::path(run).parent_path()).size() == 3);
}

}  // namespace gradus::cli::test_plot
