#include "gradus/tools/bench/contender.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"

namespace gradus::bench {
namespace {

/// Called in the new process: executes the command with `end` as standard input and output.
[[noreturn]] void become(const Command& command, const std::vector<char*>& words, int end) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // else it stays, stopped, if this process is killed
  ::dup2(end, STDIN_FILENO);
  ::dup2(end, STDOUT_FILENO);
  for (const auto& [name, value] : command.environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::execvp(words[0], words.data());
  ::_exit(127);
}

/// Starts the command. Returns its process number and our end of its standard input and output.
std::pair<pid_t, int> start(const Command& command) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw RunError("[bench] the system must grant a socket, got: ", std::strerror(errno), ".");
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::fflush(nullptr);  // else both processes may write the buffered output
  const pid_t process = ::fork();
  if (process == 0) become(command, words, ends[1]);
  ::close(ends[1]);
  if (process < 0) {
    ::close(ends[0]);
    throw RunError("[bench] the system must grant a process, got: ", std::strerror(errno), ".");
  }
  return {process, ends[0]};
}

}  // namespace

Contender::Contender(std::string name, const Command& command) : name_(std::move(name)) {
  std::tie(process_, socket_) = start(command);
  try {
    greeting_ = read_line();
  } catch (...) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    ::close(socket_);
    throw;
  }
  stop();
}

Contender::~Contender() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  ::close(socket_);
}

std::string Contender::read_line() {
  for (;;) {
    if (const size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    char buffer[4096];
    const ssize_t n = ::recv(socket_, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw RunError("[bench] ", name_, " must answer, got the end of its process.");
    unread_.append(buffer, static_cast<size_t>(n));
  }
}

std::string Contender::ask(const std::string& line) {
  ::kill(process_, SIGCONT);
  const std::string text = line + "\n";
  ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);  // if the process is gone, read_line() throws
  std::string answer = read_line();
  stop();
  return answer;
}

// A signal takes time, so this waits until the whole process has stopped or ended; ask() reports an end.
void Contender::stop() {
  ::kill(process_, SIGSTOP);
  siginfo_t how;
  while (::waitid(P_PID, static_cast<id_t>(process_), &how, WSTOPPED | WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
}

Turn Contender::run(double seconds, int64_t steps) {
  const files::Json json(ask(concat("run ", seconds, " ", steps)), "bench", name_);
  const files::Field turn = json.root();
  return {turn.at("ms_median").number(), turn.at("ms_min").number(), turn.at("steps").integer()};
}

double Contender::peak_mib() {
  return files::Json(ask("memory"), "bench", name_).root().at("peak_mib").number();
}

std::pair<std::string, int> output_of(const Command& command) {
  const auto [process, socket] = start(command);
  ::shutdown(socket, SHUT_WR);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  ::close(socket);
  int status = 0;
  ::waitpid(process, &status, 0);
  return {text, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
}

}  // namespace gradus::bench
