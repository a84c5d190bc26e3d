// Too little address space (ulimit -v): every run ends, with a line that says why.
#include <sys/resource.h>

#include "autograd/sanitized.hpp"
#include "cli/program.hpp"

namespace gradus::cli::test_address_space {

/// Runs it with so many bytes of address space; one that spins is killed, which is a failure.
Outcome run_limited(const std::vector<std::string>& arguments, rlim_t bytes) {
  Input input;
  input.in_child = [bytes] {
    const rlimit space{bytes, bytes}, seconds{20, 20};
    ::setrlimit(RLIMIT_CPU, &seconds);
    ::setrlimit(RLIMIT_AS, &space);
  };
  return run_program(arguments, input);
}

bool is_unlimited() {
  if (testing::kSanitized) SUCCEED("sanitizers reserve more than any limit");
  return testing::kSanitized;
}

TEST_CASE("no limit on the address space makes a run spin") {
  if (is_unlimited()) return;
  const Scratch scratch;
  const std::string text = scratch.text();
  bool refused = false, trained = false;
  // With less, OpenBLAS writes lines of its own before main().
  for (rlim_t megabytes = 75; megabytes <= 420; megabytes += megabytes >= 180 && megabytes < 210 ? 1 : 15) {
    INFO(megabytes << " MB");
    const Outcome outcome = run_limited(args("train --text", text, "--preset tiny --steps 2 --quiet --out",
                                             scratch.path("run"), "--overwrite"),
                                        megabytes * 1'000'000);
    INFO(outcome.err);
    trained = trained || outcome.code == 0;
    if (outcome.code == 0) continue;
    refused = true;
    CHECK((outcome.code == 1 || outcome.code == 2));
    CHECK(lines_of(outcome.err).size() == 1);
    CHECK((outcome.err.starts_with("gradus: [memory] ") ||
           outcome.err.starts_with("gradus: [storage] no memory for ")));
  }
  CHECK(refused);
  CHECK(trained);
}

TEST_CASE("what needs no BLAS needs no memory for it") {
  if (is_unlimited()) return;
  const Outcome outcome = run_limited({"--version"}, 100'000'000);
  INFO(outcome.err);
  CHECK(outcome.code == 0);
}

TEST_CASE("a folder that asks for more than it holds is refused before the memory is taken") {
  if (is_unlimited()) return;
  const Scratch scratch;
  const std::string text = scratch.text();
  must("train --text", text, "--preset tiny --steps 1 --quiet --out", scratch.path("run"));
  std::string config = read(scratch.path("run/config.json"));
  const std::string from = "\"n_embd\": 32";
  REQUIRE(config.find(from) != std::string::npos);
  config.replace(config.find(from), from.size(), "\"n_embd\": 5000");
  // As a folder from elsewhere: without what is only in a run's.
  scratch.file("config.json", config);
  for (const char* name : {"model.safetensors", "vocab.json"})
    scratch.file(name, read(scratch.path(std::string("run/") + name)));
  for (const std::string& verb : args("info sample")) {
    const Outcome outcome = run_limited({verb, scratch.path(".")}, 600'000'000);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK_HAS(outcome.err, "wpe.weight (32, 32) for (32, 5000)");
  }
}

}  // namespace gradus::cli::test_address_space
