#include "pseudo_terminal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "program.hpp"

namespace gradus::cli {
namespace {

constexpr int kPatience = 120'000;  // milliseconds without anything new, on a machine however busy

[[noreturn]] void become_program(const char* terminal, const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment) {
  ::setsid();  // The first terminal that is opened from here on is the one whose Ctrl-C counts.
  const int slave = ::open(terminal, O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(slave, stream);
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  for (const std::string& variable : environment) ::putenv(const_cast<char*>(variable.c_str()));
  ::signal(SIGINT, SIG_DFL);
  std::vector<char*> argv{const_cast<char*>("gradus")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(program_file(), argv.data());
  ::_exit(127);
}

}  // namespace

PseudoTerminal::PseudoTerminal(const std::vector<std::string>& arguments,
                               const std::vector<std::string>& environment, int columns, int rows)
    : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0)
    throw std::runtime_error("no pseudo-terminal");
  const std::string terminal = ::ptsname(master_);
  resize(columns, rows);
  process_ = ::fork();
  if (process_ == 0) become_program(terminal.c_str(), arguments, environment);
}

PseudoTerminal::~PseudoTerminal() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ::close(master_);
}

void PseudoTerminal::resize(int columns, int rows) {
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = static_cast<unsigned short>(rows);
  if (::ioctl(master_, TIOCSWINSZ, &size) != 0) throw std::runtime_error("the terminal has no size");
}

void PseudoTerminal::type(const std::string& keys) {
  if (::write(master_, keys.data(), keys.size()) != static_cast<ssize_t>(keys.size()))
    throw std::runtime_error("the terminal takes no keys");
}

void PseudoTerminal::type_at_prompt(const std::string& keys) {
  termios modes{};
  for (int waited = 0; ::tcgetattr(master_, &modes) == 0 && (modes.c_lflag & ICANON) && waited < kPatience;
       ++waited)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  type(keys);
}

bool PseudoTerminal::read_more(int patience) {
  pollfd ready{.fd = master_, .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, patience) != 1) return false;
  char buffer[4096];
  const ssize_t count = ::read(master_, buffer, sizeof buffer);  // EIO once nobody has the other end
  if (count <= 0) return false;
  shown_.append(buffer, static_cast<size_t>(count));
  return true;
}

std::string PseudoTerminal::shown_up_to(const std::string& text) {
  size_t at = 0;
  while ((at = shown_.find(text)) == std::string::npos)
    if (!read_more(kPatience)) throw std::runtime_error("'" + text + "' was not shown, but: " + shown_);
  std::string shown = shown_.substr(0, at + text.size());
  shown_.erase(0, shown.size());
  return shown;
}

std::string PseudoTerminal::stop() {
  ::kill(process_, SIGSTOP);
  ::waitpid(process_, nullptr, WUNTRACED);
  while (read_more(500)) {  // what the terminal still has
  }
  return std::exchange(shown_, "");
}

void PseudoTerminal::go_on() { ::kill(process_, SIGCONT); }

int PseudoTerminal::exit_code() {
  while (read_more(kPatience)) {
  }
  int status = 0;
  ::waitpid(process_, &status, 0);
  process_ = -1;
  if (!WIFEXITED(status))
    throw std::runtime_error("gradus was killed by signal " + std::to_string(WTERMSIG(status)));
  return WEXITSTATUS(status);
}

}  // namespace gradus::cli
