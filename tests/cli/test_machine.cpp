// What gradus info says of the machine.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "gradus/autograd/kernels/blas/openblas.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "program.hpp"

namespace gradus::cli::test_machine {

/// gradus info, on the whole machine, with just these variables of those that choose.
Outcome info(const std::vector<std::string>& environment = {}) {
  std::string script = "unset GRADUS_LEVEL OPENBLAS_CORETYPE; ";
  for (const std::string& variable : environment) script += "export " + variable + "; ";
  return run_shell(script + "exec \"$GRADUS\" info");
}

TEST_CASE("info without arguments tells what the machine is") {
  const Outcome shown = info();
  CHECK(shown.code == 0);
  CHECK(shown.err == "");
  CHECK_HAS(shown.out, "machine     ", "\npeak        ", " GFLOP/s in float32", " GB/s of memory read",
            "\ngradus      0.", "\nproducts    ", "\nunits       ", "\nheld back   ");
  for (const kernels::Level level : kernels::available_isas())
    CHECK_HAS(shown.out, std::string(kernels::isa_name(level)));
  CHECK_THAT(shown.out, !ContainsSubstring("asks for"));
  CHECK_THAT(shown.out, !ContainsSubstring("multiplies with"));
}

TEST_CASE("info says what a user asked for that holds the machine back") {
  const std::string best(kernels::isa_name(kernels::available_isas().front())),
      least(kernels::isa_name(kernels::available_isas().back()));
  CHECK_THAT(info({"GRADUS_LEVEL=" + best}).out, !ContainsSubstring("asks for"));
  if (best != least) {
    const std::string out = info({"GRADUS_LEVEL=" + least}).out;
    CHECK_HAS(out, "GRADUS_LEVEL asks for " + least + "; this machine runs " + best + ".");
  }
  const std::string better(kernels::better_blas_kernels("Prescott", best));
  const std::string asked = info({"OPENBLAS_CORETYPE=Prescott"}).out;
  if (better.empty() || asked.find("Prescott kernels") == std::string::npos) return;  // one set of kernels
  CHECK_HAS(asked, "OPENBLAS_CORETYPE asks for Prescott kernels; " + better + "'s suit this machine.");
}

TEST_CASE("info of a shape is not of the machine") {
  CHECK_HAS(call("info --batch 1").out, "model       4 layers");
  CHECK_THAT(call("info --preset nano").out, !ContainsSubstring("held back"));
}

TEST_CASE("where the system grants no thread, the program works without") {
  Input input;
  input.in_child = [] {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(1);  // root has no limit
    const rlimit one{1, 1};
    ::setrlimit(RLIMIT_NPROC, &one);
  };
  const Outcome version = run_program({"--version"}, input);
  if (version.code == 127) {
    SUCCEED("the program lies where another user may not run it");
    return;
  }
  CHECK(version.code == 0);
  CHECK(version.out == call("--version").out);
  must_run(args("info --preset tiny"), input);
  // It is the same program then: by its name, and to a parent that had it ignore Ctrl-C.
  const auto limited = input.in_child;
  input.in_child = [limited] {
    limited();
    ::signal(SIGINT, SIG_IGN);
  };
  int looked = 0;
  input.on_line = [&](const std::string&, int process) {
    if (looked++ > 0) return;
    const std::string status = read("/proc/" + std::to_string(process) + "/status");
    CHECK(status.starts_with("Name:\tgradus\n"));
    const size_t ignored = status.find("SigIgn:");
    REQUIRE(ignored != status.npos);
    CHECK((std::stoull(status.substr(ignored + 7), nullptr, 16) & (1U << (SIGINT - 1))) != 0);
  };
  must_run({"--completion"}, input);
  CHECK(looked > 0);
}

}  // namespace gradus::cli::test_machine
