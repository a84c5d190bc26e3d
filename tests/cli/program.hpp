// Running the built program, as a user or a script does. Each call is a process of its own.
#pragma once

#include "catch.hpp"
#include "temporary_folder.hpp"
#include "train/small_text.hpp"

namespace gradus::cli {

struct Outcome {
  int code = -1;         ///< exit code
  std::string out, err;  ///< what it wrote
};

struct Input {
  std::string stdin_text = {};
  std::vector<std::string> environment = {};  ///< NAME=value, on top of the test's own
  bool full_output = false;                   ///< the standard output is a device on which nothing has room
  std::function<void()> in_child = {};        ///< called in the process before it becomes gradus
  /// Called with each line of the standard output as it comes, and the process's number.
  std::function<void(const std::string& line, int process)> on_line = {};
};

/// The file of the program that is tested.
const char* program_file();

/// Runs `gradus` with the arguments. Throws if it cannot start or a signal that it does not catch kills it.
Outcome run_program(const std::vector<std::string>& arguments, const Input& input = {});

/// The words between blanks.
std::vector<std::string> split(const std::string& text);

/// The words of a command: a literal is split at its blanks, a string is one word, a list is appended.
template <class... Parts>
std::vector<std::string> args(const Parts&... parts) {
  std::vector<std::string> words;
  const auto add = [&]<class Part>(const Part& part) {
    if constexpr (std::is_array_v<Part>) {
      for (const std::string& word : split(part)) words.push_back(word);
    } else if constexpr (std::is_convertible_v<Part, std::string>) {
      words.emplace_back(part);
    } else {
      words.insert(words.end(), part.begin(), part.end());
    }
  };
  (add(parts), ...);
  return words;
}

/// Runs `gradus` with args(parts...).
template <class... Parts>
Outcome call(const Parts&... parts) {
  return run_program(args(parts...));
}

/// run_program(), which it REQUIREs to end with exit code 0.
Outcome must_run(const std::vector<std::string>& arguments, const Input& input = {});

/// must_run() with args(parts...).
template <class... Parts>
Outcome must(const Parts&... parts) {
  return must_run(args(parts...));
}

/// The loss that `gradus eval` prints for a model, which flags may follow, on a file.
double loss_of(const std::vector<std::string>& model, const std::string& text);

/// Runs a script of the shell, in which $GRADUS is the program. Throws as above.
Outcome run_shell(const std::string& script, Input input = {});
/// Runs `gradus` in the background of a shell, where $pid is its process. When the command `until` succeeds,
/// or gradus has ended, runs `then`. The last line of the output is "code N", gradus's exit code.
Outcome run_until(const std::vector<std::string>& arguments, const std::string& until,
                  const std::string& then);

/// A Python that has PyTorch; empty, with the warning that ctest looks for, if there is none.
std::string python_with_torch();

/// CHECKs that these arguments are bad input: exit 2, no standard output, and one line with all of the words.
/// Returns that line.
std::string check_refused(const std::vector<std::string>& arguments, const std::vector<std::string>& words,
                          const Input& input = {});

/// A folder that goes when the test does.
class Scratch {
 public:
  std::string path(const std::string& name) const { return (root_ / name).string(); }
  /// Writes a file and returns its path.
  std::string file(const std::string& name, const std::string& text) const;
  /// The same of train::small_text().
  std::string text(const std::string& name = "text.txt") const { return file(name, train::small_text()); }

 private:
  testing::TemporaryFolder root_;
};

std::string read(const std::filesystem::path& file);
std::vector<std::string> lines_of(const std::string& text);
/// CHECKs that two folders have these files, and in them the same bytes.
void check_same(const std::filesystem::path& one, const std::filesystem::path& two,
                const std::vector<std::string>& files = {"model.safetensors", "last/model.safetensors",
                                                         "last/optimizer.safetensors"});
/// Trains by a command in the folder `whole`, and in `parts`, where it is stopped after `steps` and resumed;
/// CHECKs that both then have these files with the same bytes.
void check_resumes(const Scratch& scratch, const std::vector<std::string>& command, const std::string& steps,
                   const std::vector<std::string>& files);
/// Every file below a folder with its bytes, to see that nothing was touched.
std::vector<std::pair<std::string, std::string>> contents(const std::filesystem::path& folder);

}  // namespace gradus::cli
