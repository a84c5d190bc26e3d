#include "tracer.hpp"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/program.hpp"

namespace gradus::testing {

#ifdef __x86_64__

namespace {

/// Where a call has what.
struct Signature {
  const char* name;
  int path = -1, to = -1, descriptor = -1;
};

const Signature* signature(long number) {
  static const std::map<long, Signature> known = {
      {SYS_open, {"open", 0}},
      {SYS_openat, {"open", 1}},
      {SYS_creat, {"open", 0}},
      {SYS_read, {"read", -1, -1, 0}},
      {SYS_pread64, {"read", -1, -1, 0}},
      {SYS_write, {"write", -1, -1, 0}},
      {SYS_pwrite64, {"pwrite", -1, -1, 0}},
      {SYS_fsync, {"fsync", -1, -1, 0}},
      {SYS_close, {"close", -1, -1, 0}},
      {SYS_ftruncate, {"ftruncate", -1, -1, 0}},
      {SYS_fcntl, {"fcntl", -1, -1, 0}},
      {SYS_lseek, {"lseek", -1, -1, 0}},
      {SYS_fstat, {"stat", -1, -1, 0}},
      {SYS_stat, {"stat", 0}},
      {SYS_lstat, {"stat", 0}},
      {SYS_newfstatat, {"stat", 1}},
      {SYS_access, {"access", 0}},
      {SYS_faccessat, {"access", 1}},
      {SYS_getdents64, {"getdents", -1, -1, 0}},
      {SYS_rename, {"rename", 0, 1}},
      {SYS_renameat, {"rename", 1, 3}},
      {SYS_renameat2, {"rename", 1, 3}},
      {SYS_unlink, {"unlink", 0}},
      {SYS_unlinkat, {"unlink", 1}},
      {SYS_rmdir, {"rmdir", 0}},
      {SYS_mkdir, {"mkdir", 0}},
      {SYS_mkdirat, {"mkdir", 1}},
      {SYS_link, {"link", 0, 1}},
      {SYS_linkat, {"link", 1, 3}},
  };
  const auto found = known.find(number);
  return found == known.end() ? nullptr : &found->second;
}

std::string bytes_at(pid_t process, uint64_t address, size_t size) {
  std::string bytes(size, '\0');
  const iovec here{bytes.data(), size};
  const iovec there{reinterpret_cast<void*>(address), size};
  const ssize_t got = ::process_vm_readv(process, &here, 1, &there, 1, 0);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

std::string text_at(pid_t process, uint64_t address) {
  std::string text;
  while (address != 0 && text.find('\0') == std::string::npos) {
    // Not beyond the end of a page, behind which there may be none.
    const std::string piece = bytes_at(process, address + text.size(), 64 - (address + text.size()) % 64);
    if (piece.empty()) break;
    text += piece;
  }
  return text.substr(0, text.find('\0'));
}

/// A program that is traced, and its threads.
class Tracer {
 public:
  Tracer(pid_t process, const Hooks& hooks) : process_(process), hooks_(hooks) {}

  /// Until it ends; returns the status that waitpid gives then.
  int run() {
    int status = 0;
    ::waitpid(process_, &status, __WALL);  // It waits at its exec.
    ::ptrace(PTRACE_SETOPTIONS, process_, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
    ::ptrace(PTRACE_SYSCALL, process_, 0, 0);
    for (;;) {
      const pid_t thread = ::waitpid(-1, &status, __WALL);
      if (thread < 0) throw std::runtime_error("the traced program is lost");
      if (WIFEXITED(status) || WIFSIGNALED(status)) {
        if (thread == process_) return status;
        continue;
      }
      int deliver = 0;
      const int reason = WSTOPSIG(status);
      if (reason == (SIGTRAP | 0x80))
        at_call(thread);
      else if (reason != SIGTRAP && reason != SIGSTOP)
        deliver = reason;
      ::ptrace(PTRACE_SYSCALL, thread, 0, deliver);
    }
  }

 private:
  struct Open {
    SystemCall call;
    Verdict verdict;
    bool inside = false;
  };

  void at_call(pid_t thread) {
    Open& open = open_[thread];
    user_regs_struct registers = {};
    ::ptrace(PTRACE_GETREGS, thread, 0, &registers);
    open.inside = !open.inside;
    if (open.inside) {
      open.call = describe(registers);
      open.verdict = hooks_.before(open.call);
      apply(thread, registers, open);
    } else {
      if (open.verdict.kind == Verdict::fail) {
        registers.rax = static_cast<uint64_t>(-open.verdict.reason);
        ::ptrace(PTRACE_SETREGS, thread, 0, &registers);
      }
      open.call.result = static_cast<int64_t>(registers.rax);
      follow(open.call);
      hooks_.after(open.call);
    }
  }

  void apply(pid_t thread, user_regs_struct registers, const Open& open) {
    if (open.verdict.kind == Verdict::kill) ::kill(process_, SIGKILL);
    if (open.verdict.kind == Verdict::fail) {
      registers.orig_rax = static_cast<uint64_t>(-1);  // No such call, so nothing is done.
      ::ptrace(PTRACE_SETREGS, thread, 0, &registers);
    }
    if (open.verdict.kind == Verdict::shorten && registers.rdx > 1) {
      registers.rdx /= 2;
      ::ptrace(PTRACE_SETREGS, thread, 0, &registers);
    }
  }

  SystemCall describe(const user_regs_struct& registers) {
    SystemCall call;
    call.process = process_;
    call.number = static_cast<long>(registers.orig_rax);
    const uint64_t arguments[6] = {registers.rdi, registers.rsi, registers.rdx,
                                   registers.r10, registers.r8,  registers.r9};
    std::copy_n(arguments, 6, call.arguments);
    const Signature* known = signature(call.number);
    if (!known) return call;
    call.name = known->name;
    if (call.number == SYS_renameat2 && (arguments[4] & RENAME_EXCHANGE) != 0) call.name = "exchange";
    if (known->path >= 0) call.path = text_at(process_, arguments[known->path]);
    if (known->to >= 0) call.to = text_at(process_, arguments[known->to]);
    if (known->descriptor >= 0) call.path = paths_[static_cast<int>(arguments[known->descriptor])];
    return call;
  }

  /// Which descriptor is what.
  void follow(SystemCall& call) {
    if (call.result < 0) return;
    if (call.name == "open") paths_[static_cast<int>(call.result)] = call.path;
    if (call.name == "close") paths_.erase(static_cast<int>(call.arguments[0]));
    if (call.name == "write" || call.name == "pwrite")
      call.bytes = bytes_at(process_, call.arguments[1], static_cast<size_t>(call.result));
  }

  pid_t process_;
  const Hooks& hooks_;
  std::map<pid_t, Open> open_;
  std::map<int, std::string> paths_;
};

[[noreturn]] void become_traced(const std::vector<std::string>& arguments, const std::string& err) {
  const int nowhere = ::open("/dev/null", O_RDWR);
  ::dup2(nowhere, STDIN_FILENO);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(::open(err.c_str(), O_WRONLY), STDERR_FILENO);
  const rlimit a_minute = {60, 60};  // Of processor time: a call that fails must not be tried for ever.
  ::setrlimit(RLIMIT_CPU, &a_minute);
  ::signal(SIGHUP, SIG_DFL);  // or, of tests that run under nohup, it would be ignored
  ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
  ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // Which would trace itself.
  std::vector<char*> argv{const_cast<char*>("gradus")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::ptrace(PTRACE_TRACEME, 0, 0, 0);
  ::execv(cli::program_file(), argv.data());
  ::_exit(127);
}

}  // namespace

bool can_trace() {
  const pid_t process = ::fork();
  if (process == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) ::_exit(1);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  const bool stopped = WIFSTOPPED(status);
  if (stopped) {
    ::ptrace(PTRACE_CONT, process, 0, 0);
    ::waitpid(process, &status, 0);
  }
  return stopped;
}

Traced trace(const std::vector<std::string>& arguments, const Hooks& hooks) {
  const cli::Scratch scratch;
  const std::string err = scratch.file("err", "");
  const pid_t process = ::fork();
  if (process == 0) become_traced(arguments, err);
  const int status = Tracer(process, hooks).run();
  Traced traced;
  if (WIFEXITED(status)) traced.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) traced.signal = WTERMSIG(status);
  traced.err = cli::read(err);
  return traced;
}

#else

bool can_trace() { return false; }
Traced trace(const std::vector<std::string>&, const Hooks&) { throw std::runtime_error("no tracing here"); }

#endif

bool cannot_trace() {
  if (can_trace()) return false;
  WARN("programs cannot be traced here (ptrace)");
  SUCCEED();
  return true;
}

bool changes_files(const SystemCall& call) {
  static const std::vector<std::string> names = {"write",    "pwrite", "fsync", "ftruncate", "rename",
                                                 "exchange", "unlink", "rmdir", "mkdir",     "link"};
  if (call.name == "open") {
#ifdef __x86_64__
    const uint64_t flags = call.number == SYS_open ? call.arguments[1] : call.arguments[2];
    return (flags & (O_CREAT | O_TRUNC)) != 0;
#endif
  }
  return std::find(names.begin(), names.end(), call.name) != names.end();
}

}  // namespace gradus::testing
