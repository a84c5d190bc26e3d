// The memory that info and train announce, against what a process takes.
#include "autograd/sanitized.hpp"
#include "catch.hpp"
#include "gradus/models/gpt_config.hpp"
#include "gradus/tools/bench/compare.hpp"
#include "machine.hpp"
#include "program.hpp"

using namespace gradus;
using namespace gradus::cli;
using namespace gradus::bench;
using Catch::Matchers::ContainsSubstring;

namespace {

void check_announced(const std::string& shape) {
  if (!testing::machine_has("/proc/self/status")) return;
  if (testing::kSanitized) {
    SUCCEED("sanitizers keep what is freed");
    return;
  }
  INFO(shape);
  const Workload w = workload_from(shape);
  Contender worker("gradus", worker_command(w, GRADUS_PROGRAM, 1, "steps"));
  worker.run(1e9, 2);
  const double measured = worker.peak_mib() * 1024 * 1024;
  const double announced = models::training_memory(w.config, w.batch, w.dtype).total();
  INFO("announced " << announced / 1e6 << " MB, measured " << measured / 1e6 << " MB");
  CHECK(announced > 0.9 * measured);
  CHECK(announced < 1.1 * measured);
}

}  // namespace

TEST_CASE("training takes the memory that was announced, whatever it goes to") {
  check_announced("train 4 4 128 64 12 65 0 float32");     // W1
  check_announced("train 4 4 128 64 12 65 0.1 float32");   // W1d
  check_announced("train 2 2 64 128 32 1000 0 float32");   // logits
  check_announced("train 1 1 32 512 4 5000 0 float32");    // more so, and long
  check_announced("train 12 3 96 32 8 100 0.1 float32");   // deep
  check_announced("train 1 8 512 16 1 20 0 float32");      // parameters
  check_announced("train 1 8 512 16 1 20 0 bfloat16");     // and packed ones
  check_announced("train 2 1 136 33 7 4001 0 float32");    // parameters of the table, odd sizes
  check_announced("train 1 16 64 257 16 31 0.3 float32");  // heads
}

TEST_CASE("training the large workloads takes the memory that was announced", "[soak]") {
  for (const Workload& w : select_workloads({"W2", "W2n", "W3"})) check_announced(to_text(w));
}

TEST_CASE("info tells the memory of a shape before there is a model") {
  const Outcome nano = run_program({"info", "--preset", "nano"});
  CHECK(nano.code == 0);
  CHECK_THAT(
      nano.out,
      ContainsSubstring("4 layers, 4 heads, 128 wide, block 64, 65 tokens, with biases; 809,856 parameters"));
  CHECK_THAT(nano.out, ContainsSubstring(
                           "to train on batches of 12: parameters 3.2 MB, gradients 3.2 MB, moments 6.5 MB"));
  CHECK_THAT(run_program({"info", "--preset", "mini"}).out,
             ContainsSubstring("llama with 4 heads of keys") && ContainsSubstring("block 128"));
  const Outcome gpt2 = run_program({"info", "--preset", "gpt2", "--vocab", "50257", "--batch", "1"});
  CHECK_THAT(gpt2.out, ContainsSubstring("124,439,808 parameters") &&
                           ContainsSubstring("on batches of 1: parameters 497.8 MB"));
  const Outcome odd = run_program({"info", "--arch", "gpt2", "--layers", "2", "--heads", "1", "--embd", "8",
                                   "--block", "4", "--vocab", "3", "--no-bias"});
  CHECK_THAT(odd.out, ContainsSubstring("2 layers, 1 heads, 8 wide, block 4, 3 tokens, without biases"));

  const auto refused = [](std::vector<std::string> flags, const char* why) {
    flags.insert(flags.begin(), "info");
    check_refused(flags, {why});
  };
  refused({"--heads", "3"}, "--heads must divide --embd, got --heads 3 and --embd 128");
  refused({"--batch", "0"}, "--batch must be a whole number of at least 1, got 0");
  refused({"--preset", "huge"}, "tiny, nano, mini, midi, maxi, small or gpt2");
  refused({"out", "--embd", "8"}, "a folder and the shape of a model must not come together");
}
