// gradus sample at a terminal without --prompt: it asks for one text after another.
#include "cli/program.hpp"
#include "cli/pseudo_terminal.hpp"
#include "machine.hpp"

namespace gradus::cli::test_sample_session {

struct SmallRun {
  Scratch scratch;
  std::string folder = scratch.path("run");

  SmallRun() {
    std::string text;
    for (int i = 0; i < 300; ++i) text += "The end of it is \xC3\xA9.\n";
    must("train --text", scratch.file("text.txt", text), "--preset tiny --steps 30 --out", folder, "--quiet");
  }
  std::vector<std::string> sample(const std::vector<std::string>& more) const {
    return args("sample", folder, more);
  }
};

/// As a terminal shows it: each line end is two characters.
std::string on_a_terminal(const std::string& text) {
  std::string shown;
  for (const char c : text) shown += c == '\n' ? "\r\n" : std::string(1, c);
  return shown;
}

TEST_CASE("a session writes a text for each prompt, until Ctrl-D") {
  if (!testing::machine_has("/dev/pts/ptmx")) return;
  const SmallRun run;
  const std::string first = run_program(run.sample(args("--tokens 30 --prompt Th\xC3\xA9 --seed 5"))).out;
  PseudoTerminal terminal(run.sample(args("--tokens 30 --seed 5")));
  CHECK_HAS(terminal.shown_up_to("> "), "Ctrl-D ends");
  terminal.type_at_prompt("Th\xC3\xA9\r");
  const std::string shown = terminal.shown_up_to("\r\n> ");
  INFO(shown);
  CHECK_HAS(shown, "\r\n" + on_a_terminal(first) + "> ");

  terminal.type_at_prompt("\x1b[A\r");  // the line before, again
  const std::string again = terminal.shown_up_to("\r\n> ");
  CHECK_HAS(again, "Th\xC3\xA9\r\nTh\xC3\xA9");
  CHECK(again.find(on_a_terminal(first)) == std::string::npos);  // drawn anew

  terminal.type_at_prompt("\r");
  CHECK(terminal.shown_up_to("\r\n> ").size() > 30);
  terminal.type_at_prompt("\x04");
  CHECK(terminal.exit_code() == 0);
}

TEST_CASE("Ctrl-C stops a text or begins a line again, and the session goes on") {
  if (!testing::machine_has("/dev/pts/ptmx")) return;
  const SmallRun run;
  PseudoTerminal terminal(run.sample(args("--tokens 100000000 --count 3")));
  terminal.shown_up_to("> ");
  for (int i = 0; i < 2; ++i) {
    terminal.type_at_prompt("end\r");
    terminal.shown_up_to("\r\nend");
    terminal.type("\x03");
    CHECK(terminal.shown_up_to("\r\n> ").find("---") == std::string::npos);
  }
  terminal.type_at_prompt("Thi");
  terminal.shown_up_to("Thi");
  terminal.type_at_prompt("\x03");
  CHECK_HAS(terminal.shown_up_to("> "), "^C\r\n> ");
  terminal.type_at_prompt("it\r");
  CHECK_THAT(terminal.shown_up_to("\r\nit"), !ContainsSubstring("Thi"));
  terminal.type("\x03");
  terminal.shown_up_to("\r\n> ");
  terminal.type_at_prompt("\x04");
  CHECK(terminal.exit_code() == 0);
}

TEST_CASE("what is typed too early, cut off or unreadable ends no session but by Ctrl-D") {
  if (!testing::machine_has("/dev/pts/ptmx")) return;
  const SmallRun run;
  {
    PseudoTerminal terminal(run.sample(args("--tokens 2000")));
    terminal.shown_up_to("> ");
    terminal.type("end\r");  // as soon as there is a prompt
    terminal.shown_up_to("\r\nend");
    terminal.type("\x04");  // while the text is written
    terminal.shown_up_to("\r\n> ");
    CHECK(terminal.exit_code() == 0);
  }
  PseudoTerminal terminal(run.sample(args("--tokens 5")));
  terminal.shown_up_to("> ");
  terminal.type_at_prompt("Quiz\r");
  CHECK_HAS(terminal.shown_up_to("\r\n> "), "gradus: [encode]", "'Q'", "--tokenizer");
  const std::pair<const char*, const char*> typed[] = {
      {"The\r", "\r\nThe"},
      {"The\xE2\x82\r", "\r\nThe"},             // two bytes of three, and Enter
      {"en\xE2\xC3\xA9\r", "\r\nen\xC3\xA9"}};  // one of three, and another character
  for (const auto& [keys, text] : typed) {
    terminal.type_at_prompt(keys);
    CHECK_HAS(terminal.shown_up_to("\r\n> "), text);
  }
  terminal.type_at_prompt("\x04");
  CHECK(terminal.exit_code() == 0);

  // Without a terminal, or with a prompt, nobody is asked.
  CHECK(run_program(run.sample(args("--tokens 30"))).out ==
        run_program(run.sample({"--tokens", "30", "--prompt", ""})).out);
  PseudoTerminal with_prompt(run.sample({"--tokens", "5", "--prompt", ""}));
  CHECK(with_prompt.exit_code() == 0);
}

}  // namespace gradus::cli::test_sample_session
