// Folders with checksums: files that take their places together, and what readers find in between.
#include "gradus/files/folder.hpp"

#include <sys/stat.h>

#include "autograd/compare.hpp"
#include "gradus/files/hashes.hpp"
#include "temporary_folder.hpp"

namespace gradus::test_folder {

using namespace gradus::files;
using namespace testing;

namespace fs = std::filesystem;

/// A folder with two files, one of them in parts.
struct Folder {
  testing::TemporaryFolder temporary;
  fs::path path = temporary.path();

  Checksums update(const std::string& text, const std::string& values, const Checksums& kept = {}) const {
    FolderUpdate update(path, kept);
    update.write("text", text);
    update.write("values", [&](StagedFile& file) {
      file << "head";
      file.end_part("the header");
      file << values;
      file.end_part("weight");
    });
    return update.commit();
  }
  std::string text() const {
    return read_folder(path, [](const FolderSnapshot& files) {
      files.verify_all();
      return files.text("text");
    });
  }
};

void overwrite(const fs::path& file, const std::string& bytes) {
  write_atomically(file, [&](std::ostream& out) { out << bytes; });
}

void write_both(const fs::path& folder, const std::string& text) {
  FolderUpdate update(folder);
  update.write("a", text);
  update.write("b", text + text);
  update.commit();
}

std::string read_checked(const fs::path& folder, const std::string& name) {
  return read_folder(folder, [&](const FolderSnapshot& files) { return files.text(name); });
}

TEST_CASE("an update leaves its files and a list that describes them") {
  const Folder folder;
  const Checksums sums = folder.update("one", "1234");
  CHECK(folder.text() == "one");
  CHECK(read(folder.path / kChecksumList) == to_text(sums));
  CHECK(checksums_from_text(to_text(sums), "list") == sums);
  CHECK(sums.at("text").crc32 == crc32("one"));
  CHECK(
      sums.at("values") ==
      FileChecksum{crc32("head1234"), {{"the header", 4, crc32("head")}, {"weight", 8, crc32("head1234")}}});
  FolderUpdate second(folder.path, sums);
  second.write("text", "two");
  second.commit();
  CHECK(folder.text() == "two");
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 3);
}

TEST_CASE("every flipped bit is named, with the part where it is one") {
  const Folder folder;
  folder.update("one", "1234");
  for (const std::string name : {"text", "values", kChecksumList}) {
    const std::string good = read(folder.path / name);
    for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
      overwrite(folder.path / name, bad);
      const std::string where = name != "values" ? "" : bit < 32 ? " in the header" : " in weight";
      const std::string expected = name == kChecksumList
                                       ? " must be the list that was saved, got another."
                                       : " must have the bytes that were saved, got others" + where + ".";
      CHECK_THAT(error_of([&] { folder.text(); }),
                 Catch::Matchers::StartsWith("[checksum] " + (folder.path / name).string() + expected));
    }
    for (const std::string& bad : {good + '\0', good + "\n", good.substr(0, good.size() - 1)}) {
      overwrite(folder.path / name, bad);
      CHECK_HAS(error_of([&] { folder.text(); }), name);
    }
    overwrite(folder.path / name, good);
  }
  CHECK(folder.text() == "one");
}

TEST_CASE("a reader is not misled by an update that stands between its renames") {
  const Folder folder;
  const Checksums sums = folder.update("one", "1234");
  const std::string old_list = read(folder.path / kChecksumList);
  folder.update("two", "1234", sums);
  const std::string new_list = read(folder.path / kChecksumList);
  std::ofstream(folder.path / kChecksumList) << old_list;
  std::ofstream(folder.path / "checksums.sfv.tmp") << new_list;
  std::ofstream(folder.path / "text") << "one";
  int readings = 0;
  const std::string text = read_folder(folder.path, [&](const FolderSnapshot& files) {
    // Both lists stay as they are, while the file is put in its place.
    if (++readings == 1) std::ofstream(folder.path / "text") << "two";
    return files.text("text");
  });
  CHECK(readings == 2);
  CHECK(text == "two");
}

TEST_CASE("a folder without a list is read as it is, and a file that is missing is named") {
  const Folder folder;
  folder.update("one", "1234");
  fs::remove(folder.path / "values");
  CHECK_HAS(error_of([&] { folder.text(); }), "values must be there");
  fs::remove(folder.path / kChecksumList);
  overwrite(folder.path / "text", "changed");
  CHECK(folder.text() == "changed");
  fs::remove(folder.path / "text");
  fs::create_symlink("nowhere", folder.path / "text");
  CHECK(read_folder(folder.path, [](const FolderSnapshot& files) { return files.has("text"); }));
  CHECK_HAS(error_of([&] { folder.text(); }), "cannot read");
}

TEST_CASE("a reader tries again when files are replaced under its hands") {
  const Folder folder;
  const Checksums sums = folder.update("one", "1234");
  int readings = 0;
  const std::string both = read_folder(folder.path, [&](const FolderSnapshot& files) {
    const std::string text = files.text("text");
    if (++readings == 1) folder.update("two", "5678", sums);
    return text + read(folder.path / "values") + (files.verify_all(), "");
  });
  CHECK(readings == 2);
  CHECK(both == "twohead5678");
}

TEST_CASE("a list may not lead out of its folder") {
  const Checksums sums = {{"../secret", {crc32("x"), {}}}};
  CHECK_THAT(error_of([&] { checksums_from_text(to_text(sums), "list"); }),
             Catch::Matchers::StartsWith("[checksum] list must be the list that was saved, got another."));
}

TEST_CASE("a pipe in the place of a file is refused and not waited for") {
  const testing::TemporaryFolder folder;
  const FolderSnapshot snapshot(folder.path(), Checksums{{"pipe", {}}});
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(testing::error_of([&] { snapshot.verify_all(); }) ==
        concat("[checksum] ", (folder / "pipe").string(), " must be a file, got something else."));
}

TEST_CASE("an update that the disk cuts off leaves files that can be read, and so does the next one") {
  const testing::TemporaryFolder folder;
  write_both(folder.path(), "old");
  FolderUpdate update(folder.path());
  update.write("a", "new");
  update.write("b", "newer");
  fs::remove(folder / "b.tmp");  // which then cannot be put in its place
  CHECK_THROWS_AS(update.commit(), RunError);
  CHECK(read_checked(folder.path(), "a") == "new");
  CHECK(read_checked(folder.path(), "b") == "oldold");

  const ChecksumLists lists(folder.path());
  FolderUpdate next(folder.path(), *lists.snapshot().checksums());
  next.write("b", "newest");
  next.commit();
  CHECK(read_checked(folder.path(), "a") == "new");
  CHECK(read_checked(folder.path(), "b") == "newest");
  CHECK_FALSE(fs::exists(folder / kStagedChecksumList));
}

TEST_CASE("a reader knows that a list has changed, the staged one or the one in its place") {
  const testing::TemporaryFolder folder;
  write_both(folder.path(), "old");
  const ChecksumLists before(folder.path());
  CHECK(before.still_hold({}));
  write_atomically(folder / kStagedChecksumList, [](std::ostream& out) { out << "staged"; });
  CHECK_FALSE(before.still_hold({}));
  fs::remove(folder / kStagedChecksumList);
  CHECK(before.still_hold({}));
  write_atomically(folder / kChecksumList, [](std::ostream& out) { out << "other"; });
  CHECK_FALSE(before.still_hold({}));
}

TEST_CASE("a folder that was replaced by another, and by its like again, while it was read, is read anew") {
  const testing::TemporaryFolder folder;
  write_both(folder.path(), "one");
  int attempts = 0;
  const std::string text = read_folder(folder.path(), [&](const FolderSnapshot& files) {
    if (++attempts > 1) return files.text("a");
    write_both(folder.path(), "two");
    const std::string refusal = testing::error_of([&] { (void)files.text("a"); });
    write_both(folder.path(), "one");
    throw Error(refusal);
  });
  CHECK(text == "one");
  CHECK(attempts == 2);
}

}  // namespace gradus::test_folder
