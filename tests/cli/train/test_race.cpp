// Two runs at once on one folder: one of them trains, the other says who does.
#include "cli/program.hpp"

namespace gradus::cli::test_race {

using Files = std::vector<std::pair<std::string, std::string>>;

class Race {
 public:
  Race() {
    must("--quiet");
    one_ = results();
    must("--seed 7 --overwrite");
    other_ = results();
  }

  /// Starts a pair; returns 1 if the lock kept one of them out.
  int run(int number) {
    const bool begun = number % 3 != 1;
    std::filesystem::remove_all(scratch_.path("run"));
    if (begun) must("--stop-after 2");
    const std::string second = number % 3 == 2 ? "--overwrite --seed 7" : begun ? "--resume" : "";
    const std::string err = scratch_.path("err");
    const Outcome outcome = run_shell(command(begun ? "--resume" : "") + " 2>'" + err + "1' & first=$!; " +
                                      command(second) + " 2>'" + err + "2'; echo $?; wait $first; echo $?");
    const std::string refusal = read(err + "1") + read(err + "2");
    INFO("pair " << number << "\n" << outcome.out << refusal);
    const Files files = results();
    CHECK((files == one_ || (number % 3 == 2 && files == other_)));
    if (outcome.out == "0\n0\n") {
      CHECK(refusal.empty());
      return 0;
    }
    CHECK((outcome.out == "0\n2\n" || outcome.out == "2\n0\n"));
    CHECK(lines_of(refusal).size() == 1);
    // One that begins after the other has finished finds a folder with a run in it.
    if (number % 3 == 1 && refusal.find("must be new or empty") != std::string::npos) return 0;
    CHECK_HAS(refusal, "must be written by one run at a time");
    return 1;
  }

 private:
  std::string command(const std::string& more) const {
    return "\"$GRADUS\" train --preset tiny --layers 1 --heads 1 --embd 4 --block 4 --batch 2 --steps 12 "
           "--warmup 0 --eval-every 3 --save-every 2 --threads 1 --quiet --text '" +
           text_ + "' --out '" + scratch_.path("run") + "' " + more;
  }
  void must(const std::string& more) const { REQUIRE(run_shell(command(more)).code == 0); }
  Files results() const {
    Files files;
    for (const char* name : {"model.safetensors", "train.json", "vocab.json", "last/model.safetensors",
                             "last/optimizer.safetensors", "last/trainer.json", "last/train.json"})
      files.emplace_back(name, read(scratch_.path("run") + "/" + name));
    return files;
  }

  Scratch scratch_;
  std::string text_ = scratch_.text();
  Files one_, other_;
};

/// Reads a folder over and over while the command writes there. Returns what a reader said that was refused.
std::vector<std::string> read_during(const Scratch& scratch, const std::string& command,
                                     const std::vector<std::string>& readers) {
  const std::string err = scratch.path("err"), done = scratch.path("done");
  std::string loop = "rm -f '" + done + "'; { " + command + "; echo >'" + done + "'; } >/dev/null & " +
                     "while [ ! -e '" + done + "' ]; do ";
  for (const std::string& reader : readers)
    loop += "\"$GRADUS\" " + reader + " >/dev/null 2>'" + err + "' || cat '" + err + "'; ";
  return lines_of(run_shell(loop + "done; wait").out);
}

int race(int pairs) {
  Race race;
  int kept_out = 0;
  for (int i = 0; i < pairs; ++i) kept_out += race.run(i);
  return kept_out;
}

TEST_CASE("of two runs at once on a folder one trains, with the bits of one alone") { race(6); }

TEST_CASE("a hundred and fifty pairs of runs race for a folder", "[soak]") {
  const int kept_out = race(150);
  std::cout << "150 pairs, in " << kept_out << " the lock kept one out\n";
  CHECK(kept_out > 50);
}

TEST_CASE("whoever reads a folder finds files that belong together, whatever a run does there") {
  const Scratch scratch;
  const std::string out = scratch.path("run"), text = scratch.text();
  const auto train = [&](const std::string& more) {
    return "\"$GRADUS\" train --preset tiny --layers 1 --block 4 --batch 2 --warmup 0 --eval-every 1 "
           "--save-every 1 --threads 1 --quiet --text '" +
           text + "' --out '" + out + "' " + more;
  };
  const auto short_run = [&](int width) {
    return train("--heads 1 --steps 2 --overwrite --embd " + std::to_string(width));
  };
  REQUIRE(run_shell(short_run(8)).code == 0);

  SECTION("as it saves") {
    const std::vector<std::string> refused =
        read_during(scratch, train("--resume --steps 70"),
                    {"sample '" + out + "' --tokens 1", "info '" + out + "'",
                     "sample '" + out + "/last' --tokens 1", "eval '" + out + "' --text '" + text + "'"});
    CHECK(refused == std::vector<std::string>());
  }
  SECTION("as it is overwritten by models of other shapes") {
    std::vector<std::string> refused =
        read_during(scratch, "for i in 1 2 3 4; do " + short_run(8) + "; " + short_run(16) + "; done",
                    {"sample '" + out + "' --tokens 1"});
    // For a moment there is no model.
    std::erase_if(refused, [](const std::string& line) { return line.find("No such file") != line.npos; });
    CHECK(refused == std::vector<std::string>());
  }
}

}  // namespace gradus::cli::test_race
