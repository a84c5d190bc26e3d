// gradus export and what it refuses; info on what it wrote.
#include <sys/stat.h>

#include "cli/program.hpp"

namespace gradus::cli::test_export {

/// A run of a few steps; returns its folder.
std::string train_small(const Scratch& scratch, const std::string& name,
                        const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = args("train --preset tiny --steps 3 --block 40 --quiet --text",
                                            scratch.text(), "--out", scratch.path(name), more);
  if (const Outcome trained = run_program(arguments); trained.code != 0)
    throw std::runtime_error(trained.err);
  return scratch.path(name);
}

TEST_CASE("each form is written where it is asked for, and tells what to do with it") {
  const Scratch scratch;
  const std::string run = train_small(scratch, "my run");
  for (const auto& [to, file] : {std::pair{"gguf", ""}, {"web", "/index.html"}}) {
    INFO(to);
    const std::string out = scratch.path(std::string("new/") + to);
    const Outcome exported = must("export", run, "--to", to, "--out", out);
    CHECK(exported.out.empty());
    CHECK_HAS(exported.err, "wrote   ", "more    ");
    CHECK(std::filesystem::is_regular_file(out + file));
    const auto before = contents(scratch.path("new"));
    check_refused({"export", run, "--to", to, "--out", out}, {"--out must be new", "--overwrite"});
    CHECK(contents(scratch.path("new")) == before);
    CHECK(call("export", run, "--to", to, "--out", out, "--overwrite --quiet").err.empty());
    CHECK(contents(scratch.path("new")) == before);
  }
  CHECK_HAS(read(scratch.path("new/web/index.html")), "<title>my run</title>");
}

TEST_CASE("info tells what is in a GGUF file") {
  const Scratch scratch;
  const std::string run = train_small(scratch, "run", args("--arch llama --tokenizer byte"));
  const std::string file = scratch.path("x.gguf");
  must("export", run, "--to gguf --type q8_0 --out", file);
  CHECK(run_shell("ulimit -f 1; exec \"$GRADUS\" export " + run + " --to gguf --out " + file + "2").code ==
        1);
  const Outcome info = must("info", file);
  const auto row = [](const char* key, const char* type, const char* value) {
    return Catch::Matchers::Matches(concat("[^]*\n", key, " +", type, " +", value, "\n[^]*"));
  };
  CHECK_THAT(info.out, row("general\\.architecture", "string", "'llama'") &&
                           row("general\\.file_type", "u32", "7") &&
                           row("llama\\.context_length", "u32", "40") &&
                           row("llama\\.rope\\.freq_base", "f32", "10000") &&
                           row("tokenizer\\.ggml\\.add_bos_token", "bool", "false"));
  CHECK_HAS(info.out, "256 of string: '\\x00', '\\x01', '\\x02', '\\x03', ...\n",
            "token_embd.weight         Q8_0   (256, 32)", "output_norm.weight        F32    (32,)");
  check_refused(args("info", file, "--batch 3"), {"--batch must be left out for a file of tensors, got 3"});
  const std::string cut = scratch.file("cut.gguf", read(file).substr(0, 5000));
  check_refused({"info", cut}, {"cut.gguf", "must lie inside the file of 5000 bytes"});
}

TEST_CASE("what cannot be exported is refused before anything is written") {
  const Scratch scratch;
  const std::string run = train_small(scratch, "run"), out = scratch.path("out");
  const auto refused = [&](const std::vector<std::string>& more, const std::vector<std::string>& words) {
    check_refused(args("export", run, more), words);
    CHECK_FALSE(std::filesystem::exists(out));
  };
  refused({"--out", out}, {"--to NAME or --merge, got none"});
  refused(args("--merge --to gguf --out", out), {"--to excludes --merge"});
  refused(args("--merge --out", out), {"--merge needs an adapter"});
  refused(args("--to gguf"), {"--out"});
  refused(args("--to onnx --out", out), {"--to must be gguf, gguf-adapter or web, got 'onnx'"});
  for (const std::string old : {"pytorch", "npz"})
    refused({"--to", old, "--out", out},
            {"got " + old + ". Hint: Python's transformers and safetensors open "});
  refused(args("--to gguf --type q4 --out", out), {"--type must be f32, f16 or q8_0, got 'q4'"});
  refused(args("--to web --type f16 --out", out), {"--type must come with --to gguf"});
  refused(args("--to gguf --out", run, "--overwrite"), {"--out must be a file for --to gguf", "a folder"});
  refused(args("--to gguf --out", run + "/model.safetensors", "--overwrite"),
          {"an earlier export --to gguf"});
  refused(args("--to web --out", run, "--overwrite"), {"an earlier export --to web", "something else"});
  refused(args("--to web --out", scratch.path("text.txt"), "--overwrite"),
          {"--out must be a folder for --to web"});
  check_refused(args("export", scratch.path("none"), "--to gguf --out", out), {"none"});
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("only an earlier export is replaced, also one that was stopped, and never what is no file") {
  const Scratch scratch;
  const std::string run = train_small(scratch, "run");
  const auto export_to = [&](const std::string& to, const std::string& out) {
    return std::vector<std::string>{"export", run, "--to", to, "--out", out, "--overwrite"};
  };
  for (const std::string to : {"gguf", "web"}) {
    check_refused(export_to(to, ""), {"--out must be a path, got none"});
    const std::string pipe = scratch.path(to + ".pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    check_refused(export_to(to, pipe), {"--out must be "});
    const std::string link = scratch.path(to + ".link");
    std::filesystem::create_symlink("nowhere", link);
    check_refused(export_to(to, link), {"--out must be "});
    CHECK(std::filesystem::is_symlink(link));
  }
  const std::string out = scratch.path("stopped"), left = out + "/weights-0.js.tmp";
  std::filesystem::create_directory(out);
  scratch.file("stopped/weights-0.js.tmp", "half");
  must("export", run, "--to web --out", out, "--quiet");
  scratch.file("stopped/index", "mine");
  must(export_to("web", out));
  CHECK(read(out + "/index") == "mine");
  CHECK_FALSE(std::filesystem::exists(left));
}

}  // namespace gradus::cli::test_export
