// gradus new: writes a project that trains a model of its own against an installed gradus.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <memory>

#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/shell.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::new_project {
std::string_view embedded_file(std::string_view path);  // CMake writes it
}

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;

/// The last part of the folder's path, in characters that a CMake project may have in its name.
std::string project_name(const fs::path& folder) {
  std::string name = files::absolute_path(folder).filename();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '_';
  return name.empty() ? "project" : name;
}

/// Where this program is installed, as a word of a shell; empty if the library is not there.
std::string library_prefix() {
  const fs::path prefix = fs::path(this_program()).parent_path().parent_path();
  std::error_code ignored;
  const bool is_installed = fs::exists(prefix / "include/gradus/gradus.hpp", ignored) &&
                            !fs::exists(prefix / "CMakeCache.txt", ignored);  // which a folder of a build has
  return is_installed ? shell_word(prefix.string()) : "";
}

constexpr const char* kFiles[] = {"CMakeLists.txt", "README.md",      "run",      "catch.hpp",
                                  "model.hpp",      "test_model.cpp", "train.cpp"};

/// Whether a folder is missing, empty, or what a stopped `new` left, of which the last file is unfinished.
bool is_unused(const fs::path& folder) {
  std::error_code refused;
  if (!fs::exists(fs::symlink_status(folder, refused))) return true;
  if (!fs::is_directory(folder, refused)) return false;
  if (fs::exists(folder / "train.cpp.tmp") && !fs::exists(folder / "train.cpp")) return true;
  return std::all_of(fs::directory_iterator(folder), {}, [](const fs::directory_entry& entry) {
    return std::any_of(std::begin(kFiles), std::end(kFiles),
                       [&](std::string name) { return entry.path().filename() == name + ".tmp"; });
  });
}

int write_project(const std::string& place) {
  const fs::path folder = place;
  if (!is_unused(folder)) fail("new", "the folder must be new or empty, got ", folder, ".");

  const std::vector<std::pair<std::string, std::string>> values = {{"@name@", project_name(folder)},
                                                                   {"@prefix@", library_prefix()}};
  files::make_folders(folder);
  files::FolderUpdate update(folder);
  for (const std::string name : kFiles) {
    std::string text(new_project::embedded_file("templates/" + name));
    for (const auto& [key, value] : values)
      for (size_t at = 0; (at = text.find(key, at)) != text.npos; at += value.size())
        text.replace(at, key.size(), value);
    update.write(name, text);
  }
  using fs::perms;
  fs::permissions(folder / "run.tmp", perms::owner_exec | perms::group_exec | perms::others_exec,
                  fs::perm_options::add);
  update.commit_without_list();
  const std::string path = shell_path(place);
  Messages(false).line(concat("wrote   ", path, "\nmore    cd ", path, " && ./run"));
  return kDone;
}

}  // namespace

Action add_new(CLI::App& verb, const std::string& program) {
  auto folder = std::make_shared<std::string>();
  add_argument(verb, "folder", *folder, "DIR", "Folder to write; new or empty");
  verb.footer(with_program(
      R"(The script `run` in the folder installs the Debian packages that are missing, builds, tests
and trains. It needs an installed gradus. Its model is a perceptron; examples/ of gradus has others.

Examples:
  $ new my-model)",
      program));
  return {[folder] { return write_project(*folder); }};
}

}  // namespace gradus::cli
