#include "program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"

namespace gradus::cli {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void become(const char* program, const std::vector<std::string>& arguments, const Input& input) {
  for (const std::string& variable : input.environment) {
    const size_t equals = variable.find('=');
    ::setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
  }
  ::signal(SIGHUP, SIG_DFL);  // or, of tests that run under nohup, it would be ignored
  if (input.in_child) input.in_child();
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(program, argv.data());
  ::_exit(127);
}

Outcome run(const char* program, const std::vector<std::string>& arguments, const Input& input) {
  const Scratch scratch;
  const std::string in = scratch.file("in", input.stdin_text), err = scratch.file("err", "");
  int out[2];
  if (::pipe(out) != 0) throw std::runtime_error("no pipe");
  ::fcntl(out[1], F_SETPIPE_SZ, 4096);  // The program may not run far ahead of on_line.
  const pid_t process = ::fork();
  if (process == 0) {
    ::dup2(::open(in.c_str(), O_RDONLY), STDIN_FILENO);
    ::dup2(input.full_output ? ::open("/dev/full", O_WRONLY) : out[1], STDOUT_FILENO);
    ::dup2(::open(err.c_str(), O_WRONLY), STDERR_FILENO);
    ::close(out[0]);
    ::close(out[1]);
    become(program, arguments, input);
  }
  ::close(out[1]);

  Outcome outcome;
  size_t seen = 0;
  char buffer[4096];
  for (ssize_t n; (n = ::read(out[0], buffer, sizeof buffer)) > 0;) {
    outcome.out.append(buffer, static_cast<size_t>(n));
    for (size_t end; (end = outcome.out.find('\n', seen)) != std::string::npos; seen = end + 1)
      if (input.on_line) input.on_line(outcome.out.substr(seen, end - seen), process);
  }
  ::close(out[0]);
  int status = 0;
  ::waitpid(process, &status, 0);
  if (!WIFEXITED(status))
    throw std::runtime_error("gradus was killed by signal " + std::to_string(WTERMSIG(status)));
  outcome.code = WEXITSTATUS(status);
  outcome.err = read(err);
  return outcome;
}

}  // namespace

const char* program_file() { return GRADUS_PROGRAM; }

Outcome run_program(const std::vector<std::string>& arguments, const Input& input) {
  std::vector<std::string> all{"gradus"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run(program_file(), all, input);
}

Outcome must_run(const std::vector<std::string>& arguments, const Input& input) {
  const Outcome outcome = run_program(arguments, input);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return outcome;
}

double loss_of(const std::vector<std::string>& model, const std::string& text) {
  return files::Json(must("eval", model, "--text", text, "--json").out, "test", "eval")
      .root()
      .at("loss")
      .number();
}

Outcome run_shell(const std::string& script, Input input) {
  input.environment.push_back("GRADUS=" + std::string(program_file()));
  return run("/bin/sh", {"sh", "-c", script}, input);
}

Outcome run_until(const std::vector<std::string>& arguments, const std::string& until,
                  const std::string& then) {
  return run_shell(concat("$GRADUS '", joined(arguments, "' '"), "' & pid=$!; until ", until,
                          " || ! kill -0 $pid; do sleep 0.02; done; ", then, "; wait $pid; echo code $?"));
}

std::string python_with_torch() {
  for (const char* python : {"python3", "/usr/bin/python3"})
    if (run_shell(concat(python, " -c 'import torch'")).code == 0) return python;
  SUCCEED();
  WARN("skipped: no Python with PyTorch");
  return "";
}

std::string check_refused(const std::vector<std::string>& arguments, const std::vector<std::string>& words,
                          const Input& input) {
  const Outcome outcome = run_program(arguments, input);
  std::string command = "gradus";
  for (const std::string& argument : arguments) command += " " + argument;
  INFO(command << "\n" << outcome.err);
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  REQUIRE(lines_of(outcome.err).size() == 1);
  CHECK(outcome.err.starts_with("gradus: "));
  for (const std::string& word : words) CHECK_HAS(outcome.err, word);
  return outcome.err;
}

std::string Scratch::file(const std::string& name, const std::string& text) const {
  std::ofstream(root_ / name, std::ios::binary) << text;
  return path(name);
}

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> split(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

void check_same(const fs::path& one, const fs::path& two, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    INFO(file);
    const std::string bytes = read(one / file);
    CHECK_FALSE(bytes.empty());
    CHECK((bytes == read(two / file)));
  }
}

void check_resumes(const Scratch& scratch, const std::vector<std::string>& command, const std::string& steps,
                   const std::vector<std::string>& files) {
  const std::string whole = scratch.path("whole"), parts = scratch.path("parts");
  must(command, "--out", whole);
  must(command, "--out", parts, "--stop-after", steps);
  must("train --resume --quiet --out", parts);
  check_same(whole, parts, files);
}

std::vector<std::pair<std::string, std::string>> contents(const fs::path& folder) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files.emplace_back(fs::relative(entry.path(), folder).string(), read(entry.path()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace gradus::cli
