// Runs a program under ptrace(2), system call by system call: to record what it does to files, to stop it at
// any call, or to make a call fail. Linux on x86-64 only; can_trace() says whether it works here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gradus::testing {

struct SystemCall {
  int process = 0;  ///< whose it is
  long number = 0;
  std::string name;  ///< "" for those that have nothing to do with files
  uint64_t arguments[6] = {};
  int64_t result = 0;  ///< when it is done; -errno for a failed one
  std::string path;    ///< what it is about: the path it was given, or that of its descriptor
  std::string to;      ///< the other path of a rename
  std::string bytes;   ///< what a write wrote
};

/// Does it change a folder or a file, or make a change last?
bool changes_files(const SystemCall& call);

struct Verdict {
  enum Kind { go_on, kill, fail, shorten } kind = go_on;
  int reason = 0;  ///< errno of a call that is to fail
};

struct Hooks {
  std::function<Verdict(const SystemCall&)> before = [](const SystemCall&) { return Verdict{}; };
  std::function<void(const SystemCall&)> after = [](const SystemCall&) {};
};

struct Traced {
  int code = -1;    ///< exit code; -1 if a signal ended it
  int signal = 0;   ///< that ended it
  std::string err;  ///< the standard error stream
};

bool can_trace();
/// The opposite, with a warning.
bool cannot_trace();
/// Runs the program `gradus` with these arguments.
Traced trace(const std::vector<std::string>& arguments, const Hooks& hooks);

}  // namespace gradus::testing
