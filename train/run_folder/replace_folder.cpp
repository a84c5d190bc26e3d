#include "gradus/train/run_folder/replace_folder.hpp"

#include <fcntl.h>
#include <stdio.h>

#include <cerrno>
#include <cstring>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"

namespace gradus::train {
namespace {

namespace fs = std::filesystem;

/// 0 or the reason why not.
int rename(const fs::path& from, const fs::path& to, unsigned flags) {
  while (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

void rename_or_throw(const fs::path& from, const fs::path& to) {
  if (const int reason = rename(from, to, 0))
    throw RunError(
        concat("[run] cannot rename ", from.string(), " to ", to.string(), ": ", std::strerror(reason), "."));
}

}  // namespace

fs::path replace_folder(const fs::path& fresh, const fs::path& current, const fs::path& aside) {
  fs::path before = fresh;
  if (!fs::exists(fs::symlink_status(current))) {
    rename_or_throw(fresh, current);
  } else if (rename(fresh, current, RENAME_EXCHANGE) != 0) {  // Not every file system can.
    rename_or_throw(current, aside);
    rename_or_throw(fresh, current);
    before = aside;
  }
  files::sync_folder(current.parent_path());
  return before;
}

}  // namespace gradus::train
