#include "gradus/files/folder.hpp"

#include <sys/stat.h>

#include "autograd/compare.hpp"
#include "gradus/files/hashes.hpp"
#include "temporary_folder.hpp"

namespace gradus::test_checksums {

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

TEST_CASE("crc32 is that of zip") {
  CHECK(hex32(crc32("")) == "00000000");
  CHECK(hex32(crc32("123456789")) == "cbf43926");  // the check value of the catalogues
  // From zlib.
  CHECK(hex32(crc32(std::string(1000, 'x'))) == "3b41c9e6");
}

TEST_CASE("crc32 of the parts is crc32 of the whole, wherever it is cut") {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += static_cast<char>(i * i);
  for (size_t cut = 0; cut <= bytes.size(); ++cut)
    CHECK(crc32(bytes.substr(cut), crc32(bytes.substr(0, cut))) == crc32(bytes));
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

TEST_CASE("a crash between the renames of an update leaves a folder that can be read") {
  const Folder folder;
  const Checksums sums = folder.update("one", "1234");
  const std::string list = read(folder.path / kChecksumList);
  folder.update("two", "5678", sums);
  // As it was before the last rename.
  overwrite(folder.path / "checksums.sfv.new", read(folder.path / kChecksumList));
  fs::rename(folder.path / "checksums.sfv.new", folder.path / "checksums.sfv.tmp");
  std::ofstream(folder.path / kChecksumList) << list;
  CHECK(folder.text() == "two");
  // And before the one before that: each list describes one file.
  std::ofstream(folder.path / "text") << "one";
  CHECK(folder.text() == "one");
  // A file that neither describes is damaged.
  std::ofstream(folder.path / "text") << "three";
  CHECK_HAS(error_of([&] { folder.text(); }), "text must have the bytes");
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

}  // namespace gradus::test_checksums
