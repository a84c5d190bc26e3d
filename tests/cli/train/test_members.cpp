// train --members: an ensemble of runs with different seeds.
#include <signal.h>

#include "cli/program.hpp"
#include "gradus/files/json.hpp"

namespace gradus::cli::test_members {

std::string text() {
  std::string all;
  for (int i = 0; i < 200; ++i) all += concat("the ", i * i % 37, " birds of ", i % 11, " trees\n");
  return all;
}

/// The words of a run of members in a folder of this name.
std::vector<std::string> train(const Scratch& scratch, const std::string& out,
                               const std::vector<std::string>& more = {}) {
  return args("train --preset tiny --text", scratch.file("text.txt", text()), "--lr 1.5e-3 --out",
              scratch.path(out), more);
}

double loss(const Scratch& scratch, const std::string& folder) {
  return loss_of({scratch.path(folder)}, scratch.path("text.txt"));
}

TEST_CASE("members are the runs with the next seeds, and their mean is a model", "[needs.formats]") {
  const Scratch scratch;
  const Outcome outcome =
      must(train(scratch, "all", args("--members 3 --steps 40 --seed 5 --threads 2 --tokenizer byte")));
  for (const char* part :
       {"member  1 of 3: ", "member  3 of 3: ", "done    3 members", "nats a token of the ensemble"})
    CHECK(outcome.err.find(part) != std::string::npos);
  must(train(scratch, "one", args("--steps 40 --seed 6 --tokenizer byte --quiet")));
  CHECK(read(scratch.path("one/model.safetensors")) == read(scratch.path("all/members/2/model.safetensors")));
  double sum = 0;
  for (const char* member : {"all/members/1", "all/members/2", "all/members/3"}) sum += loss(scratch, member);
  CHECK(loss(scratch, "all") < sum / 3);  // Jensen's inequality

  const std::string all = scratch.path("all");
  must("sample", all, "--prompt", std::string("the "), "--tokens 5");
  CHECK(call("info", all).out.find("ensemble of 3: 2 layers") != std::string::npos);
  check_refused(args("export", all, "--to gguf --out", scratch.path("x.gguf")),
                {"must be one model, got an ensemble of 3"});
  must("export", all + "/members/1", "--to gguf --out", scratch.path("x.gguf"));
  check_refused(args("look", all, "--prompt the"), {"must be one model, got an ensemble of 3"});
  check_refused(args("train --init-from", all, "--text", scratch.path("text.txt")),
                {"must be one model, got an ensemble of 3"});
  check_refused(train(scratch, "all", args("--members 3")), {"--out must be new", "--resume", "--overwrite"});
  check_refused(train(scratch, "one", args("--members 3")), {"--out must be a new folder"});
  std::filesystem::create_directory(scratch.path("two"));
  scratch.file("two/members.json.tmp", "{");  // of a killed run
  must(train(scratch, "two", args("--members 2 --steps 5 --quiet")));
  const auto ignores_children = [] { ::signal(SIGCHLD, SIG_IGN); };  // as some parents leave it
  must_run(train(scratch, "all", args("--members 2 --steps 5 --overwrite --quiet")),
           {.in_child = ignores_children});
}

TEST_CASE("stopped members go on with the same bits") {
  const Scratch scratch;
  const std::vector<std::string> members = args("--members 3 --steps 150 --threads 2 --seed 7");
  must(train(scratch, "whole", members));
  const Outcome stopped =
      run_until(train(scratch, "parts", members),
                concat("grep -q '\"step\"' ", scratch.path("parts/members/2/metrics.jsonl"), " 2>/dev/null"),
                "kill -TERM $pid");
  CHECK(stopped.out.find("code 143") != std::string::npos);
  CHECK(stopped.err.find("continue with: ") != std::string::npos);
  CHECK(!std::filesystem::exists(scratch.path("parts/config.json")));
  check_refused(train(scratch, "parts", {"--resume"}),
                {"must be left out when members or teachers are resumed"});
  check_refused(args("train --out", scratch.path("parts"), "--resume --members 2"),
                {"--members of a resumed run must stay 3, got 2"});
  const Outcome resumed =
      must("train --out", scratch.path("parts"), "--resume --sample-every 50 --json --quiet");
  for (const char* member : {"1", "2", "3"})
    CHECK(read(scratch.path(concat("whole/members/", member, "/model.safetensors"))) ==
          read(scratch.path(concat("parts/members/", member, "/model.safetensors"))));
  CHECK_HAS(read(scratch.path("parts/members/3/metrics.jsonl")), "\"sample\"");
  CHECK(loss(scratch, "whole") == loss(scratch, "parts"));
  const files::Json done(resumed.out, "test", "the last line");
  CHECK(done.root().at("event").text() == "done");
  CHECK(done.root().at("val_loss").number() > 0);
}

TEST_CASE("members begin with the adapter in the folder of --init-from, which is not replaced") {
  const Scratch scratch;
  must(train(scratch, "base", args("--steps 1 --quiet")));
  const auto with = [&](const char* from, const char* out, const char* more) {
    return args("train --init-from", scratch.path(from), "--text", scratch.path("text.txt"),
                "--steps 1 --quiet --out", scratch.path(out), split(more));
  };
  must(with("base", "adapter", "--lora 2"));
  must(with("adapter", "members", "--members 2"));
  CHECK(std::filesystem::exists(scratch.path("members/members/2/adapter_model.safetensors")));
  check_refused(with("adapter", "adapter", "--overwrite"), {"must be another folder than that of --adapter"});
}

TEST_CASE("an ensemble of questions and answers answers a question at its end") {
  const Scratch scratch;
  std::string lines;
  for (int i = 0; i < 40; ++i)
    lines += concat(R"({"prompt": "say )", i % 7, R"(", "completion": "yes"})", "\n");
  const Outcome outcome =  // of which no member prints a sample, because of --json
      must("train --preset tiny --text", scratch.file("q.jsonl", lines),
           "--tokenizer byte --block 64 --members 2 --steps 2 --json --out", scratch.path("out"));
  CHECK_HAS(outcome.err, "<|im_start|>user\nsay ");
}

TEST_CASE("an ensemble reads its text before it replaces another") {
  const Scratch scratch;
  const std::vector<std::string> wrong =
      args("train --text", scratch.path("none.txt"), "--out", scratch.path("out"), "--members 2");
  check_refused(wrong, {"none.txt"});
  CHECK(!std::filesystem::exists(scratch.path("out")));
  must(train(scratch, "out", args("--members 2 --steps 2 --quiet")));
  const auto before = contents(scratch.path("out"));
  check_refused(args(wrong, "--overwrite"), {"none.txt"});
  check_refused(train(scratch, "out", args("--members 2 --overwrite --block 100000")), {"100001"});
  CHECK(contents(scratch.path("out")) == before);
}

TEST_CASE("an ensemble says which member ended, and how, also with --quiet") {
  const Scratch scratch;
  const Outcome outcome =
      run_until(train(scratch, "out", args("--members 2 --steps 100000 --threads 1 --quiet")),
                concat("[ -e ", scratch.path("out/members/1/metrics.jsonl"), " ]"),
                "kill -9 $(cat /proc/$pid/task/$pid/children)");
  CHECK(outcome.out == "code 137\n");
  CHECK(outcome.err ==
        concat("gradus: [train] each member must finish, got 1 of 2, which ended by signal 9, Killed: ",
               scratch.path("out/members/1"), "\n"));
}

TEST_CASE("flags that do not go together with members are refused") {
  const Scratch scratch;
  const std::vector<std::vector<std::string>> others{
      {"--ranks", "2"}, {"--stop-after", "3"}, {"--profile", scratch.path("p.json")}};
  for (const std::vector<std::string>& flags : others)
    check_refused(args(train(scratch, "out", flags), "--members 2"),
                  {"--members", flags[0], "must not come together"});
  for (const char* once : {"-", "/dev/null"})
    check_refused(args("train --text", std::string(once), "--members 2 --out", scratch.path("out")),
                  {"--members and --text", once});
  check_refused(train(scratch, "out", args("--members 0")),
                {"--members must be a whole number of at least 1"});
  check_refused(train(scratch, "out", args("--members 2 --resume")), {"needs an ensemble, got none"});
}

}  // namespace gradus::cli::test_members
