// Every kind of bad input: exit code 2, one line that says what was expected, and nothing on disk touched.
#include <sys/stat.h>
#include <unistd.h>

#include "gradus/files/file.hpp"
#include "program.hpp"

namespace gradus::cli::test_bad_input {

/// A place with a text, and a folder that a refused run must not make.
struct Place {
  Scratch scratch;
  std::string text = scratch.text();
  std::string out = scratch.path("run");

  /// `flags` are cut at blanks; @ stands for the folder of the place, @text.txt is its text.
  void check_train_refused(std::string flags, const std::vector<std::string>& words) const {
    for (size_t at; (at = flags.find('@')) != std::string::npos;) flags.replace(at, 1, scratch.path(""));
    check_refused(args("train --preset tiny --out", out, split(flags)), words);
    CHECK_FALSE(std::filesystem::exists(out));
  }
  /// The verbs that read a model.
  std::vector<std::vector<std::string>> verbs_of(const std::string& model) const {
    return {args("eval", model, "--text", text), args("look", model, "--prompt the"),
            args("sample", model, "--prompt the"), args("export", model, "--to gguf --out x.gguf"),
            args("train --init-from", model, "--text", text, "--out", scratch.path("new"))};
  }
  void train() const { must("train --text", text, "--preset tiny --steps 2 --out", out, "--quiet"); }
};

TEST_CASE("files of others are not replaced unasked, earlier ones of the verb are", "[needs.verbs]") {
  const Place place;
  place.train();
  const std::string theirs = place.scratch.file("theirs.html", "mine"), line = "{\"text\": \"the\"}\n",
                    lines = place.scratch.file("lines.jsonl", line);
  std::vector<std::vector<std::string>> all = {
      {"look", place.out, "--prompt", "the", "--html", theirs},
      {"look", place.out, "--prompt", "the", "--tensors", theirs},
      {"gradcheck", "--op", "neg", "--html", theirs},
      args("train --text", place.text, "--preset tiny --steps 2 --quiet --overwrite --out",
           place.scratch.path("new"), "--profile", theirs),
      {"report", place.out, "--out", theirs},
      {"lesson", "compare", "--html", theirs},
      {"eval", place.out, "--text", lines, "--per-example", lines}};
  for (const std::vector<std::string>& flags : all)
    check_refused(flags, {"must be a new file or an earlier one of its kind, got"});
  CHECK(gradus::files::read(theirs) == "mine");
  CHECK(gradus::files::read(lines) == line);
  for (std::vector<std::string>& flags : all) {
    flags.back() = place.scratch.path(flags[0] + std::to_string(&flags - all.data()) + ".html");
    for (int i = 0; i < 2; ++i) must(flags);
  }
  for (const std::vector<std::string>& flags : all)
    for (const std::vector<std::string>& others : all) {
      std::vector<std::string> mixed = flags;
      mixed.back() = others.back();
      if (mixed != flags) check_refused(mixed, {"must be a new file or an earlier one of its kind, got"});
    }
}

TEST_CASE("weights that are not finite are no model; info describes them still", "[needs.verbs]") {
  const Place place;
  place.train();
  const std::string file = place.out + "/model.safetensors";
  std::string bytes = gradus::files::read(file);
  std::ofstream(file) << bytes.replace(bytes.size() - 4, 4, "\0\0\xC0\x7F", 4);
  std::filesystem::remove(place.out + "/checksums.sfv");
  for (const std::vector<std::string>& verb : place.verbs_of(place.out))
    check_refused(verb, {"values of 'wte.weight' must be finite, got NaN or infinity at ("});
  must("info", place.out);
  std::ofstream(file) << bytes.replace(bytes.size() - 4, 4, "\xFF\xFF\x7F\x7F");
  CHECK_HAS(call("eval", place.out, "--text", place.text).err, "[eval] the loss of ",
            " must be finite, got ");
}

TEST_CASE("shards without their index are no model; info lists the tensors of one", "[needs.verbs]") {
  const Place place;
  place.train();
  std::filesystem::remove(place.out + "/checksums.sfv");
  const std::string shard = place.out + "/model-00001-of-00002.safetensors";
  std::filesystem::rename(place.out + "/model.safetensors", shard);
  auto verbs = place.verbs_of(place.out);
  verbs.push_back({"info", place.out});
  for (const std::vector<std::string>& verb : verbs)
    check_refused(verb, {"must have model.safetensors.index.json, the list of its shards, got 'model-0"});
  for (const std::vector<std::string>& verb : place.verbs_of(shard))
    check_refused(verb, {"must have a whole model, got one of its shards. Hint: name their folder."});
  must("info", shard);
}

TEST_CASE("a text must be a file that can be read and is long enough") {
  const Place place;
  place.scratch.file("empty.txt", "");
  place.scratch.file("latin1.txt", std::string(2000, '\xe9'));
  place.scratch.file("t\xff.txt", train::small_text());
  std::filesystem::create_directory(place.scratch.path("folder"));
  const std::pair<const char*, const char*> table[] = {
      {"--text @empty.txt", "must have text in it, got none"},
      {"--text @folder", "must have files in it whose names end in .txt, got none."},
      {"--text @none.txt", "No such file"},
      {"--text @text.txt --block 100000", "100001 tokens"},
      {"--text @latin1.txt", "UTF-8"},
      {"--text @text.txt --corpus kjv", "--text and --corpus must not come together"},
      {"--text @text.txt --freeze \xff", "--freeze must be in UTF-8, got '\\xff'"},
      {"--text @t\xff.txt", "--text must be in UTF-8, got "},
      {"--text @t\xff.txt", "t\\xff.txt"},
      {"--corpus brown", "--corpus must be kjv or stories, got 'brown'"},
      {"--text @text.txt --tokenizer word",
       "--tokenizer must be char, byte or bpe, or the path of a tokenizer's folder or tokenizer.json, got"},
      {"--text @text.txt --tokenizer no/where", "got 'no/where', which does not exist."},
      {"--text @text.txt --vocab 300", "--vocab must be left out unless --tokenizer is bpe, got 300"},
      {"--text @text.txt --tokenizer bpe --vocab 256",
       "--vocab must be a whole number of at least 257, got 256"}};
  for (const auto& [flags, words] : table) place.check_train_refused(flags, {words});
  if (::geteuid() != 0) {
    ::chmod(place.scratch.file("secret.txt", "secret").c_str(), 0);
    place.check_train_refused("--text @secret.txt", {"secret.txt", "must be readable"});
  }
}

TEST_CASE("an empty path, of a variable that was not set, is none") {
  const Place place;
  for (const std::string& flag :
       args("--out --text --tokens --val-tokens --init-from --tokenizer --config --profile"))
    check_refused(args("train --preset tiny --text", place.text, flag, std::string()),
                  {flag + " must be a path, got none"});
  const std::string config = place.scratch.file("train.toml", "steps = 1\ninit-from = \"\"\n");
  place.check_train_refused("--text @text.txt --config @train.toml",
                            {config + ":2:1: init-from must be a path, got none"});
  check_refused({"info", ""}, {"folder must be a path, got none"});
  check_refused({"sample", ""}, {"folder must be a path, got none"});
  check_refused({"tokenizer", "train", place.text, "--vocab", "300", "--out", ""},
                {"--out must be a path, got none"});
  check_refused({"tokenizer", "encode", ""}, {"must be a path, got none"});
}

TEST_CASE("a folder of texts has nothing else of such names, and is no stream") {
  const Place place;
  const std::string folder = place.scratch.path("texts");
  std::filesystem::create_directory(folder);
  std::filesystem::copy_file(place.text, folder + "/a.txt");
  const auto refused = [&](const std::string& name, const char* words) {
    check_refused(args("train --preset tiny --steps 1 --text", folder), {name, words});
    std::filesystem::remove(folder + "/" + name);
  };
  std::filesystem::create_symlink("loop.txt", folder + "/loop.txt");
  check_refused({"sample", folder + "/loop.txt/run"}, {"loop.txt"});
  refused("loop.txt", "Too many levels of symbolic links");
  std::filesystem::create_symlink("nowhere", folder + "/lost.txt");
  refused("lost.txt", "No such file");
  REQUIRE(::mkfifo((folder + "/pipe.txt").c_str(), 0600) == 0);
  refused("pipe.txt", "got a pipe, a socket or a device");
  std::filesystem::create_directory_symlink(".", folder + "/again");
  refused("again", "got a link to a folder");
  std::filesystem::create_directory(folder + "/more.txt");
  const std::string gradus = concat("'", program_file(), "' ");
  const auto run = [&](const std::string& verb) { return run_shell(gradus + verb + " <'" + folder + "'"); };
  must("train --preset tiny --steps 1 --text", folder, "--out", place.out, "--quiet");
  for (const std::string& verb : std::vector<std::string>{
           "train --text -", "tokenizer encode '" + place.out + "'", "eval '" + place.out + "' --text -",
           "sample '" + place.out + "' --prompt -"}) {
    INFO(verb);
    const Outcome outcome = run(verb);
    CHECK(outcome.code == 2);
    CHECK(lines_of(outcome.err).size() == 1);
    CHECK_HAS(outcome.err, "the standard input", "Is a directory");
  }
}

TEST_CASE("numbers must make sense") {
  const Place place;
  struct Row {
    const char *flags, *values, *words;
  };
  const Row table[] = {
      {"--layers --heads --embd --block", "0 -3", "must be in [1, "},
      {"--steps --batch --accum --eval-every --save-every --threads --stop-after", "0 -3",
       "must be a whole number of at least 1, got "},
      {"--lr", "0 -1 nan inf", "must be a finite number above 0, got "},
      {"--lr", "0x1p-10 1e999 1e-3x +-1", "must be a number, got '"},
      {"--dropout --val-fraction --beta1 --beta2 --momentum --ema", "-0.1 1 nan", "must be in [0, 1), got "},
      {"--weight-decay --clip", "-1 nan inf", "must be a finite number of at least 0, got "},
      {"--min-lr", "-1 nan inf", "must be from 0 to --lr"},
      {"--warmup --seed --eval-tokens", "-1", "must be a whole number of at least 0, got -1"},
      {"--heads", "3", "--heads must divide --embd, got 3 and 32"},
      {"--steps", "1.5 many", "must be a whole number, got '"},
      {"--decay", "cubic", "must be cosine, linear, constant or wsd, got 'cubic'"},
      {"--cooldown", "0", "must be in (0, 1], got 0"},
      {"--optimizer", "sgd", "must be adamw, muon, lion or rmsprop, got 'sgd'"},
      {"--minutes", "-1", "must be in [0, 1e+06], got -1"},
      {"--preset", "huge",
       "--preset must be tiny, gru, nano, mini, gemma, midi, maxi, small or gpt2, got 'huge'"}};
  for (const auto& [flags, values, words] : table) {  // Each flag once, and the first with each value.
    const std::vector<std::string> all_flags = split(flags), all_values = split(values);
    for (const std::string& flag : all_flags)
      for (const std::string& value : flag == all_flags[0] ? all_values : std::vector{all_values[0]})
        place.check_train_refused(concat("--text @text.txt ", flag, " ", value), {flag, words});
  }
}

TEST_CASE("a model too large for memory is refused before it is made") {
  const Place place;
  place.check_train_refused("--text @text.txt --layers 1000 --embd 100000 --heads 10",
                            {"must fit into the ", " GB that are free"});
  place.check_train_refused("--text @text.txt --batch 9000000000000", {"must fit into the "});
}

TEST_CASE("what is in a folder stays there") {
  const Place place;
  place.train();
  const auto before = contents(place.out);
  const std::vector<std::string> train = args("train --text", place.text, "--preset tiny --out");
  check_refused(args(train, place.out), {"must be new or empty", "--resume", "--overwrite"});
  check_refused(args(train, place.out, "--overwrite --lr nan"), {"--lr"});
  check_refused(args(train, place.out, "--overwrite --block 100000"), {"tokens"});
  CHECK(contents(place.out) == before);
  // Of a run that was stopped in its first checkpoint, or before it, nothing is lost.
  std::filesystem::rename(place.out + "/last", place.out + "/last.tmp");
  check_refused(args(train, place.out), {"must be new or empty"});  // The log says that it ended.
  std::filesystem::remove(place.out + "/metrics.jsonl");
  std::filesystem::rename(place.out + "/last.tmp", place.out + "/other");
  check_refused(args(train, place.out), {"must be new or empty"});  // It has a best model.
  std::filesystem::rename(place.out + "/other", place.out + "/last.tmp");
  must(train, place.out, "--steps 1");

  const std::string home = place.scratch.path("home");
  std::filesystem::create_directory(home);
  place.scratch.file("home/letter.txt", "dear");
  check_refused(args(train, home), {"must be new or empty"});
  check_refused(args(train, home, "--overwrite"), {"--overwrite replaces a run only"});
  check_refused(args(train, home, "--resume"), {"--resume needs a folder that `gradus train` made"});
  check_refused(args(train, place.text), {"--out must be a folder"});
  CHECK(read(home + "/letter.txt") == "dear");

  // And --overwrite takes away what the old run left, but nothing else.
  place.scratch.file("run/notes.txt", "mine");
  must(train, place.out, "--overwrite --steps 1 --quiet");
  CHECK(read(place.out + "/notes.txt") == "mine");
  CHECK(lines_of(read(place.out + "/metrics.jsonl")).size() == 6);  // start, step, layers, eval, sample, done
}

TEST_CASE("a damaged checkpoint is refused by whoever reads it") {
  const Place place;
  must("train --text", place.text, "--preset tiny --steps 4 --stop-after 2 --out", place.out, "--quiet");
  const auto truncate = [&](const std::string& file) {
    const std::string path = place.out + "/" + file;
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    return contents(place.out);
  };
  SECTION("the best model") {
    const auto before = truncate("model.safetensors");
    check_refused({"sample", place.out}, {"model.safetensors"});
    check_refused({"eval", place.out, "--text", place.text}, {"model.safetensors"});
    check_refused({"info", place.out}, {"model.safetensors"});
    CHECK(contents(place.out) == before);
  }
  for (const char* file : {"last/model.safetensors", "last/optimizer.safetensors", "last/trainer.json",
                           "train.json", "vocab.json"}) {
    SECTION(file) {
      const auto before = truncate(file);
      const std::string name = std::filesystem::path(file).filename().string();
      check_refused(args("train --out", place.out, "--resume"), {name == "vocab.json" ? "vocab" : name});
      CHECK(contents(place.out) == before);
    }
  }
}

TEST_CASE("sample and eval refuse what a model cannot read") {
  const Place place;
  place.train();
  const std::pair<const char*, const char*> table[] = {
      {"--tokens -1", "[sample] --tokens must be >= 0, got -1"},
      {"--temperature nan", "[sample] --temperature must be "},
      {"--top-k -1", "[sample] --top-k must be >= 0, got -1"},
      {"--top-p 2", "[sample] --top-p must be in (0, 1], got 2"},
      {"--count 0", "--count must be a whole number of at least 1"}};
  for (const auto& [flags, words] : table) check_refused(args("sample", place.out, split(flags)), {words});
  check_refused({"sample", place.out, "--prompt", "the 100%"}, {"%"});
  check_refused({"sample", place.out, "--prompt", "caf\xE9"},
                {"--prompt must be UTF-8, got byte 0xe9 at byte offset 3"});
  check_refused(args("sample", place.out, "--prompt -"), {"%"}, {.stdin_text = "the 100%\n"});
  check_refused({"sample", place.scratch.path("none")}, {"none", "No such file"});
  check_refused({"eval", place.out, "--text", place.scratch.file("other.txt", "the 100%")}, {"%"});
  check_refused({"eval", place.out}, {"[eval] there must be --text FILE or --prompt TEXT, got none."});
}

TEST_CASE("the command line itself must be right") {
  const std::pair<std::vector<std::string>, const char*> table[] = {
      {{}, "there must be a verb, one of train, sample, chat, eval, "},
      {{"fly"}, "there must be a verb first, got 'fly'. Hint: gradus --help lists the verbs."},
      {args("--steps 3 train"), "there must be a verb first, got '--steps'"},
      {args("plot x"), "or let gradus report write"},
      {args("watch x"), "Hint: open report.html"},
      {args("completion bash"), "build/generated_docs/gradus"},
      {args("man"), "build/generated_docs/gradus.1"},
      {args("train --flyby 3"),
       "[train] flags must be ones that train has, got --flyby. Hint: gradus train --help-all lists"},
      {args("train --steps"), "[train] --steps: 1 required N missing. Hint: gradus train --help-all lists"},
      {args("train --text"), "[train] --text: 1 required FILE missing"},
      {args("train --bias false"), "there must be no such argument, got 'false'"},
      {args("train --no-bias=maybe"), "[train] "},
      {args("train tiny"), "there must be no such argument, got 'tiny'"},
      {args("sample"), "[sample] there must be a DIR, got none"},
      {args("sample a b"), "[sample] there must be no such argument, got 'b'"}};
  for (const auto& [arguments, words] : table) check_refused(arguments, {words});
}

TEST_CASE("a config file must have flags as keys, each once") {
  const Place place;
  const auto refused = [&](const std::string& toml, const std::vector<std::string>& words) {
    place.scratch.file("run.toml", toml);
    place.check_train_refused("--text @text.txt --config @run.toml", words);
  };
  refused("stepz = 3\n", {"run.toml:1", "'stepz'. Hint: did you mean steps? train --help-all lists them."});
  refused("# a comment\n[train]\nlayer = 3\n", {"run.toml:3", "'layer'"});
  refused("config = 'other.toml'\n", {"'config'"});
  refused("[sample]\ntokens = 3\n", {"run.toml:1", "no section but [train], got 'sample'"});
  refused("[train]\nsteps = 1\n[train]\nsteps = 2\n",
          {"run.toml:3:1", "cannot redefine existing table 'train'"});
  refused("steps = 1\nlr = 1e-3\nsteps = 2\n", {"run.toml:3:", "cannot redefine existing integer 'steps'"});
  refused("steps = soon\n", {"run.toml:1:9", "must be TOML", "value type"});
  refused("lr = 'soon'\n", {"run.toml:1:1", "--lr must be a number, got 'soon'"});
  refused("steps = 'soon'\n", {"run.toml:1", "--steps must be a whole number, got 'soon'"});
  refused("steps = [1, 2]\n", {"run.toml:1", "one value, got 2"});
  refused("decay = \"linear\n", {"run.toml:1:", "string"});
  refused("steps = 5 6\n", {"run.toml:1:11", "saw '6'"});
  refused("steps\n", {"run.toml:1:6", "expected '='"});
  refused("steps = 1\n[train]\nsteps = 2\n", {"run.toml:3:1", "each key once, got 'steps' again"});
  refused("steps = 5e3\n", {"run.toml:1:1", "--steps must be a whole number, got '5000.0'"});
  refused("steps = 1979-05-27\n", {"run.toml:1:9", "'steps' must be a string, a number"});
  refused("text = [['a']]\n", {"run.toml:1:9", "'text' must be a string, a number"});
  std::string deep = "a";
  for (int i = 0; i < 8'000; ++i) deep += ".a";
  refused(deep + " = 1\n", {"run.toml:1:1: must have no section but [train], got 'a'"});
  refused(deep + deep, {"run.toml: must be at most 16384 bytes, got 32002"});
  const std::string endless(3'000, 'b'), shown = "'" + std::string(60, 'b') + "...'";
  refused(endless + " = 1\n", {"as keys, got " + shown});
  refused(endless + " = 1979-05-27\n", {shown + " must be a string"});
  refused("[" + endless + "]\n", {"but [train], got " + shown});
  refused(endless + " = 1\n[train]\n" + endless + " = 1\n", {"each key once, got " + shown});
  refused("lr = nan\n", {"--lr must be a finite number above 0"});
  place.check_train_refused("--config @none.toml", {"none.toml", "No such file"});
}

}  // namespace gradus::cli::test_bad_input
