#include "gradus/files/input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace gradus::files {
namespace {

constexpr int kPatience = 3000;  // ms, for somebody to open the other end of a named pipe

}  // namespace

Input::Input(const std::filesystem::path& path) : path_(path.string()) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer for ever.
  do descriptor_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  while (descriptor_ < 0 && errno == EINTR);
  struct stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) refuse(std::strerror(errno));
  is_pipe_ = S_ISFIFO(status.st_mode);
  const bool has_end = S_ISREG(status.st_mode) || is_pipe_ || ::isatty(descriptor_) != 0;
  if (has_end) return;
  ::close(descriptor_);
  refuse(S_ISDIR(status.st_mode) ? "it is a folder" : "it is a device");
}

Input::~Input() { ::close(descriptor_); }

std::string Input::read_all() {
  std::string text;
  std::vector<char> buffer(1 << 16);
  bool has_writer = !is_pipe_, waited = false;
  for (;;) {
    const ssize_t count = ::read(descriptor_, buffer.data(), buffer.size());
    if (count > 0) {
      text.append(buffer.data(), static_cast<size_t>(count));
      has_writer = true;
    } else if (count < 0 && errno == EAGAIN) {  // Somebody has it open to write.
      has_writer = true;
      wait(-1);
    } else if (count < 0 && errno != EINTR) {
      refuse(std::strerror(errno));
    } else if (count == 0 && has_writer) {
      return text;
    } else if (count == 0) {
      if (waited) refuse("it is a pipe that nobody writes to");
      has_writer = wait(kPatience);
      waited = true;
    }
  }
}

/// Whether there are bytes, or there was a writer who wrote none; for -1 ms until it is so.
bool Input::wait(int milliseconds) const {
  pollfd poll{descriptor_, POLLIN, 0};
  return ::poll(&poll, 1, milliseconds) > 0;
}

void Input::refuse(const std::string& why) const { throw Unreadable(path_, why); }

}  // namespace gradus::files
