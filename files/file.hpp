// Files that are either whole or not there. Thread-safe, but for two writers of one path.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

namespace gradus::files {

/// Replaces the file at `path` by what `write` puts out, so that after a crash at any moment either the old
/// file or the new one is there: written to `path`.tmp beside it, fsynced, renamed, the folder fsynced.
/// Throws RunError with the path and the system's reason; then, and if `write` throws, the old file is
/// untouched and the temporary one removed.
void write_atomically(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);

/// The whole file, or all that comes through a pipe. Throws Unreadable with the path and the reason if it
/// cannot be read (see Input).
std::string read(const std::filesystem::path& path);

}  // namespace gradus::files
