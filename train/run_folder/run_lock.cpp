#include "gradus/train/run_folder/run_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "gradus/files/error.hpp"

namespace gradus::train {
namespace {

namespace fs = std::filesystem;

/// Returns 0, or errno if the lock is not free.
int try_lock(int descriptor) {
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  // A lock of the open file, not of the process: closing another descriptor does not end it.
  while (::fcntl(descriptor, F_OFD_SETLK, &whole) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

std::string holder_of(int descriptor) {
  std::array<char, 200> text;
  const ssize_t size = ::pread(descriptor, text.data(), text.size(), 0);
  return size > 0 ? std::string(text.data(), static_cast<size_t>(size)) : "another process";
}

std::string this_process() {
  std::array<char, 128> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return concat("process ", ::getpid(), " on ", host.data());
}

bool is_unknown_here(int reason) {
  return reason == ENOLCK || reason == ENOSYS || reason == EOPNOTSUPP || reason == EINVAL;
}

}  // namespace

RunLock::RunLock(const fs::path& folder)
    : folder_(folder),
      file_(folder / kFile),
      descriptor_(::open(file_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666)) {
  const int unopened = descriptor_ < 0 ? errno : 0;
  const int reason = unopened ? unopened : try_lock(descriptor_);
  if (reason == 0) {
    name_holder(this_process());
    return;
  }
  if (!unopened && is_unknown_here(reason)) {
    warning_ = concat("the file system of ", folder.string(), " has no locks (", std::strerror(reason),
                      "): start no second run there");
    return;
  }
  if (unopened == ELOOP)
    fail("train", file_.string(), " must be a file, got a symbolic link. Hint: remove it.");
  const std::string holder = unopened ? "" : holder_of(descriptor_);
  if (!unopened) ::close(descriptor_);
  if (!unopened && (reason == EAGAIN || reason == EACCES))
    fail("train", "a folder must be written by one run at a time, got ", folder.string(), ", where ", holder,
         " trains. Hint: wait for it or stop it, or take another ", Option{"out"}, ".");
  throw RunError("[run] cannot lock ", file_.string(), ": ", std::strerror(reason), ".");
}

RunLock::~RunLock() {
  name_holder("");
  ::close(descriptor_);
}

void RunLock::name_holder(const std::string& holder) const {
  struct stat status = {};
  // A file with a second name belongs to another program. The name is only for messages.
  if (::fstat(descriptor_, &status) == 0 && status.st_nlink == 1 && ::ftruncate(descriptor_, 0) == 0)
    (void)!::pwrite(descriptor_, holder.data(), holder.size(), 0);
}

void RunLock::check() const {
  struct stat locked = {}, found = {};
  if (::fstat(descriptor_, &locked) == 0 && ::stat(file_.c_str(), &found) == 0 &&
      locked.st_dev == found.st_dev && locked.st_ino == found.st_ino)
    return;
  throw RunError("[run] ", folder_.string(),
                 " must stay in its place while a run trains there, got one that was removed, moved "
                 "or replaced.");
}

}  // namespace gradus::train
