// The live view of `gradus train` on terminals of several sizes, seen by an emulator of a terminal.
#include "cli/program.hpp"
#include "cli/pseudo_terminal.hpp"
#include "cli/screen.hpp"
#include "machine.hpp"

namespace gradus::cli::test_live_view {

const std::string kFrameEnd = "\033[J";  // of a view that is drawn or cleared

struct Training {
  Scratch scratch;
  std::string text = scratch.text();

  std::vector<std::string> command(const std::string& out, const std::vector<std::string>& more = {}) const {
    return args("train --preset tiny --text", text, "--steps 120 --eval-every 40 --out", scratch.path(out),
                more);
  }
};

int count(const std::vector<std::string>& lines, const std::string& part) {
  return static_cast<int>(std::count_if(
      lines.begin(), lines.end(), [&](const std::string& line) { return line.find(part) != line.npos; }));
}

/// The step and the losses of the evaluations, which do not depend on the speed.
std::vector<std::string> evaluations(const std::vector<std::string>& lines) {
  std::vector<std::string> found;
  for (const std::string& line : lines)
    if (line.starts_with("step ") && line.find("  val ") != line.npos)
      found.push_back(line.substr(0, line.find("  val ") + 12));
  return found;
}

bool has_view(const std::vector<std::string>& lines) {
  return count(lines, "⣀") + count(lines, "⣿") + count(lines, "┤") > 0;
}

/// The width of the view that is drawn in these bytes, by its axis; 0: there is no chart.
int width_of(const std::string& bytes) {
  const size_t begin = bytes.rfind("└"), end = bytes.find("\033[K", begin);
  if (begin == bytes.npos) return 0;
  const size_t line = bytes.rfind('\n', begin) + 1;
  return static_cast<int>(begin - line + (end - begin) / 3);
}

TEST_CASE("a view of losses and a sample stays below the evaluations, as wide as the terminal") {
  if (!testing::machine_has("/dev/pts/ptmx")) return;
  const Training training;
  const Outcome piped = must(training.command("piped"));
  CHECK(piped.err.find('\033') == std::string::npos);
  const std::vector<std::string> expected = evaluations(lines_of(piped.err));
  REQUIRE(expected.size() >= 3);

  const int columns = GENERATE(40, 200);
  CAPTURE(columns);
  PseudoTerminal terminal(training.command("shown"), {}, columns, 24);
  Screen screen(columns, 24);
  bool saw_sample = false, saw_mark = false;
  for (int frame = 0; frame < 1000 && !(saw_sample && saw_mark); ++frame) {
    const std::string bytes = terminal.shown_up_to(kFrameEnd);
    screen.write(bytes);
    const std::vector<std::string> lines = screen.lines();
    saw_sample |= count(lines, "sample after step ") == 1;
    saw_mark |= std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
      const size_t bar = line.find("│");
      return bar != line.npos && line.find('o', bar) != line.npos;
    });
    if (const int width = width_of(bytes)) CHECK(width == columns - 1);
    CHECK(screen.wraps());
    CHECK(count(lines, "loss (running mean)") <= 1);
    CHECK(count(lines, "└") <= 1);
  }
  CHECK((saw_sample && saw_mark));
  CHECK(terminal.exit_code() == 0);
  screen.write(terminal.rest());
  const std::vector<std::string> lines = screen.lines();
  CHECK_FALSE(has_view(lines));
  CHECK(screen.cut() == 0);
  CHECK(screen.coloured() > 0);
  CHECK(screen.wraps());
  CHECK(screen.cursor_is_below());
  CHECK(count(lines, "done    120 steps") == 1);
  if (columns >= 80) CHECK(evaluations(lines) == expected);
  // The samples that the view shows do not change the run.
  check_same(training.scratch.path("piped"), training.scratch.path("shown"),
             {"model.safetensors", "last/optimizer.safetensors", "last/trainer.json"});
}

TEST_CASE("a terminal that is resized, and Ctrl-C, leave no remains of the view, and a run that resumes") {
  if (!testing::machine_has("/dev/pts/ptmx")) return;
  const Training training;
  // Without evaluations, whose lines clear the view: pieces of output show how wide the terminal was.
  PseudoTerminal terminal(training.command("run", args("--steps 1000000 --eval-every 1000000")), {}, 100, 30);
  Screen screen(100, 30);
  const std::vector<std::pair<int, int>> sizes = {{70, 30}, {120, 40}, {61, 40}, {80, 30}};
  size_t changes = 0;
  for (int frame = 0, width = 0; frame < 5000 && (changes < sizes.size() || frame % 3 != 0); ++frame) {
    const std::string bytes = terminal.shown_up_to(kFrameEnd);
    const int now = width_of(bytes);
    if (width > 0 && now != width) {
      CHECK(now == sizes[changes].first - 1);
      screen.resize(sizes[changes].first, sizes[changes].second);
      ++changes;
    }
    width = now;
    screen.write(bytes);
    CHECK(count(screen.lines(), "└") <= 1);
    if (frame % 3 == 2 && width > 0 && changes < sizes.size())
      terminal.resize(sizes[changes].first, sizes[changes].second);
  }
  CHECK(changes == sizes.size());
  terminal.type("\x03");
  CHECK(terminal.exit_code() == 130);
  screen.write(terminal.rest());
  const std::vector<std::string> lines = screen.lines();
  CHECK_FALSE(has_view(lines));
  CHECK(count(lines, "stopped after step ") == 1);
  CHECK(count(lines, "--resume") == 1);
  CHECK(screen.wraps());
  CHECK(screen.cursor_is_below());
}

TEST_CASE("a run that was suspended draws below what the shell has written meanwhile") {
  if (!testing::machine_has("/dev/pts/ptmx")) return;
  const Training training;
  PseudoTerminal terminal(training.command("run", args("--steps 400")));
  Screen screen(80, 24);
  for (int frame = 0; frame < 5; ++frame) screen.write(terminal.shown_up_to(kFrameEnd));
  screen.write(terminal.stop());
  const std::vector<std::string> stopped = screen.lines();
  const std::vector<std::string> shell = {"^Z", "[1]+  Stopped", "$ ls", "text.txt", "$ fg", "train"};
  for (const std::string& line : shell) screen.write(line + "\r\n");
  std::vector<std::string> expected = stopped;
  expected.insert(expected.end() - 1, shell.begin(), shell.end());  // The last line is empty.
  terminal.go_on();
  CHECK(terminal.exit_code() == 0);
  screen.write(terminal.rest());
  std::vector<std::string> lines = screen.lines();
  REQUIRE(lines.size() > expected.size());
  const std::vector<std::string> after(lines.begin() + std::ssize(expected) - 1, lines.end());
  lines.resize(expected.size() - 1);
  expected.pop_back();
  CHECK(lines == expected);
  CHECK_FALSE(has_view(after));
  CHECK(count(after, "done    400 steps") == 1);
}

TEST_CASE("colours, lines and silence are as the environment and the flags ask for") {
  if (!testing::machine_has("/dev/pts/ptmx")) return;
  const Training training;
  const auto shown = [&](const std::vector<std::string>& flags, const std::vector<std::string>& environment) {
    const std::vector<std::string> few = args("--steps 40 --eval-every 10", flags);
    PseudoTerminal terminal(training.command("run", few), environment);
    CHECK(terminal.exit_code() == 0);
    return terminal.rest();
  };
  const std::string plain = shown({}, {"NO_COLOR=1"});
  Screen screen(80, 24);
  screen.write(plain);
  CHECK_HAS(plain, "⣿");
  CHECK(screen.coloured() == 0);
  const std::string dumb = shown({"--overwrite"}, {"TERM=dumb"});
  CHECK(dumb.find('\033') == std::string::npos);
  CHECK(evaluations(lines_of(dumb)).size() >= 3);
  CHECK(shown(args("--overwrite --quiet"), {}) == "");
  // JSON lines on the same terminal are not mixed with a view.
  const std::string json = shown(args("--overwrite --json"), {});
  CHECK(json.find('\033') == std::string::npos);
  CHECK_HAS(json, "{\"event\":\"step\",\"step\":40,");
}

TEST_CASE("a sample of wide characters, accents and control characters does not break the view") {
  if (!testing::machine_has("/dev/pts/ptmx")) return;
  const Training training;
  std::string text;
  for (int i = 0; i < 300; ++i) text += "漢字かな交じり文😀e\xCC\x81\x1b[2J\x07";
  PseudoTerminal terminal(
      training.command("run", args("--text", training.scratch.file("wide.txt", text), "--block 16")), {}, 60,
      24);
  Screen screen(60, 24);
  bool saw_sample = false;
  for (int frame = 0; frame < 1000 && !saw_sample; ++frame) {
    screen.write(terminal.shown_up_to(kFrameEnd));
    const std::vector<std::string> lines = screen.lines();
    saw_sample = count(lines, "sample after step ") == 1 && count(lines, "漢字") + count(lines, "😀") > 0;
    CHECK(count(lines, "└") <= 1);
  }
  CHECK(saw_sample);
  CHECK(screen.cut() == 0);
  CHECK(terminal.exit_code() == 0);
}

}  // namespace gradus::cli::test_live_view
