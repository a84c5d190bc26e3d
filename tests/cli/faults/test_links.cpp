// Links in the place of the files and folders of a run and of exports, and of their temporary names: what
// they lead to stays as it is, and nothing is lost. The soak takes every name; the other a sample.
#include "scenario.hpp"

namespace gradus::test_links {

using namespace gradus::testing;

namespace fs = std::filesystem;

/// Every name below a folder, and the temporary ones of its files; whether each is a folder.
std::map<std::string, bool> names_in(const fs::path& folder) {
  std::map<std::string, bool> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder).string();
    names[name] = entry.is_directory();
    if (!entry.is_directory()) names[name + ".tmp"] = false;
  }
  return names;
}

/// Makes a name a link to what stood there, which is now outside; or, if nothing did, to a copy of `other`.
void make_link(const fs::path& name, const fs::path& outside, const fs::path& other, bool symbolic) {
  fs::remove_all(outside);
  fs::create_directories(outside);
  const fs::path target = outside / name.filename();
  if (fs::exists(name))
    fs::rename(name, target);
  else
    fs::copy(other, target);
  symbolic ? fs::create_symlink(target, name) : fs::create_hard_link(target, name);
}

/// Runs the scenario with a link for each folder and each `stride`-th file. Returns how many there were.
int link_run(Scenario::Kind kind, int stride) {
  const Scenario scenario(kind);
  const cli::Scratch scratch;
  const fs::path outside = scratch.path("outside"), state = scratch.path("state"), out = scenario.out();
  scenario.set_up();
  fs::copy(out / "last", state);
  const std::string file = scratch.file("state/letter", "dear");
  std::map<std::string, bool> names = names_in(out);
  for (const char* folder : {"last.tmp", "last.old", "kept/step.tmp", "kept/step-2", "kept/step-3"})
    names[folder] = true;
  int at = 0, links = 0;
  for (const auto& [name, is_folder] : names)
    for (const bool symbolic : {true, false}) {
      if (is_folder ? !symbolic : at++ % stride != 0) continue;
      INFO(scenario.name() << ", " << name << (symbolic ? ", symbolic" : ", hard"));
      scenario.set_up();
      make_link(out / name, outside, is_folder ? state : fs::path(file), symbolic);
      const auto before = cli::contents(outside), inside = cli::contents(out);
      const cli::Outcome outcome = cli::run_program(scenario.arguments());
      INFO(outcome.err);
      CHECK((cli::contents(outside) == before));
      const bool is_refused = name == ".lock" && symbolic;
      CHECK(outcome.code == (is_refused ? 2 : 0));
      CHECK((is_refused ? cli::contents(out) == inside : scenario.is_finished()));
      ++links;
    }
  return links;
}

/// Exports what is in a folder as `format` with each `stride`-th link. Returns how many there were.
int link_export(const std::string& run, const std::string& format, int stride) {
  const cli::Scratch scratch;
  const fs::path outside = scratch.path("outside"), all = scratch.path("all"), out = all / "export";
  const std::string file = scratch.file("letter", "dear");
  const auto write = [&] {
    return cli::run_program({"export", run, "--to", format, "--out", out, "--overwrite", "--quiet"}).code;
  };
  REQUIRE(write() == 0);
  const auto exported = cli::contents(all);
  const std::map<std::string, bool> names = names_in(all);
  int at = 0, links = 0;
  for (const auto& [name, is_folder] : names)
    for (const bool symbolic : {true, false}) {
      if (is_folder || at++ % stride != 0) continue;
      INFO(format << ", " << name << (symbolic ? ", symbolic" : ", hard"));
      make_link(all / name, outside, file, symbolic);
      const auto before = cli::contents(outside);
      CHECK(write() == 0);
      CHECK((cli::contents(outside) == before));
      CHECK((cli::contents(all) == exported));
      ++links;
    }
  return links;
}

int link_runs(int stride) {
  return link_run(Scenario::resume, stride) + link_run(Scenario::overwrite, stride);
}

int link_exports(int stride) {
  const Scenario scenario(Scenario::resume);
  scenario.set_up();
  int links = 0;
  for (const char* format : {"gguf", "web"}) links += link_export(scenario.out(), format, stride);
  return links;
}

TEST_CASE("a link in the place of something of a run leaves what it leads to as it was") {
  const int links = link_runs(11);
  INFO(links);
  CHECK(links > 10);
}

TEST_CASE("a link in the place of something of an export leaves what it leads to as it was",
          "[needs.formats]") {
  const int links = link_exports(2);
  INFO(links);
  CHECK(links > 4);
}

TEST_CASE("so does every link", "[soak][needs.formats]") { CHECK(link_runs(1) + link_exports(1) > 250); }

}  // namespace gradus::test_links
