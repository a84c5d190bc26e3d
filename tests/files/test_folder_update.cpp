// Files that take their places together, and what readers find in between.
#include "gradus/files/folder.hpp"

#include "autograd/compare.hpp"
#include "temporary_folder.hpp"

namespace gradus::test_folder_update {

using namespace gradus::files;

namespace fs = std::filesystem;

void write_both(const fs::path& folder, const std::string& text) {
  FolderUpdate update(folder);
  update.write("a", text);
  update.write("b", text + text);
  update.commit();
}

std::string read_checked(const fs::path& folder, const std::string& name) {
  return read_folder(folder, [&](const FolderSnapshot& files) { return files.text(name); });
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

}  // namespace gradus::test_folder_update
