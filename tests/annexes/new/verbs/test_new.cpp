// gradus new: the project that it writes, and what it refuses. tests/consumer builds and runs it.
#include "cli/program.hpp"

namespace gradus::cli::test_new {

namespace fs = std::filesystem;

TEST_CASE("a project has the name of its folder, which is new or empty") {
  const Scratch scratch;
  for (const char* folder : {"a b", "begun"}) fs::create_directory(scratch.path(folder));
  for (const char* left : {"begun/run", "begun/train.cpp.tmp"}) scratch.file(left, "");
  for (const auto& [place, name] :
       {std::pair{"a b", "a_b"}, {"below/my model", "my_model"}, {"there/", "there"}, {"begun", "begun"}}) {
    INFO(place);
    const std::string folder = scratch.path(place);
    const Outcome written = must("new", folder);
    CHECK(written.out.empty());
    CHECK_HAS(written.err, "wrote   ", "&& ./run\n");
    std::string names;
    for (const auto& [path, text] : contents(folder)) {
      names += fs::path(path).filename().string() + " ";
      for (const char* left : {"@name@", "@prefix@"}) CHECK_THAT(text, !ContainsSubstring(left));
    }
    CHECK(names == "CMakeLists.txt README.md catch.hpp model.hpp run test_model.cpp train.cpp ");
    CHECK_HAS(read(folder + "/CMakeLists.txt"), concat("project(", name, " CXX)"));
    CHECK_HAS(read(folder + "/README.md"), concat("# ", name, "\n"));
    CHECK((fs::status(folder + "/run").permissions() & fs::perms::owner_exec) != fs::perms::none);
  }
}

TEST_CASE("nothing that is there is overwritten") {
  const Scratch scratch;
  fs::create_directory(scratch.path("full"));
  scratch.file("full/mine", "text");
  fs::create_symlink("nowhere", scratch.path("link"));
  for (const std::string& taken : {scratch.path("full"), scratch.file("file", ""), scratch.path("link")}) {
    const auto before = contents(scratch.path("full"));
    check_refused({"new", taken}, {"[new] the folder must be new or empty, got ", taken});
    CHECK(contents(scratch.path("full")) == before);
  }
  check_refused({"new"}, {"there must be a DIR, got none"});
  check_refused({"new", ""}, {"must be a path, got none"});
  const Outcome failed = call("new", scratch.path("file/below"));
  CHECK(failed.code == 1);
  CHECK(lines_of(failed.err).size() == 1);
}

TEST_CASE("without packages and without sudo, run prints the line that installs them") {
  const Scratch scratch;
  const std::string folder = scratch.path("m"), tools = scratch.path("tools");
  must("new", folder);
  fs::create_directory(tools);
  for (const char* tool : {"sh", "dirname"})
    fs::create_symlink(std::string("/usr/bin/") + tool, tools + "/" + tool);
  const auto run_as = [&](const char* user, const std::string& also) {
    fs::permissions(scratch.file("tools/id", std::string("#!/bin/sh\necho ") + user + "\n"),
                    fs::perms::owner_all);
    return run_shell(also + "PATH='" + tools + "' '" + folder + "/run'");
  };
  const std::string packages =
      "install -y g++ cmake make catch2 libopenblas-dev libutf8proc-dev libpcre2-dev zlib1g-dev\n";
  for (const std::string also : {"", "GRADUS_NO_INSTALL=1 "}) {
    const Outcome refused = run_as("1000", also);
    CHECK(refused.code == 2);
    CHECK(refused.out.empty());
    CHECK(refused.err == "run: packages are missing; run: sudo apt-get update && sudo apt-get " + packages);
  }
  const Outcome root = run_as("0", "GRADUS_NO_INSTALL=1 ");
  CHECK(root.err == "run: packages are missing; run: apt-get update && apt-get " + packages);
  CHECK_FALSE(fs::exists(folder + "/build"));
}

}  // namespace gradus::cli::test_new
