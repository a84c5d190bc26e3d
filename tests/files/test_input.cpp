// Texts that are no regular files: a pipe is read to its end, and nothing waits for ever.
#include "gradus/files/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catch.hpp"
#include "machine.hpp"
#include "temporary_folder.hpp"

namespace gradus::test_input {

using namespace gradus::files;

namespace fs = std::filesystem;

std::string reason(const fs::path& path) {
  try {
    Input(path).read_all();
  } catch (const Unreadable& e) {
    return e.reason();
  }
  return "";
}

/// What stands behind a shell's <(command).
class Pipe {
 public:
  Pipe() { REQUIRE(::pipe(ends_) == 0); }
  ~Pipe() {
    ::close(ends_[0]);
    close_writer();
  }
  int writer() const { return ends_[1]; }
  void close_writer() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  fs::path path() const { return "/dev/fd/" + std::to_string(ends_[0]); }

 private:
  int ends_[2];
};

TEST_CASE("a file is read to its end") {
  const testing::TemporaryFolder folder;
  const std::string text(200'000, 'x');
  std::ofstream(folder / "text") << text;
  CHECK(Input(folder / "text").read_all() == text);
  std::ofstream(folder / "empty");
  CHECK(Input(folder / "empty").read_all().empty());
}

TEST_CASE("a program that was started without an input may read a file as its descriptor 0") {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "text") << "text";
  const int kept = ::dup(STDIN_FILENO);
  ::close(STDIN_FILENO);
  const std::string read = Input(folder / "text").read_all();
  if (kept >= 0) {
    ::dup2(kept, STDIN_FILENO);
    ::close(kept);
  }
  CHECK(read == "text");
}

TEST_CASE("what has no end or no bytes is refused with its reason") {
  const testing::TemporaryFolder folder;
  CHECK(reason(folder / "none") == "No such file or directory");
  CHECK(reason(folder.path()) == "it is a folder");
  CHECK(reason("/dev/zero") == "it is a device");
}

TEST_CASE("what a folder has must be an ordinary file") {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "text") << "text";
  CHECK(read(folder / "text") == "text");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("/dev/zero", folder / "zero");
  for (const char* name : {"pipe", "zero"}) {
    INFO(name);
    CHECK_THROWS_AS(read(folder / name), Unreadable);
    CHECK_THROWS_AS(AppendedFile(folder / name), RunError);
  }
}

TEST_CASE("a file of others is not replaced unasked") {
  const testing::TemporaryFolder folder;
  const auto is_refused = [&](const fs::path& path) {
    try {
      check_replaceable("op", "--out", path, [](std::string_view text) { return text.starts_with("ours"); });
    } catch (const Error& e) {
      return std::string(e.what()).find("must be a new file or an earlier one of its kind") !=
             std::string::npos;
    }
    return false;
  };
  std::ofstream(folder / "ours") << "ours, longer";
  std::ofstream(folder / "theirs") << "theirs";
  std::ofstream(folder / "empty");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("nothing", folder / "link");
  for (const char* name : {"new", "ours"}) CHECK_FALSE(is_refused(folder / name));
  for (const char* name : {"theirs", "empty", "pipe", "link", "."}) CHECK(is_refused(folder / name));
}

TEST_CASE("a shell's pipe is read to its end, however late the bytes come") {
  if (!testing::machine_has("/dev/fd/0")) return;
  Pipe pipe;
  REQUIRE(::write(pipe.writer(), "first ", 6) == 6);
  std::thread writer([&] {
    ::usleep(50'000);
    if (::write(pipe.writer(), "last", 4) == 4) pipe.close_writer();
  });
  CHECK(Input(pipe.path()).read_all() == "first last");
  writer.join();
}

TEST_CASE("a shell's pipe that nothing came through is empty") {
  if (!testing::machine_has("/dev/fd/0")) return;
  Pipe pipe;
  pipe.close_writer();
  CHECK(Input(pipe.path()).read_all().empty());
}

TEST_CASE("a named pipe is read when somebody writes to it, and refused when nobody does") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  {
    std::thread writer([&] { std::ofstream(path) << "text"; });  // Its open waits for the reader's.
    CHECK(Input(path).read_all() == "text");
    writer.join();
  }
  CHECK(reason(path) == "it is a pipe that no program writes to");
}

}  // namespace gradus::test_input
