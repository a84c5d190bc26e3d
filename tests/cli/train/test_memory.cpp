// The memory that info and train announce, against what a process takes.
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "autograd/sanitized.hpp"
#include "cli/program.hpp"
#include "gradus/annexes/bench/workload.hpp"
#include "gradus/models/stored/config_json.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "machine.hpp"

namespace gradus::cli::test_memory {

using namespace bench;

bool can_measure() {
  if (testing::kSanitized) SUCCEED("sanitizers keep what is freed");
  return !testing::kSanitized && testing::machine_has("/proc/self/status");
}

void check_announced(const std::string& shape) {
  if (!can_measure()) return;
  INFO(shape);
  const Workload w = workload_from(shape);
  const Outcome outcome = must("bench --steps 5 --json --workload", shape);
  const double peak_mib = nlohmann::json::parse(lines_of(outcome.out).at(1)).at("peak_mib");
  const double measured = peak_mib * 1024 * 1024;
  const double announced = models::training_memory(w.config, w.batch, w.dtype).total();
  INFO("announced " << announced / 1e6 << " MB, measured " << measured / 1e6 << " MB");
  CHECK(announced > 0.9 * measured);
  CHECK(announced < 1.1 * measured);
}

TEST_CASE("training takes the memory that was announced", "[needs.fast]") {
  check_announced("train gpt2 4 4 128 64 12 65 0.1 float32");  // W1d
  check_announced("train gemma 4 4 256 128 4 65 0.1 bfloat16");
}

TEST_CASE("training takes the memory that was announced, whatever it goes to", "[soak][needs.fast]") {
  check_announced("train gpt2 4 4 128 64 12 65 0 float32");     // W1
  check_announced("train gpt2 2 2 64 128 32 1000 0 float32");   // logits
  check_announced("train gpt2 1 1 32 512 4 5000 0 float32");    // more so, and long
  check_announced("train gpt2 12 3 96 32 8 100 0.1 float32");   // deep
  check_announced("train gpt2 1 8 512 16 1 20 0 float32");      // parameters
  check_announced("train gpt2 1 8 512 16 1 20 0 bfloat16");     // and packed ones
  check_announced("train gpt2 2 1 136 33 7 4001 0 float32");    // parameters of the table, odd sizes
  check_announced("train gpt2 1 16 64 257 16 31 0.3 float32");  // heads
  check_announced("train gemma 6 4 128 128 12 65 0 float32");   // outer norms and GeGLU
  check_announced("train gemma 4 4 256 256 8 65 0.1 bfloat16");
}

/// The peak of a run with these flags, when it makes its third step, and what it announced.
void check_run(const std::string& flags, const std::string& layers) {
  if (!can_measure()) return;
  const Scratch scratch;
  double peak = 0;
  const auto look = [&](const std::string& line, int process) {
    if (line.find("\"step\"") == std::string::npos) return;
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string word; status >> word;)
      if (double kilobytes = 0; word == "VmHWM:" && status >> kilobytes) peak = 1024 * kilobytes;
  };
  const Outcome run = must_run(args("train --text", scratch.text(), "--json --out", scratch.path("run"),
                                    "--layers", layers, split(flags),
                                    "--heads 8 --embd 512 --block 16 --batch 1 --steps 100 --stop-after 3 "
                                    "--val-fraction 0 --save-every 100 --threads 1"),
                               {.on_line = look});
  const size_t at = run.err.find("memory  about ");
  REQUIRE(at != std::string::npos);
  const double announced = 1e6 * std::stod(run.err.substr(at + 14));
  INFO(flags << ": announced " << announced / 1e6 << " MB, measured " << peak / 1e6 << " MB");
  CHECK(announced > 0.9 * peak);
  CHECK(announced < 1.1 * peak);
}

TEST_CASE("the memory announced counts what the optimizer and the means of the weights take") {
  check_run("--preset mini --ema 0.9", "2");  // Muon
}

TEST_CASE("the memory announced counts what each optimizer takes", "[soak]") {
  for (const char* flags :
       {"--preset nano --ema 0.9", "--preset nano --optimizer muon", "--preset nano --accum 7 --micro 7",
        "--preset nano --accum 8 --micro 8", "--preset mini --ema 0.9"})
    check_run(flags, "4");
}

TEST_CASE("training the large workloads takes the memory that was announced", "[soak]") {
  for (const Workload& w : select_workloads({"W2", "W2n", "W3"})) check_announced(to_text(w));
}

TEST_CASE("info tells the memory of a shape before there is a model") {
  const Outcome nano = must("info --preset nano");
  CHECK_HAS(nano.out, "4 layers, 4 heads, 128 wide, block 64, 65 tokens, with biases; 809,856 parameters");
  CHECK_HAS(nano.out, "to train on batches of 12: parameters 3.2 MB, gradients 3.2 MB, moments 6.5 MB");
  CHECK_HAS(call("info --preset mini").out, "4 key/value heads", "block 128", "norms of queries and keys",
            "parameters 3.3 MB, gradients 3.3 MB, moments 3.3 MB, update ");  // of Muon
  const Outcome gpt2 = call("info --preset gpt2 --vocab 50257 --batch 1");
  CHECK_HAS(gpt2.out, "124,439,808 parameters", "on batches of 1: parameters 497.8 MB");
  const Outcome odd = call("info --arch gpt2 --layers 2 --heads 1 --embd 8 --block 4 --vocab 3 --no-bias");
  CHECK_HAS(odd.out, "2 layers, 1 heads, 8 wide, block 4, 3 tokens, without biases");
  const Outcome llama =
      call("info --arch llama --preset gpt2 --vocab 32000 --kv-heads 4 --hidden 2048 --qk-norm --untied");
  CHECK_HAS(llama.out, "llama, 2048 wide inside the MLP", "124,670,208 parameters");

  const auto refused = [](const std::vector<std::string>& flags, const char* why) {
    check_refused(args("info", flags), {why});
  };
  refused(args("--batch 0"), "--batch must be a whole number of at least 1, got 0");
  refused(args("out --embd 8"), "a folder and the shape of a model must not come together");
}

TEST_CASE("info of a folder reads the headers of its weights, not the weights") {
  if (testing::kSanitized) {
    SUCCEED("sanitizers reserve more than any limit");
    return;
  }
  const Scratch scratch;
  const models::DecoderConfig config{.vocab_size = 65, .n_layer = 1, .n_head = 8, .n_embd = 8192};
  uint64_t end = 0;
  std::string header = "{";
  for (const auto& [name, shape] : models::stored_shapes(config)) {
    std::string sizes;
    for (const int64_t size : shape) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
    const uint64_t begin = end;
    end += 4 * static_cast<uint64_t>(shape.numel());
    header += concat(begin == 0 ? "" : ",", "\"", name, R"(":{"dtype":"F32","shape":[)", sizes,
                     R"(],"data_offsets":[)", begin, ",", end, "]}");
  }
  header += "}";
  const uint64_t length = header.size();
  scratch.file("config.json", models::to_json(config));
  const std::string file = scratch.file(
      "model.safetensors", std::string(reinterpret_cast<const char*>(&length), sizeof length) + header);
  std::filesystem::resize_file(file, sizeof length + length + end);  // 3 GB that take no place

  Input input;
  input.in_child = [] {
    const rlimit space{1'000'000'000, 1'000'000'000};
    ::setrlimit(RLIMIT_AS, &space);
  };
  const Outcome info = must_run({"info", scratch.path(".")}, input);
  CHECK_HAS(info.out, "h.0.mlp.c_fc.weight     (8192, 32768)  268,435,456\n");
}

TEST_CASE("info refuses a folder whose header was changed, by its checksum") {
  const Scratch scratch;
  const std::string out = scratch.path("run"), file = out + "/model.safetensors";
  must("train --text", scratch.text(), "--preset tiny --steps 1 --quiet --out", out);
  std::string model = read(file);
  model.replace(model.find("\"pt\""), 4, "\"tp\"");
  std::ofstream(file, std::ios::binary) << model;
  check_refused({"info", out}, {"model.safetensors", "the header"});
}

}  // namespace gradus::cli::test_memory
