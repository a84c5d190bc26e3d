// Texts by other ways: files of token numbers, folders, the standard input, weights.
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"

namespace gradus::cli::test_token_files {

using nlohmann::json;

/// A text, a tokenizer of pairs for it, and its numbers in two files.
struct Numbers {
  Scratch scratch;
  std::string text = scratch.text();
  std::string tokenizer = scratch.path("pairs"), bin = scratch.path("train.bin"),
              val = scratch.path("val.bin");

  Numbers() {
    must("tokenizer train", text, "--out", tokenizer, "--vocab 270 --quiet");
    const Outcome made = must("tokenizer encode", tokenizer, text, text, "--bin", bin);
    CHECK(made.out.empty());
    CHECK_HAS(made.err, "wrote   ", " tokens of 16 bits\n");
    must("tokenizer encode", tokenizer, text, "--bin", val);
  }
  std::vector<std::string> arguments(const std::string& out, const std::vector<std::string>& more) const {
    return args(
        "train --preset tiny --steps 8 --block 8 --embd 8 --eval-every 4 --save-every 4 --quiet --out",
        scratch.path(out), more);
  }
  void same(const std::string& a, const std::string& b) const {
    check_same(scratch.path(a), scratch.path(b));
  }
};

TEST_CASE("token numbers of a file train as the text they were made of") {
  const Numbers n;
  CHECK(std::filesystem::file_size(n.bin) == 2 * std::filesystem::file_size(n.val));
  must(n.arguments("text", {"--text", n.text, "--tokenizer", n.tokenizer}));
  must(n.arguments("numbers", {"--tokens", n.val, "--tokenizer", n.tokenizer}));
  n.same("text", "numbers");
  must("sample", n.scratch.path("numbers"), "--tokens 5");
  must("gradcheck --model", n.scratch.path("numbers"), "--order 1");
}

TEST_CASE("a file in which every second number is 0 is read as it was written") {
  const Numbers n;
  const std::string bin = n.scratch.path("digits.bin");
  const std::string lines =
      n.scratch.file("digits.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  must(n.arguments("text", args("--text", lines, "--val-fraction 0")));
  const Outcome made = call("tokenizer encode", n.scratch.path("text"), lines, "--bin", bin);
  CHECK_HAS(made.err, "digits.bin, 36 tokens of 64 bits\n");
  must(n.arguments("numbers", args("--tokens", bin, "--val-fraction 0 --tokenizer", n.scratch.path("text"))));
  n.same("text", "numbers");
}

TEST_CASE("a run on files of numbers goes on with the same bits, wherever the files have moved") {
  const Numbers n;
  const std::vector<std::string> files{"--tokens", n.bin, "--val-tokens", n.val, "--tokenizer", n.tokenizer};
  must(n.arguments("whole", files));
  const std::vector<std::string> stopped = args(files, "--stop-after 5");
  must(n.arguments("parts", stopped));
  const std::string moved = n.scratch.path("moved.bin");
  std::filesystem::rename(n.bin, moved);
  const std::vector<std::string> resume = args("train --out", n.scratch.path("parts"), "--resume --quiet");
  check_refused(resume, {"train.bin", "--tokens gives its new place"});
  const std::vector<std::string> found = args(resume, "--tokens", moved);
  {
    std::fstream change(moved, std::ios::in | std::ios::out | std::ios::binary);
    change.put('\1');
  }
  check_refused(found, {"the text of a resumed run must not change"});
  std::filesystem::remove(moved);
  must("tokenizer encode", n.tokenizer, n.text, n.text, "--bin", moved);
  must(found);
  n.same("whole", "parts");
}

TEST_CASE("a text to validate on that is changed under a run leaves the loss of the evaluations") {
  const Numbers n;
  const auto touch = [&, done = false](const std::string&, int) mutable {
    if (std::exchange(done, true)) return;
    std::filesystem::last_write_time(n.val,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  };
  std::vector<std::string> arguments =
      n.arguments("run", args("--tokens", n.bin, "--val-tokens", n.val, "--tokenizer", n.tokenizer,
                              "--steps 400 --eval-every 200 --eval-tokens 16 --json"));
  std::erase(arguments, "--quiet");
  const Outcome run = must_run(arguments, {.on_line = touch});
  CHECK_HAS(run.err, "note: the whole validation text could not be read: [file] ", "val.bin", "\nloss    ",
            "\nsample\n");
  const json done = json::parse(lines_of(run.out).back());
  CHECK(done.at("event") == "done");
  double best = INFINITY;
  for (const std::string& line : lines_of(run.out))
    if (const json event = json::parse(line); event.at("event") == "eval") {
      best = std::min(best, event.at("val_loss").get<double>());
      CHECK(done.at("val_tokens") == event.at("tokens"));
    }
  CHECK(done.at("val_loss") == best);
  CHECK(lines_of(read(n.scratch.path("run/metrics.jsonl"))).back() == lines_of(run.out).back());
}

TEST_CASE("what does not go with files of numbers is refused") {
  const Numbers n;
  const auto refused = [&](const std::vector<std::string>& flags, const std::vector<std::string>& words) {
    check_refused(n.arguments("refused", flags), words);
    CHECK_FALSE(std::filesystem::exists(n.scratch.path("refused")));
  };
  refused({"--tokens", n.bin}, {"--tokenizer must be byte, or the path of the one that made the --tokens"});
  refused({"--tokens", n.bin, "--tokenizer", n.tokenizer, "--text", n.text}, {"must not come together"});
  refused({"--val-tokens", n.val, "--text", n.text}, {"--val-tokens must come with --tokens"});
  refused(args("--tokens", n.bin, "--val-tokens", n.val, "--val-fraction 0.2 --tokenizer", n.tokenizer),
          {"--val-tokens and --val-fraction must not come together"});
  refused(args("--tokens", n.bin, "--tokenizer byte"),
          {"train.bin", "must have token numbers below the tokenizer's 256, got ", "as token "});
  const auto bin_refused = [&](const std::string& bin, const char* words) {
    check_refused(args("tokenizer encode", n.tokenizer, n.text, "--bin", bin), {words});
  };
  const std::string pipe = n.scratch.path("pipe"), link = n.scratch.path("link");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::filesystem::create_symlink("nowhere", link);
  for (const std::string& other : {pipe, link, n.scratch.path("."), n.text})
    bin_refused(other, "--bin must be a new file or an earlier one of its kind");
  bin_refused(n.scratch.path("none/t.bin"), "--bin must be a file in a folder that exists");
  refused({"--tokens", n.text + "x", "--tokenizer", n.tokenizer}, {"No such file or directory"});
  refused(args("--text", n.text, "--text-weights 1 2"),
          {"--text-weights must be one for each of --text, got 2"});
  refused(args("--text", n.text, "--text-weights -1"),
          {"--text-weights must be a finite number of at least 0"});
  check_refused(args("tokenizer encode", n.tokenizer, "--bin", n.bin, "--json"), {"--bin and --json"}, {});
}

TEST_CASE("a folder trains as its files do, and the standard input as a file") {
  const Numbers n;
  std::filesystem::create_directories(n.scratch.path("texts/more"));
  const std::string a = n.scratch.file("texts/a.txt", read(n.text)),
                    b = n.scratch.file("texts/more/b.txt", "the end of it all, said the cat.\n");
  n.scratch.file("texts/read.me", "not this");
  must(n.arguments("files", {"--text", a, b}));
  must(n.arguments("folder", {"--text", n.scratch.path("texts")}));
  n.same("files", "folder");
  must_run(n.arguments("piped", args("--text -")), {.stdin_text = read(a) + read(b)});
  n.same("files", "piped");
  CHECK(json::parse(read(n.scratch.path("piped/train.json"))).at("text") == json{"-"});
  const Outcome eval = call("eval", n.scratch.path("files"), "--text", n.scratch.path("texts"), "--json");
  CHECK(eval.out == call("eval", n.scratch.path("files"), "--text", a, b, "--json").out);
  CHECK(eval.out == run_program(args("eval", n.scratch.path("files"), "--text - --json"),
                                {.stdin_text = read(a) + read(b)})
                        .out);
  n.scratch.file("texts/c.txt", "new");
  check_refused(args("train --out", n.scratch.path("folder"), "--resume"),
                {"the text of a resumed run must not change"});
}

TEST_CASE("weights say which text is read, and the run that has them goes on with the same bits") {
  const Numbers n;
  const std::string other = n.scratch.file("other.txt", std::string(2000, 'e'));
  // A text that comes by a pipe is read once.
  const std::vector<std::string> piped = args("--text", n.text, "- --text-weights 1 2");
  must_run(n.arguments("piped", piped), {.stdin_text = read(other)});
  must(n.arguments("unpiped", args("--text", n.text, other, "--text-weights 1 2")));
  CHECK(read(n.scratch.path("piped/model.safetensors")) == read(n.scratch.path("unpiped/model.safetensors")));
  CHECK(json::parse(read(n.scratch.path("piped/last/trainer.json"))).at("text_sha256") ==
        json::parse(read(n.scratch.path("unpiped/last/trainer.json"))).at("text_sha256"));

  check_resumes(n.scratch, n.arguments("whole", args("--text", n.text, other, "--text-weights 1 2.5")), "5",
                {"model.safetensors", "last/model.safetensors", "last/optimizer.safetensors"});
  CHECK(json::parse(read(n.scratch.path("whole/train.json"))).at("text-weights") == json{1.0, 2.5});
  must(n.arguments("plain", {"--text", n.text, other}));
  CHECK(read(n.scratch.path("plain/last/model.safetensors")) !=
        read(n.scratch.path("whole/last/model.safetensors")));
}

}  // namespace gradus::cli::test_token_files
