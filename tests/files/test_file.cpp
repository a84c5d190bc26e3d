#include "gradus/files/file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ostream>

#include "autograd/compare.hpp"
#include "machine.hpp"
#include "temporary_folder.hpp"

namespace gradus::test_file {

using namespace gradus::files;
using namespace testing;

namespace fs = std::filesystem;

TEST_CASE("a file is replaced as a whole and no temporary one stays") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder / "state";
  write_atomically(path, [](std::ostream& out) { out << "old"; });
  CHECK(read(path) == "old");
  const std::string large(300'000, 'x');
  write_atomically(path, [&](std::ostream& out) { out << "a" << large << 'b' << 12; });
  CHECK(read(path) == "a" + large + "b12");
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a link in the place of a file or of its temporary one is replaced, not written through") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder / "state", mine = folder / "mine";
  for (const bool symbolic : {true, false})
    for (const fs::path& link : {path, fs::path(path.string() + ".tmp")}) {
      INFO(link << (symbolic ? " symbolic" : " hard"));
      fs::remove(path);
      write_atomically(mine, [](std::ostream& out) { out << "mine"; });
      symbolic ? fs::create_symlink(mine, link) : fs::create_hard_link(mine, link);
      write_atomically(path, [](std::ostream& out) { out << "new"; });
      CHECK(read(mine) == "mine");
      CHECK(read(path) == "new");
      CHECK_FALSE(fs::is_symlink(path));
    }
  fs::remove(path);
  fs::create_symlink(mine, path);
  CHECK_THROWS_AS(AppendedFile(path), RunError);
}

TEST_CASE("a file that is written character by character has them all") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder / "state";
  std::string letters;
  for (int i = 0; i < 200'000; ++i) letters += static_cast<char>('a' + i % 23);
  write_atomically(path, [&](std::ostream& out) {
    for (const char letter : letters) out.put(letter);
  });
  CHECK((read(path) == letters));
}

TEST_CASE("a file is closed where it gets the descriptor that standard input had") {
  const testing::TemporaryFolder folder;
  const int input = ::dup(0);
  ::close(0);
  const auto fails = [](std::ostream&) { fail("test", "stops here."); };
  const std::string error = error_of([&] { write_atomically(folder / "state", fails); });
  const bool open = ::fcntl(0, F_GETFD) != -1;
  if (input >= 0) {
    ::dup2(input, 0);
    ::close(input);
  }
  CHECK(error == "[test] stops here.");
  CHECK_FALSE(open);
}

TEST_CASE("a writer that throws leaves the old file and nothing else") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder / "state";
  write_atomically(path, [](std::ostream& out) { out << "old"; });
  CHECK_THROWS_WITH(write_atomically(path,
                                     [](std::ostream& out) {
                                       out << std::string(100'000, 'x');
                                       fail("test", "stops here.");
                                     }),
                    "[test] stops here.");
  CHECK(read(path) == "old");
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("what the system refuses is a RunError with path and reason") {
  const testing::TemporaryFolder folder;
  const auto write = [](const fs::path& path) {
    write_atomically(path, [](std::ostream& out) { out << "x"; });
  };
  const fs::path missing = folder / "none" / "state";
  CHECK_THROWS_AS(write(missing), RunError);
  CHECK_THROWS_WITH(write(missing),
                    concat("[file] cannot open ", missing.string(), ".tmp: No such file or directory."));
  const fs::path taken = folder / "taken";
  fs::create_directory(taken);
  CHECK_THROWS_WITH(write(taken), concat("[file] cannot replace ", taken.string(), ": Is a directory."));
  CHECK_FALSE(fs::exists(folder / "taken.tmp"));
}

TEST_CASE("a file that has no more room is a RunError and leaves the old file") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder / "state";
  write_atomically(path, [](std::ostream& out) { out << "old"; });
  rlimit before = {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto ignored = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit little = {100'000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &little);
  const std::string error =
      error_of([&] { write_atomically(path, [](std::ostream& out) { out << std::string(200'000, 'x'); }); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, ignored);
  CHECK(error == concat("[file] cannot write ", (folder / "state.tmp").string(), ": File too large."));
  CHECK(read(path) == "old");
}

TEST_CASE("read says why it cannot") {
  const testing::TemporaryFolder folder;
  const std::string path = (folder / "none").string();
  CHECK_THROWS_WITH(read(path), concat("[file] cannot read ", path, ": No such file or directory."));
  CHECK_THROWS_WITH(read(folder.path()),
                    concat("[file] cannot read ", folder.path().string(), ": it is a folder."));
}

// -- a pipe is read to its end, and nothing waits for ever

std::string reason(const fs::path& path) {
  try {
    (void)read_input(path);
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
  CHECK(read_input(folder / "text") == text);
  std::ofstream(folder / "empty");
  CHECK(read_input(folder / "empty").empty());
}

TEST_CASE("a program that was started without an input may read a file as its descriptor 0") {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "text") << "text";
  const int kept = ::dup(STDIN_FILENO);
  ::close(STDIN_FILENO);
  const std::string read = read_input(folder / "text");
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

TEST_CASE("the folder above a link is that above its target") {
  const testing::TemporaryFolder folder;
  fs::create_directories(folder / "a/b");
  fs::create_directory_symlink("a/b", folder / "link");
  CHECK(absolute_path(folder / "link/../x/") == fs::canonical(folder / "a") / "x");
  CHECK(absolute_path(folder / "x/./y//") == folder / "x/y");
  CHECK(absolute_path(folder / "a/../link") == fs::canonical(folder.path()) / "link");
  CHECK(absolute_path("/") == "/");
}

TEST_CASE("a shell's pipe is read to its end, however late the bytes come") {
  if (!testing::machine_has("/dev/fd/0")) return;
  Pipe pipe;
  REQUIRE(::write(pipe.writer(), "first ", 6) == 6);
  std::thread writer([&] {
    ::usleep(50'000);
    if (::write(pipe.writer(), "last", 4) == 4) pipe.close_writer();
  });
  CHECK(read_input(pipe.path()) == "first last");
  writer.join();
  Pipe empty;
  empty.close_writer();
  CHECK(read_input(empty.path()).empty());
}

TEST_CASE("a named pipe is read when somebody writes to it, and refused when nobody does") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  {
    std::thread writer([&] { std::ofstream(path) << "text"; });  // Its open waits for the reader's.
    CHECK(read_input(path) == "text");
    writer.join();
  }
  CHECK(reason(path) == "it is a pipe that no program writes to");
}

void put(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

std::string read_at(const StableFile& file, int64_t offset, int64_t count) {
  std::string bytes(static_cast<size_t>(count), '\0');
  file.read(offset, bytes.data(), count);
  return bytes;
}

// -- StableFile

TEST_CASE("a file is read here and there") {
  const testing::TemporaryFolder folder;
  put(folder / "f", "0123456789");
  const StableFile file(folder / "f");
  CHECK(file.size() == 10);
  CHECK(read_at(file, 3, 4) == "3456");
  CHECK(read_at(file, 0, 10) == "0123456789");
  CHECK(read_at(file, 10, 0).empty());
}

TEST_CASE("a file is itself, and not what stands in its place") {
  const testing::TemporaryFolder folder;
  put(folder / "f", "same");
  const StableFile file(folder / "f");
  CHECK(file.is(StableFile(folder / "f")));
  for (int i = 0; i < 5; ++i) {  // whose inode would be used again
    put(folder / "g", "same");
    fs::rename(folder / "g", folder / "f");
    CHECK_FALSE(file.is(StableFile(folder / "f")));
  }
}

TEST_CASE("a file that is replaced is read as it was; one that is written to or cut short is an error") {
  const testing::TemporaryFolder folder;
  put(folder / "f", std::string(100'000, 'a'));
  const StableFile file(folder / "f");
  put(folder / "other", "b");
  fs::rename(folder / "other", folder / "f");
  CHECK(read_at(file, 99'999, 1) == "a");

  put(folder / "cut", std::string(100'000, 'a'));
  const StableFile cut(folder / "cut");
  fs::resize_file(folder / "cut", 10);
  for (const int64_t offset : {5, 8, 50'000}) {
    CHECK_THROWS_AS(read_at(cut, offset, 5), ReadFailed);
    CHECK_THROWS_WITH(
        read_at(cut, offset, 5),
        ContainsSubstring((folder / "cut").string()) &&
            ContainsSubstring("must stay as it is while it is read, got one that was written to "
                              "while the run read it, of 10 bytes where it had 100000."));
  }

  put(folder / "new", "aaaa");
  fs::last_write_time(folder / "new", fs::file_time_type::clock::now() - std::chrono::hours(1));
  const StableFile changed(folder / "new");
  CHECK(read_at(changed, 0, 4) == "aaaa");
  put(folder / "new", "bbbb");
  CHECK_THROWS_AS(read_at(changed, 0, 4), ReadFailed);
  CHECK_THROWS_WITH(read_at(changed, 0, 4),
                    Catch::Matchers::EndsWith(" was written to while the run read it."));
}

TEST_CASE("what is no file is refused without waiting") {
  const testing::TemporaryFolder folder;
  CHECK_THROWS_WITH(StableFile(folder / "none"), ContainsSubstring("No such file or directory"));
  CHECK_THROWS_WITH(StableFile(folder.path()), ContainsSubstring("it is a folder"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(StableFile(folder / "pipe"), ContainsSubstring("it is a pipe or a device"));
  CHECK_THROWS_AS(StableFile("/dev/null"), Unreadable);
}

}  // namespace gradus::test_file
