// The commands that gradus tells people to type next are typed here.
#include "program.hpp"

namespace gradus::cli::test_hints {

/// Trains one step on a text, in a folder of any name; what it wrote for people.
std::string train(const Scratch& scratch, const std::string& text, const std::string& out,
                  const std::vector<std::string>& more = {}) {
  return must("train --preset tiny --block 4 --steps 2 --batch 1 --val-fraction 0 --text",
              scratch.file("text.txt", text), "--out", scratch.path(out), more)
      .err;
}

/// What follows `before` on its line.
std::string after(const std::string& text, const std::string& before) {
  for (const std::string& line : lines_of(text))
    if (const size_t at = line.find(before); at != std::string::npos) return line.substr(at + before.size());
  FAIL("no line has: " << before);
  return "";
}

/// Types it into a shell that finds gradus on its path; what that wrote.
std::string typed(const Scratch& scratch, const std::string& command) {
  const std::string folder = std::filesystem::path(program_file()).parent_path().string();
  const std::string script = scratch.file("typed.sh", "PATH=" + folder + ":$PATH\n" + command + "\n");
  INFO(command);
  const std::string shown = scratch.path("shown");
  CHECK(std::system(("timeout 100 bash " + script + " >" + shown + " 2>&1").c_str()) == 0);
  INFO(read(shown));
  return read(shown);
}

std::string repeated(const std::string& text) {
  std::string many;
  for (int i = 0; i < 20; ++i) many += text;
  return many;
}

TEST_CASE("the command at the end of a run writes more, whatever the text") {
  for (const char* text : {"where are you, Ann? ", "3.14159265 2.71828182\n",
                           "\xE2\x80\x9C\xE2\x80\xA6\xE2\x80\x9D $'\"`!\\\n"}) {
    const Scratch scratch;
    const std::string command = after(train(scratch, repeated(text), "run"), "more    ");
    CHECK(command == "gradus sample " + scratch.path("run"));
    CHECK_FALSE(typed(scratch, command + " --tokens 5").empty());
  }
}

TEST_CASE("a folder of any name can be pasted into a shell") {
  for (const char* name :
       {"my run", "it's $HOME", "!! `id` \"x\"", "a\x1b[31m\nb", "gr\xC3\xBC\xC3\x9F", "\xff"}) {
    const Scratch scratch;
    INFO(name);
    const std::string shown = train(scratch, repeated("Say it again, "), name, args("--stop-after 1"));
    CHECK(typed(scratch, after(shown, "resume with: ") + " --quiet").empty());
    const std::string more =
        after(train(scratch, repeated("Say it again, "), name, {"--overwrite"}), "more    ");
    CHECK(more.find('\x1b') == std::string::npos);
    CHECK_FALSE(typed(scratch, more + " --tokens 5").empty());
  }
}

TEST_CASE("a warm-up that outlasts the run is remarked") {
  const Scratch scratch;
  const std::string text = repeated("Say it again, ");
  CHECK_HAS(train(scratch, text, "a", args("--warmup 3 --lr 0.008")),
            "note: --warmup 3 is not over within --steps 2: the rate rises to 0.004, never to --lr 0.008\n");
  CHECK_HAS(train(scratch, text, "b", args("--warmup 2")), "note: --warmup 2 is not over");
  CHECK(train(scratch, text, "c", args("--warmup 1")).find("--warmup") == std::string::npos);
}

}  // namespace gradus::cli::test_hints
