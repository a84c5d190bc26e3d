#include "gradus/files/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "catch.hpp"
#include "temporary_folder.hpp"

namespace gradus::test_stable_file {

using namespace gradus::files;
using namespace std::chrono_literals;

void write(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

std::string read_at(const StableFile& file, int64_t offset, int64_t count) {
  std::string bytes(static_cast<size_t>(count), '\0');
  file.read(offset, bytes.data(), count);
  return bytes;
}

TEST_CASE("a file is read here and there") {
  const testing::TemporaryFolder folder;
  write(folder / "f", "0123456789");
  const StableFile file(folder / "f");
  CHECK(file.size() == 10);
  CHECK(read_at(file, 3, 4) == "3456");
  CHECK(read_at(file, 0, 10) == "0123456789");
  CHECK(read_at(file, 10, 0).empty());
}

TEST_CASE("a file is itself, and not what stands in its place") {
  const testing::TemporaryFolder folder;
  write(folder / "f", "same");
  const StableFile file(folder / "f");
  CHECK(file.is(StableFile(folder / "f")));
  for (int i = 0; i < 5; ++i) {  // whose inode would be used again
    write(folder / "g", "same");
    std::filesystem::rename(folder / "g", folder / "f");
    CHECK_FALSE(file.is(StableFile(folder / "f")));
  }
}

TEST_CASE("a file that is replaced is read as it was; one that is written to or cut short is an error") {
  const testing::TemporaryFolder folder;
  write(folder / "f", std::string(100'000, 'a'));
  const StableFile file(folder / "f");
  write(folder / "other", "b");
  std::filesystem::rename(folder / "other", folder / "f");
  CHECK(read_at(file, 99'999, 1) == "a");

  write(folder / "cut", std::string(100'000, 'a'));
  const StableFile cut(folder / "cut");
  std::filesystem::resize_file(folder / "cut", 10);
  for (const int64_t offset : {5, 8, 50'000}) {
    CHECK_THROWS_AS(read_at(cut, offset, 5), ReadFailed);
    CHECK_THROWS_WITH(
        read_at(cut, offset, 5),
        ContainsSubstring((folder / "cut").string()) &&
            ContainsSubstring("must stay as it is while it is read, got one that was written to "
                              "while the run read it, of 10 bytes where it had 100000."));
  }

  write(folder / "new", "aaaa");
  std::filesystem::last_write_time(folder / "new", std::filesystem::file_time_type::clock::now() - 1h);
  const StableFile changed(folder / "new");
  CHECK(read_at(changed, 0, 4) == "aaaa");
  write(folder / "new", "bbbb");
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

}  // namespace gradus::test_stable_file
