// What the tests of data/ share.
#pragma once

#include "catch.hpp"
#include "gradus/files/error.hpp"
#include "temporary_folder.hpp"

/// Says why a test case ends here; it counts as passed, with or without --warn NoAssertions.
inline void skip(const std::string& reason) {
  WARN("skipped: " << reason);
  SUCCEED();
}

/// The text of the gradus::Error that f() throws.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const gradus::Error& error) {
    return error.what();
  }
  return "no error";
}

using gradus::testing::TemporaryFolder;

/// An environment variable that has another value, or none, until the end of the scope.
class Environment {
 public:
  Environment(const char* name, std::optional<std::string> value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~Environment() { set(old_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  void set(const std::optional<std::string>& value) {
    if (value) {
      ::setenv(name_, value->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> old_;
};

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
