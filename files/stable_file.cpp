#include "gradus/files/stable_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "gradus/files/input.hpp"

namespace gradus::files {
namespace {

int64_t modified(const struct stat& status) {
  return int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

}  // namespace

StableFile::StableFile(std::filesystem::path path) : path_(std::move(path)) {
  do descriptor_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // a pipe must not make it wait
  while (descriptor_ < 0 && errno == EINTR);
  struct stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
    const int reason = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    throw Unreadable(path_.string(), std::strerror(reason));
  }
  size_ = status.st_size;
  modified_ = modified(status);
  device_ = status.st_dev;
  number_ = status.st_ino;
  if (S_ISREG(status.st_mode)) return;
  ::close(descriptor_);
  throw Unreadable(path_.string(), S_ISDIR(status.st_mode) ? "it is a folder" : "it is a pipe or a device");
}

StableFile::~StableFile() { ::close(descriptor_); }

void StableFile::read(int64_t offset, void* to, int64_t count) const {
  auto* bytes = static_cast<char*>(to);
  while (count > 0) {
    const ssize_t got = ::pread(descriptor_, bytes, static_cast<size_t>(count), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw ReadFailed(concat("[file] cannot read ", path_, ": ", std::strerror(errno), "."));
    if (got == 0) break;
    bytes += got;
    offset += got;
    count -= got;
  }
  struct stat now {};
  if (::fstat(descriptor_, &now) == 0 && now.st_size == size_ && modified(now) == modified_) return;
  throw ReadFailed(
      concat("[file] ", path_,
             " must stay as it is while it is read, got one that was written to while the run read it",
             now.st_size == size_ ? "" : concat(", of ", now.st_size, " bytes where it had ", size_), "."));
}

}  // namespace gradus::files
