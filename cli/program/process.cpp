#include "gradus/cli/program/process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "gradus/files/error.hpp"

namespace gradus::cli {
namespace {

Ending ending_of(int status) {
  if (WIFEXITED(status)) return {WEXITSTATUS(status), 0};
  return {128 + WTERMSIG(status), WTERMSIG(status)};
}

/// A handler of this program becomes the default; what is ignored stays so.
void forget_handler(int signal) {
  struct sigaction action {};
  if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) ::signal(signal, SIG_DFL);
}

}  // namespace

std::string Ending::text() const {
  return signal == 0 ? concat("with exit code ", code)
                     : concat("by signal ", signal, ", ", ::strsignal(signal));
}

void become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
}

Process::Process(std::string_view op, const std::vector<std::string>& command, const Options& options)
    : options_(options) {
  std::fflush(nullptr);  // else both processes may write the buffered output
  // A signal between fork() and exec waits, as the handlers of this program would lose it.
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  process_ = ::fork();
  if (process_ != 0) ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (process_ < 0)
    throw RunError("[", op, "] the system must start a process, got: ", std::strerror(errno), ".");
  if (process_ == 0) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) forget_handler(signal);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::prctl(PR_SET_PDEATHSIG, options.end_signal);
    if (options.own_group) ::setpgid(0, 0);
    if (options.in >= 0) ::dup2(options.in, STDIN_FILENO);
    if (options.out >= 0) ::dup2(options.out, STDOUT_FILENO);
    become(command);
    ::dprintf(STDERR_FILENO, "gradus: the system must start %s, got: %s.\n", command[0].c_str(),
              ::strerror(errno));
    ::_exit(127);
  }
  if (options.own_group) ::setpgid(process_, process_);  // whichever of the two comes first
}

Process::~Process() {
  if (process_ == 0) return;
  send(options_.end_signal);
  (void)wait();
}

Process::Process(Process&& other) noexcept
    : options_(other.options_), process_(std::exchange(other.process_, 0)) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(options_, other.options_);
  std::swap(process_, other.process_);
  return *this;
}

void Process::send(int signal) const {
  if (process_ != 0) ::kill(options_.own_group ? -process_ : process_, signal);
}

std::optional<Ending> Process::poll() {
  int status = 0;
  if (process_ == 0 || ::waitpid(process_, &status, WNOHANG) <= 0) return {};
  process_ = 0;
  return ending_of(status);
}

Ending Process::wait() {
  int status = 0;
  const pid_t process = std::exchange(process_, 0);
  while (process != 0 && ::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return ending_of(status);
}

}  // namespace gradus::cli
