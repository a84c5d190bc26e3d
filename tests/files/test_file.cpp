#include "gradus/files/file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ostream>

#include "autograd/compare.hpp"
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

}  // namespace gradus::test_file
