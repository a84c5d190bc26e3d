#include "gradus/files/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ostream>
#include <streambuf>
#include <utility>

#include "gradus/autograd/error.hpp"
#include "gradus/files/input.hpp"

namespace gradus::files {
namespace {

[[noreturn]] void give_up(const std::string& what, const std::filesystem::path& path) {
  const int reason = errno;
  throw RunError(concat("[file] cannot ", what, " ", path.string(), ": ", std::strerror(reason), "."));
}

// A stream buffer on a file descriptor: std::ofstream can neither fsync nor say why a write failed.
class FileBuffer : public std::streambuf {
 public:
  FileBuffer(const std::filesystem::path& path, int flags)
      : path_(path), fd_(open(path.c_str(), flags, 0666)) {
    if (fd_ < 0) give_up("open", path_);
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }
  ~FileBuffer() override {
    if (fd_ >= 0) ::close(fd_);
  }
  FileBuffer(const FileBuffer&) = delete;
  FileBuffer& operator=(const FileBuffer&) = delete;

  void finish() {
    flush();
    if (fsync(fd_) != 0) give_up("write", path_);
    if (::close(std::exchange(fd_, -1)) != 0) give_up("write", path_);
  }

 protected:
  int_type overflow(int_type c) override {
    flush();
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      *pptr() = traits_type::to_char_type(c);
      pbump(1);
    }
    return traits_type::not_eof(c);
  }

  std::streamsize xsputn(const char* bytes, std::streamsize n) override {
    if (n <= epptr() - pptr()) {
      std::memcpy(pptr(), bytes, static_cast<size_t>(n));
      pbump(static_cast<int>(n));
    } else {
      flush();
      put(bytes, static_cast<size_t>(n));
    }
    return n;
  }

  int sync() override {
    flush();
    return 0;
  }

 private:
  void flush() {
    const auto n = static_cast<size_t>(pptr() - pbase());
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    put(buffer_.data(), n);
  }

  void put(const char* bytes, size_t n) {
    while (n > 0) {
      const ssize_t done = ::write(fd_, bytes, n);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) give_up("write", path_);
      bytes += done;
      n -= static_cast<size_t>(done);
    }
  }

  std::filesystem::path path_;
  int fd_;
  std::array<char, 1 << 16> buffer_;
};

// A rename survives a power cut only once the folder that holds the name is on disk.
void sync_folder(const std::filesystem::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) give_up("open", folder);
  const int result = fsync(fd);
  const int reason = errno;
  ::close(fd);
  errno = reason;
  // Some file systems cannot fsync a folder and say so with EINVAL; there is no more that can be done there.
  if (result != 0 && reason != EINVAL) give_up("write", folder);
}

}  // namespace

void write_atomically(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write) {
  const std::filesystem::path temporary = path.string() + ".tmp";
  FileBuffer buffer(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
  try {
    std::ostream stream(&buffer);
    stream.exceptions(std::ios::badbit | std::ios::failbit);  // else the buffer's RunError would be swallowed
    write(stream);
    buffer.finish();
    if (std::rename(temporary.c_str(), path.c_str()) != 0) give_up("replace", path);
  } catch (...) {
    unlink(temporary.c_str());
    throw;
  }
  const std::filesystem::path folder = path.parent_path();
  sync_folder(folder.empty() ? "." : folder);
}

std::string read(const std::filesystem::path& path) { return Input(path).read_all(); }

}  // namespace gradus::files
