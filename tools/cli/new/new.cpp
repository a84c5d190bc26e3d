// gradus new: writes a project that trains a model of its own against an installed gradus.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/tools/cli/program/flags.hpp"
#include "gradus/tools/cli/program/nearest.hpp"
#include "gradus/tools/cli/program/shell.hpp"
#include "gradus/tools/cli/program/text_output.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/tools/embedded.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;

struct NewFlags {
  std::string folder, example = "mlp";
};

struct Example {
  const char *name, *about;
  const char* trainer;  ///< the example that has its train.cpp
};

constexpr Example kExamples[] = {
    {"mlp", "A perceptron that learns to compute a sine.", "mlp"},
    {"gru", "A GRU that learns to write a text, byte by byte.", "gru"},
    {"cnn", "A convolutional network that learns to classify images.", "cnn"},
    {"op",
     "An operation with a kernel and a gradient rule of its own, in a perceptron that learns to compute a "
     "sine.",
     "mlp"},
};

std::vector<std::string> example_names() {
  std::vector<std::string> names;
  for (const Example& example : kExamples) names.push_back(example.name);
  return names;
}

/// The last part of the folder's path, in characters that a CMake project may have in its name.
std::string project_name(const fs::path& folder) {
  const fs::path whole = fs::absolute(folder).lexically_normal();
  std::string name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
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

int write_project(const NewFlags& flags) {
  check_choice("new", "--example", flags.example, example_names());
  const Example& example = *std::ranges::find(kExamples, flags.example, &Example::name);
  const fs::path folder = flags.folder;
  std::error_code refused;
  if (fs::exists(fs::symlink_status(folder, refused)) &&
      !(fs::is_directory(folder, refused) && fs::is_empty(folder, refused)))
    fail("new", "the folder must be new or empty, got ", folder, ".");

  const std::vector<std::pair<std::string, std::string>> values = {
      {"@name@", project_name(folder)}, {"@about@", example.about}, {"@prefix@", library_prefix()}};
  files::make_folders(folder);
  for (const auto& [from, name] : {std::pair{"common", "CMakeLists.txt"},
                                   {"common", "README.md"},
                                   {"common", "run"},
                                   {"common", "catch.hpp"},
                                   {example.name, "model.hpp"},
                                   {example.name, "test_model.cpp"},
                                   {example.trainer, "train.cpp"}}) {
    std::string text(tools::embedded_file(concat("cli/new/templates/", from, "/", name)));
    for (const auto& [key, value] : values)
      for (size_t at = 0; (at = text.find(key, at)) != text.npos; at += value.size())
        text.replace(at, key.size(), value);
    files::write_atomically(folder / name, [&](std::ostream& out) { out << text; });
  }
  using fs::perms;
  fs::permissions(folder / "run", perms::owner_exec | perms::group_exec | perms::others_exec,
                  fs::perm_options::add);
  const std::string path = shell_path(flags.folder);
  Messages(false).line(concat("wrote   ", path, "\nmore    cd ", path, " && ./run"));
  return kDone;
}

}  // namespace

Action add_new(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<NewFlags>();
  add_argument(verb, "folder", flags->folder, "DIR", "Folder to write; new or empty");
  choices(add_value(verb, "--example", flags->example, "NAME",
                    "mlp: a perceptron\n"
                    "gru: a recurrent model of texts\n"
                    "cnn: a convolutional network on images\n"
                    "op: an operation with a kernel of its own"),
          example_names)
      ->capture_default_str();
  verb.footer(with_program(
      R"(The script `run` in the folder installs the Debian packages that are missing, builds, tests
and trains. It needs an installed gradus.

Examples:
  $ new my-model
  $ new my-text --example gru)",
      program));
  return {[flags] { return write_project(*flags); }};
}

}  // namespace gradus::cli
