// Teachers: those of --teacher, and those that `train --minutes` trains.
#include "cli/program.hpp"
#include "gradus/files/json.hpp"
#include "gradus/train/run_folder/run_lock.hpp"

namespace gradus::cli::test_teachers {

namespace fs = std::filesystem;

/// The words of a run in a folder of this name.
std::vector<std::string> train(const Scratch& scratch, const std::string& out,
                               const std::vector<std::string>& more = {}) {
  return args("train --preset tiny --text", scratch.text(), "--out", scratch.path(out), more);
}

/// A run as it is left when it is stopped before its first teacher begins.
std::string begun(const Scratch& scratch, const std::string& name, int members, int steps = 40) {
  const std::string settings = R"(["--preset=tiny", "--text", ")" + scratch.text() + "\"";
  fs::create_directories(scratch.path(name));
  scratch.file(name + "/teachers.json",
               concat(R"({"teachers": )", settings, R"(, "--steps=)", steps,
                      R"(", "--tokenizer=byte", "--members=2"], "learner": )", settings,
                      R"(, "--seed=5"], "members": )", members, R"(, "minutes": 0.02})"));
  return scratch.path(name);
}

TEST_CASE("a run learns from the ensemble of --teacher, and resumes with the same bits", "[needs.formats]") {
  const Scratch scratch;
  must(train(scratch, "all", args("--members 2 --steps 40 --tokenizer byte --quiet")));
  const std::vector<std::string> words{"--teacher", scratch.path("all"), "--steps", "40", "--quiet"};
  check_resumes(scratch, train(scratch, "whole", words), "15", {"model.safetensors"});
  CHECK(read(scratch.path("whole/tokenizer.json")) == read(scratch.path("all/tokenizer.json")));
  must(train(scratch, "alone", args("--steps 40 --tokenizer byte --quiet")));
  CHECK(read(scratch.path("whole/model.safetensors")) != read(scratch.path("alone/model.safetensors")));
  must("export", scratch.path("whole"), "--to gguf --out", scratch.path("x.gguf"));

  check_refused(train(scratch, "x", args(words, "--tokenizer char")), {"must be left out with --teacher"});
  check_refused(train(scratch, "x", args("--teacher-weight 0.5")), {"must come with --teacher"});
  check_refused(train(scratch, "x", args(words, "--block 64")), {"--teacher must have", "context"});
  must("train --preset tiny --steps 5 --quiet --out", scratch.path("letters"), "--text",
       scratch.file("letters.txt", std::string(2000, 'a') + "b"));
  check_refused(args("train --init-from", scratch.path("letters"), "--teacher", scratch.path("all"), "--text",
                     scratch.path("letters.txt"), "--out", scratch.path("x")),
                {"--teacher must have the tokenizer of the run"});
  check_refused(train(scratch, "x", args("--teacher", scratch.path("none"))),
                {"--teacher must be the folder"});
  CHECK(!std::filesystem::exists(scratch.path("x")));
}

TEST_CASE("--minutes trains teachers and then one model or an ensemble, and --resume continues either") {
  const Scratch scratch;
  const std::string out = begun(scratch, "out", 1), both = begun(scratch, "both", 2);
  const auto check_locked = [](const std::string& folder, const std::vector<std::string>& words) {
    const train::RunLock other(folder);
    check_refused(words, {"must be written by one run at a time"});
  };
  check_locked(out, args("train --resume --out", out));
  const Outcome outcome = must("train --resume --out", out);
  for (const char* part : {"member  1 of 2: ", "member  2 of 2: ",
                           "one model learns from the text and from the teachers", "plan    ", "model   "})
    CHECK(outcome.err.find(part) != std::string::npos);
  CHECK(call("info", out + "/teachers").out.find("ensemble of 2: 2 layers") != std::string::npos);
  CHECK(call("info", out).out.find("ensemble") == std::string::npos);
  const auto teacher_of = [](const std::string& folder) {
    const files::Json recipe(read(folder + "/train.json"), "test", "train.json");
    const auto teacher = recipe.root().find("teacher");
    return teacher ? teacher->text() : "";
  };
  CHECK(teacher_of(out) == out + "/teachers");
  must("train --resume --quiet --out", out);  // the model has begun: it is a run as any other
  check_refused(args("train --preset tiny --minutes 0.5 --text", scratch.path("text.txt"), "--out", out),
                {"--out must be new, got", "which has teachers", "--overwrite"});

  // The learner was killed before its first state.
  const std::string killed = scratch.path("killed");
  std::filesystem::create_directories(killed);
  std::filesystem::copy(out + "/teachers", killed + "/teachers", std::filesystem::copy_options::recursive);
  std::filesystem::copy_file(out + "/teachers.json", killed + "/teachers.json");
  std::string recipe = read(out + "/train.json");
  for (size_t at; (at = recipe.find(out + "/teachers")) != recipe.npos;)
    recipe.replace(at, out.size(), killed);
  scratch.file("killed/train.json", recipe);
  must("train --resume --quiet --out", killed + "/.");
  CHECK(teacher_of(killed) == killed + "/teachers");

  must("train --resume --quiet --out", both);
  CHECK(call("info", both).out.find("ensemble of 2: 2 layers") != std::string::npos);
  for (const char* member : {"/members/1", "/members/2"})
    CHECK(teacher_of(both + member) == both + "/teachers");
  must("train --preset tiny --steps 2 --members 2 --quiet --overwrite --text", scratch.path("text.txt"),
       "--tokenizer byte --out", both);
  CHECK(teacher_of(both + "/members/1").empty());
  for (const char* gone : {"/teachers.json", "/teachers/members.json", "/teachers/members/1/last"})
    CHECK(!std::filesystem::exists(both + gone));

  check_locked(both, args("train --resume --out", both));
  check_locked(both, args("train --overwrite --members 2 --text", scratch.path("text.txt"), "--out", both));

  // What others put beside a member stays.
  scratch.file("both/members/1/notes.txt", "mine");
  must("train --preset tiny --steps 2 --members 2 --quiet --overwrite --text", scratch.path("text.txt"),
       "--tokenizer byte --out", both);
  CHECK(read(both + "/members/1/notes.txt") == "mine");
}

TEST_CASE("a teacher may have special tokens for which its model has no rows", "[needs.formats]") {
  const Scratch scratch;
  must(train(scratch, "one", args("--steps 2 --tokenizer bpe --vocab 260 --quiet")));
  const std::string file = scratch.path("one/tokenizer.json"), mark = "\"added_tokens\": [\n";
  std::string json = read(file);
  json.insert(json.find(mark) + mark.size(),
              R"({"id": 260, "content": "<image>", "single_word": false, "lstrip": false, "rstrip": false, )"
              R"("normalized": false, "special": true},)");
  fs::remove(scratch.path("one/vocab.json"));
  fs::remove(scratch.path("one/checksums.sfv"));
  scratch.file("one/tokenizer.json", json);
  must(train(scratch, "two", args("--steps 2 --quiet --teacher", scratch.path("one"))));
}

TEST_CASE("a run finds its teachers when it has moved, and needs them until it is finished") {
  const Scratch scratch;
  must("train --resume --quiet --out", begun(scratch, "first", 1));
  const std::string out = scratch.path("out");
  fs::rename(scratch.path("first"), out);
  must("info", out);
  must("train --resume --quiet --out", out);
  must(train(scratch, "both", args("--members 2 --steps 4 --quiet --teacher", out + "/teachers")));
  must(train(scratch, "some", args("--steps 4 --stop-after 2 --quiet --teacher", out + "/teachers")));
  fs::remove_all(out + "/teachers");
  must("info", out);
  must("train --resume --quiet --out", out);
  must("train --resume --quiet --out", scratch.path("both"));
  must("info", scratch.path("some"));
  check_refused(args("train --resume --out", scratch.path("some")),
                {"--teacher must be the folder of a model or an ensemble, got", "give its new place"});
}

TEST_CASE("the plan of teachers and their learner is neither changed nor forgotten") {
  const Scratch scratch;
  const std::string out = begun(scratch, "out", 1);
  const std::vector<std::string> resume = args("train --resume --out", out);
  check_refused(args(resume, "--steps 10"),
                {"--steps must be left out when members or teachers", "teachers.json"});
  check_refused(args(resume, "--members 2"), {"--members of a resumed run must stay 1, got 2"});
  check_refused(args(resume, "--stop-after 2"), {"teachers and --stop-after must not come together"});

  fs::create_directories(out + "/teachers");
  scratch.file("out/teachers/members.json", "{}");
  const auto before = contents(out);
  for (const char* others : {"--steps 2", "--steps 2 --members 2", "--minutes 0.5"})
    check_refused(train(scratch, "out", split(others)), {"--out must be new, got", "which has teachers"});
  CHECK(contents(out) == before);

  // A link to teachers elsewhere is replaced, not followed.
  must(train(scratch, "mine", args("--steps 2 --quiet")));
  const auto mine = contents(scratch.path("mine"));
  const std::string linked = begun(scratch, "linked", 2);
  fs::create_directory_symlink(scratch.path("mine"), linked + "/teachers");
  must(train(scratch, "linked", args("--members 2 --steps 2 --overwrite --quiet")));
  CHECK(contents(scratch.path("mine")) == mine);
  CHECK(!fs::exists(linked + "/teachers"));

  for (const char* plan : {"teachers.json.tmp", "members.json.tmp"}) {  // of killed runs
    fs::create_directories(scratch.path("new"));
    scratch.file(concat("new/", plan), "{");
    must(train(scratch, "new", args("--steps 2 --quiet")));
    fs::remove_all(scratch.path("new"));
  }
}

TEST_CASE("teachers end with the run, and the run says how a part ended") {
  const Scratch scratch;
  const auto resume = args("train --quiet --resume --out");
  const std::string out = begun(scratch, "out", 1, 100000), other = begun(scratch, "other", 1, 100000),
                    child = "set -- $(cat /proc/$pid/task/$pid/children)";
  const auto steps_in = [](const std::string& run) {
    return concat("grep -q step ", run, "/teachers/members/1/metrics.jsonl 2>/dev/null");
  };
  const Outcome killed = run_until(args(resume, out), steps_in(out), child + "; kill -9 $1");
  CHECK(killed.out == "code 137\n");
  CHECK_HAS(killed.err, concat("gradus: [train] each part must finish, got the teachers, which ended ",
                               "by signal 9, Killed: ", out, "/teachers\n"));
  // Ctrl-C and Ctrl-Z reach the process group, in which all parts are.
  const Outcome grouped = run_until(args(resume, other), steps_in(other),
                                    child + "; cut -d' ' -f5 /proc/$pid/stat /proc/$1/stat; kill $pid");
  const std::vector<std::string> lines = lines_of(grouped.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == lines[1]);
  CHECK(lines[2] == "code 143");

  const std::string handled = "grep -Eq '^SigCgt:.*[4567cdef][0-9a-f]{3}$' /proc/$pid/status";  // SIGTERM
  const Outcome planning = run_until(train(scratch, "new", args("--minutes 10")), handled, "kill $pid");
  CHECK(planning.out == "code 4\n");
  CHECK(planning.err == "gradus: stopped before there was anything to save\n");
  CHECK(!fs::exists(scratch.path("new")));
  check_refused(train(scratch, "\xff", args("--minutes 0.5")),
                {"--out must be UTF-8 in a run that has teachers"});
}

}  // namespace gradus::cli::test_teachers
