#include "gradus/files/file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <streambuf>

#include "gradus/files/hashes.hpp"

namespace gradus::files {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void give_up(const std::string& what, const fs::path& path) {
  const int reason = errno;
  throw RunError("[file] cannot ", what, " ", path.string(), ": ", std::strerror(reason), ".");
}

/// Repeats `call` while a signal interrupts it.
template <class F>
auto uninterrupted(F&& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

Descriptor open_file(const fs::path& path, int flags) {
  Descriptor descriptor(uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); }));
  if (descriptor < 0) give_up("open", path);
  return descriptor;
}

/// Replaces a file or link of this name; does not write through a link.
Descriptor open_new(const fs::path& path) {
  uninterrupted([&] { return ::unlink(path.c_str()); });
  return open_file(path, O_WRONLY | O_CREAT | O_EXCL);
}

void write_all(int descriptor, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t done = uninterrupted([&] { return ::write(descriptor, bytes.data(), bytes.size()); });
    if (done < 0) give_up("write", path);
    bytes.remove_prefix(static_cast<size_t>(done));
  }
}

/// Opens a file to read it. O_NONBLOCK: does not wait for a writer of a named pipe.
Descriptor open_to_read(const fs::path& path, struct stat& status) {
  Descriptor descriptor(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }));
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0)
    throw Unreadable(path.string(), std::strerror(errno));
  return descriptor;
}

int64_t modified(const struct stat& status) {
  return int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

constexpr int kWriterTimeout = 3000;  // ms, for a program to open a named pipe for writing

constexpr const char* kStandardInput = "the standard input";

/// All bytes up to the end; `name` is for errors. `waits` for a writer of a named pipe, not forever.
std::string read_all(int descriptor, const std::string& name, bool waits) {
  // Whether bytes arrive, or a writer closes the pipe, within that time; -1: no limit.
  const auto wait = [&](int milliseconds) {
    pollfd poll{descriptor, POLLIN, 0};
    int ready;
    do ready = ::poll(&poll, 1, milliseconds);
    while (ready < 0 && errno == EINTR);
    return ready > 0;
  };
  std::string text;
  std::vector<char> buffer(1 << 16);
  bool has_writer = !waits, waited = false;
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count > 0) {
      text.append(buffer.data(), static_cast<size_t>(count));
      has_writer = true;
    } else if (count < 0 && errno == EAGAIN) {  // A writer has it open.
      has_writer = true;
      wait(-1);
    } else if (count < 0 && errno != EINTR) {
      throw Unreadable(name, std::strerror(errno));
    } else if (count == 0 && has_writer) {
      return text;
    } else if (count == 0) {
      if (waited) throw Unreadable(name, "it is a pipe that no program writes to");
      has_writer = wait(kWriterTimeout);
      waited = true;
    }
  }
}

std::string read_bytes(const fs::path& path, bool takes_pipes) {
  struct stat status {};
  const Descriptor descriptor = open_to_read(path, status);
  const bool is_pipe = S_ISFIFO(status.st_mode), is_regular = S_ISREG(status.st_mode);
  if (!is_regular && !is_pipe && ::isatty(descriptor) == 0)
    throw Unreadable(path.string(), S_ISDIR(status.st_mode) ? "it is a folder" : "it is a device");
  if (!is_regular && !takes_pipes) throw Unreadable(path.string(), "it is a pipe or a device");
  return read_all(descriptor, path.string(), is_pipe);
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

// A stream buffer on a file descriptor, because std::ofstream has no fsync and hides why a write failed.
class StagedFile::Buffer : public std::streambuf {
 public:
  explicit Buffer(const fs::path& path) : path_(path), descriptor_(open_new(path)) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }

  const fs::path& path() const { return path_; }
  const FileChecksum& checksum() const { return checksum_; }

  void end_part(std::string name) {
    flush();
    checksum_.parts.push_back({std::move(name), size_, checksum_.crc32});
  }

  void finish() {
    flush();
    if (uninterrupted([&] { return ::fsync(descriptor_); }) != 0) give_up("write", path_);
    // All bytes are on disk, and an interrupted close() has closed the file.
    if (::close(descriptor_.release()) != 0 && errno != EINTR) give_up("write", path_);
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
      put({bytes, static_cast<size_t>(n)});
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
    put({buffer_.data(), n});
  }

  void put(std::string_view bytes) {
    checksum_.crc32 = crc32(bytes, checksum_.crc32);
    size_ += bytes.size();
    write_all(descriptor_, bytes, path_);
  }

  fs::path path_;
  Descriptor descriptor_;
  FileChecksum checksum_;
  uint64_t size_ = 0;
  std::array<char, 1 << 16> buffer_;
};

StagedFile::StagedFile(fs::path path)
    : std::ostream(nullptr),
      path_(std::move(path)),
      buffer_(std::make_unique<Buffer>(path_.string() + ".tmp")) {
  rdbuf(buffer_.get());
  exceptions(std::ios::badbit | std::ios::failbit);  // else the stream would hide the buffer's RunError
}

StagedFile::~StagedFile() {
  if (!in_place_) ::unlink(buffer_->path().c_str());
}

void StagedFile::end_part(std::string name) { buffer_->end_part(std::move(name)); }
void StagedFile::finish() { buffer_->finish(); }
const FileChecksum& StagedFile::checksum() const { return buffer_->checksum(); }
const fs::path& StagedFile::temporary() const { return buffer_->path(); }

void StagedFile::put_in_place() {
  replace(buffer_->path(), path_);
  in_place_ = true;
}

void replace(const fs::path& from, const fs::path& to) {
  if (uninterrupted([&] { return std::rename(from.c_str(), to.c_str()); }) != 0) give_up("replace", to);
}

void write_atomically(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  StagedFile file(path);
  write(file);
  file.finish();
  file.put_in_place();
  sync_folder(path.parent_path());
}

void sync_folder(const fs::path& folder) {
  const fs::path path = folder.empty() ? "." : folder;
  const Descriptor descriptor = open_file(path, O_RDONLY | O_DIRECTORY);
  // Some file systems cannot fsync a folder and return EINVAL.
  if (uninterrupted([&] { return ::fsync(descriptor); }) != 0 && errno != EINVAL) give_up("write", path);
}

void make_folders(const fs::path& folder) {
  std::error_code ignored;
  const fs::path path = folder.has_filename() ? folder : folder.parent_path();  // "a/" is "a"
  if (path.empty() || fs::exists(path, ignored)) return;
  make_folders(path.parent_path());
  const int made = uninterrupted([&] { return ::mkdir(path.c_str(), 0777); });
  if (made != 0 && errno != EEXIST) give_up("make", path);
  sync_folder(path.parent_path());
}

fs::path absolute_path(const fs::path& path) {
  fs::path whole;
  for (const fs::path& part : fs::absolute(path))
    if (part == "..")  // above the target of a link
      whole = fs::weakly_canonical(whole).parent_path();
    else
      whole /= part;
  whole = whole.lexically_normal();
  return whole.has_filename() || !whole.has_relative_path() ? whole : whole.parent_path();
}

AppendedFile::AppendedFile(fs::path path)  // O_NONBLOCK: does not wait for a reader of a named pipe
    : path_(std::move(path)),
      descriptor_(open_file(path_, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK)) {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode))
    throw RunError("[file] cannot write ", path_.string(), ": it is a pipe or a device.");
}
void AppendedFile::add(std::string_view bytes) { write_all(descriptor_, bytes, path_); }

std::string read_input(const fs::path& path) { return read_bytes(path, /*takes_pipes=*/true); }

std::string read_standard_input() { return read_all(STDIN_FILENO, kStandardInput, /*waits=*/false); }

std::optional<std::string> read_standard_line() {
  std::string line;
  for (int c = std::fgetc(stdin); c != EOF; c = std::fgetc(stdin)) {
    if (c == '\n') return line;
    line += static_cast<char>(c);
  }
  if (std::ferror(stdin)) throw Unreadable(kStandardInput, std::strerror(errno));
  return line.empty() ? std::nullopt : std::optional(line);
}

std::string read(const fs::path& path) { return read_bytes(path, /*takes_pipes=*/false); }

std::string other_file(std::string_view beginning) {
  if (beginning.starts_with("version https://git-lfs"))
    return "a pointer of Git LFS. Hint: git lfs pull fetches the file.";
  if (beginning.starts_with("\x1f\x8b\x08") && beginning.substr(3, 6) != std::string_view("\0\0\0\0\0{", 6))
    return "a file that gzip has packed. Hint: gunzip unpacks it.";
  const size_t first = beginning.find_first_not_of(" \t\r\n");
  if (first != beginning.npos && beginning[first] == '<' && beginning.find('\0') == beginning.npos)
    return "a page of HTML or XML. Hint: a server sent it in place of the file; download the file again.";
  return {};
}

void check_replaceable(std::string_view op, std::string_view flag, const fs::path& path,
                       const std::function<bool(std::string_view)>& is_own) {
  std::error_code ignored;
  if (fs::symlink_status(path, ignored).type() == fs::file_type::not_found) {
    const fs::path folder = path.parent_path();
    if (folder.empty() || fs::is_directory(folder, ignored)) return;
    fail(op, flag, " must be a file in a folder that exists, got ", path, ".");
  }
  std::string beginning(4096, '\0');
  try {
    const StableFile file(path);
    beginning.resize(static_cast<size_t>(std::min<int64_t>(file.size(), std::ssize(beginning))));
    file.read(0, beginning.data(), std::ssize(beginning));
    if (is_own(beginning)) return;
  } catch (const Error&) {  // a folder, a pipe or a device
  }
  fail(op, flag, " must be a new file or an earlier one of its kind, got ", path,
       ", which is something else. Hint: name another.");
}

StableFile::StableFile(fs::path path) : path_(std::move(path)) {
  struct stat status {};
  descriptor_ = open_to_read(path_, status);
  size_ = status.st_size;
  modified_ = modified(status);
  device_ = status.st_dev;
  number_ = status.st_ino;
  if (!S_ISREG(status.st_mode))
    throw Unreadable(path_.string(), S_ISDIR(status.st_mode) ? "it is a folder" : "it is a pipe or a device");
}

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
