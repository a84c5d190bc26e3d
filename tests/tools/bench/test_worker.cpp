#include "gradus/tools/bench/worker.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/kernels/blas/openblas.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/machine_peak.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/tools/bench/compare.hpp"
#include "gradus/tools/bench/contender.hpp"
#include "machine.hpp"
#include "temporary_folder.hpp"

namespace gradus::bench::test_worker {

using nlohmann::json;

const models::DecoderConfig kTiny{.vocab_size = 11, .block_size = 6, .n_layer = 2, .n_head = 2, .n_embd = 8};

/// What a worker says to these lines, its greeting first.
std::vector<json> answers(Task task, const std::string& commands, double dropout = 0,
                          const std::string& save = "", DType weights = DType::float32) {
  Workload w{"tiny", task, kTiny, 3, weights};
  w.config.dropout = dropout;
  std::istringstream in(commands);
  std::ostringstream out;
  run_steps(w, save, in, out);
  std::vector<json> lines;
  std::istringstream text(out.str());
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

// A clock that goes on when it is told to.
int64_t told_ms = 0;
int64_t told_clock() { return told_ms * 1'000'000; }

TEST_CASE("median") {
  CHECK(median({3}) == 3);
  CHECK(median({4, 1}) == 2.5);
  CHECK(median({9, 1, 2}) == 2);
}

TEST_CASE("a turn makes its steps and times each, whichever bound comes first") {
  int calls = 0;
  const auto nap = [&] { told_ms += ++calls % 2 == 0 ? 2 : 4; };
  Turn turn = take_turn(1e9, 50, nap, told_clock);
  CHECK(turn.steps == 50);
  CHECK(turn.ms_min == 2);
  CHECK(turn.ms_median == 3);
  CHECK(calls == 55);  // a tenth to warm up
  calls = 0;
  turn = take_turn(0.019, 1'000'000, nap, told_clock);
  CHECK(turn.steps == 7);  // after six of 2 and 4 ms in turn, 18 ms have gone by
  CHECK(calls == 8);       // the first takes longer than there is to warm up
}

TEST_CASE("a worker that trains finds the losses of a step, and then of an updated model") {
  const auto lines = answers(Task::train, "run 1e9 4\nops 2\nmemory\n");
  REQUIRE(lines.size() == 4);
  const std::vector<double> losses = lines[0].at("losses");
  REQUIRE(losses.size() == 3);
  CHECK(losses[0] == Approx(losses[1]).epsilon(1e-6));  // evaluation and training see the same batch
  CHECK(std::abs(losses[0] - std::log(11.0)) < 0.3);
  CHECK(losses[2] != losses[1]);
  CHECK(lines[1].at("steps") == 4);
  CHECK(lines[1].at("ms_min").get<double>() > 0);
  CHECK(lines[1].at("ms_min") <= lines[1].at("ms_median"));

  double sum = 0;
  int64_t known = 0;
  for (const json& op : lines[2].at("ops")) {
    sum += op.at("forward").get<double>() + op.at("backward").get<double>();
    for (const char* name : {"linear", "layer_norm", "gelu", "cross_entropy", "adamw", "clip", "batch"})
      known += op.at("op") == name ? 1 : 0;
  }
  CHECK(known == 7);
  CHECK(sum > 0);
  CHECK(sum <= Approx(lines[2].at("ms").get<double>()));  // the parts of a whole, each rounded
  CHECK(lines[3].at("peak_mib").get<double>() > 1);
  CHECK(answers(Task::train, "", 0.5).at(0).at("losses").size() == 1);
}

TEST_CASE("workers that run forward, or generate") {
  const auto forward = answers(Task::forward, "run 1e9 3\n");
  CHECK(forward.at(0).at("losses").size() == 1);
  CHECK(forward.at(0).at("losses") == answers(Task::forward, "").at(0).at("losses"));
  CHECK(forward.at(1).at("steps") == 3);
  const auto generate = answers(Task::generate, "run 1e9 3\nops 1\n");
  CHECK(generate.at(0).at("tokens").size() == 6);
  CHECK(generate.at(0).at("losses") == forward.at(0).at("losses"));
  CHECK(generate.at(1).at("steps") == 3);
  CHECK(generate.at(2).at("ms").get<double>() > 0);
}

TEST_CASE("a worker's commands are checked") {
  for (const char* line : {"fly\n", "ops\n", "ops 0\n", "run 1\n"})
    CHECK_THROWS_AS(answers(Task::train, line), Error);
}

TEST_CASE("what a twin is handed is the model and the batches that the losses are of") {
  const testing::TemporaryFolder folder;
  const std::string path = (folder / "weights.safetensors").string();
  const auto lines = answers(Task::train, "", 0, path);
  nn::StateDict state = nn::load_safetensors(path);
  const Tensor tokens = state.at("tokens");
  CHECK(tokens.shape() == Shape{16, 3, 7});
  CHECK(tokens.dtype() == DType::int64);
  state.erase("tokens");
  Generator g(5);
  models::Decoder model(kTiny, g);
  model.load_state_dict(state);
  const Tensor first = tokens.select(0, 0);
  const double loss = model.loss(first.slice(1, 0, 6).contiguous(), first.slice(1, 1, 7).contiguous()).item();
  CHECK(loss == lines.at(0).at("losses").at(0).get<double>());
}

TEST_CASE("a worker with bfloat16 weights computes with their values, and hands them on") {
  const testing::TemporaryFolder folder;
  const std::string path = (folder / "weights.safetensors").string();
  const auto stored = answers(Task::generate, "run 1e9 1\n", 0, path, DType::bfloat16);
  const auto wide = answers(Task::generate, "");
  CHECK(stored.at(0).at("tokens").size() == 6);
  CHECK(stored.at(0).at("losses") != wide.at(0).at("losses"));
  nn::StateDict state = nn::load_safetensors(path);
  const Tensor first = state.at("tokens").select(0, 0);
  const Tensor table = state.at("wte.weight");  // read as float32
  CHECK(table.to_vector<float>() == table.to(DType::bfloat16).to(DType::float32).to_vector<float>());
  state.erase("tokens");
  Generator g(5);
  models::Decoder model(kTiny, g);
  model.load_state_dict(state);
  const double loss = model.loss(first.slice(1, 0, 6).contiguous(), first.slice(1, 1, 7).contiguous()).item();
  CHECK(std::abs(loss - stored.at(0).at("losses").at(0).get<double>()) <= 1e-5);
}

TEST_CASE("a floor is a time, for products and for reading") {
  const int threads = num_threads();
  for (const int count : {1, 2}) {
    set_num_threads(count);
    for (const Task task : {Task::train, Task::forward, Task::generate}) {
      std::istringstream in("run 1e9 2\nmemory\n");
      std::ostringstream out;
      run_floor({"tiny", task, kTiny, 3}, in, out);
      std::istringstream lines(out.str());
      std::string ready, turn;
      std::getline(lines, ready);
      std::getline(lines, turn);
      CHECK(ready == "{}");
      CHECK(json::parse(turn).at("ms_median").get<double>() > 0);
    }
  }
  set_num_threads(threads);
}

TEST_CASE("BLAS's own products are products, by either kind of threads") {
  using namespace kernels;
  Generator g(3);
  const int threads = num_threads();
  for (const int count : {1, 3}) {
    set_num_threads(count);
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const BlasThreads how : {BlasThreads::inside_product, BlasThreads::over_batch}) {
          const Tensor a = randn({5, 4, 3}, g), b = randn({5, 3, 2}, g);  // 5 products (4, 3) @ (3, 2)
          const Tensor as = (ta ? a.mT() : a).contiguous(), bs = (tb ? b.mT() : b).contiguous();
          Tensor c = zeros({5, 4, 2});
          blas_product({ta ? Trans::yes : Trans::no, tb ? Trans::yes : Trans::no, 4, 2, 3, 5}, how,
                       as.data<float>(), bs.data<float>(), c.mutable_data<float>());
          const auto got = c.to_vector<float>(), want = matmul(a, b).to_vector<float>();
          for (size_t i = 0; i < want.size(); ++i) CHECK(std::abs(got[i] - want[i]) <= 1e-5);
        }
    const Tensor x = full({100'000}, 1.0);
    CHECK(read_all(100'000, x.data<float>()) > 0);
    CHECK(read_all(100'000, x.data<float>()) == read_all(100'000, x.data<float>()));
  }
  set_num_threads(threads);
  CHECK_FALSE(blas_name().empty());
}

TEST_CASE("the peak is made of multiplications and additions, at each level") {
  using namespace kernels;
  for (const Isa level : available_isas()) {
    set_isa(isa_name(level));
    float half = 0.5F;
    const int64_t operations = isa_loops<MultiplyAddLoops<float>>().multiply_adds(100, &half);
    CHECK(operations >= 100 * 12 * 4 * 2);
    CHECK(half == 12 * 2.0F);  // each sum has come to where x / 2 + 1 = x
  }
  const char* const asked = std::getenv("GRADUS_LEVEL");
  set_isa(asked ? asked : isa_name(available_isas().front()));
  CHECK(multiply_add_rate(0.01) > 1e8);
}

TEST_CASE("a contender answers while it is asked and stands still otherwise") {
  if (!testing::machine_has("/proc/self/stat")) return;
  Contender contender(
      "sh", {{"sh", "-c", "echo $$; while read line; do echo \"$line $HOW\"; done"}, {{"HOW", "well"}}});
  const std::string stat = "/proc/" + contender.greeting() + "/stat";
  const auto stands_still = [&] {
    std::ifstream file(stat);
    std::string process, name, state;
    return file >> process >> name >> state && state == "T";
  };
  CHECK(stands_still());
  CHECK(contender.ask("goes") == "goes well");
  CHECK(contender.ask("goes on") == "goes on well");
  CHECK(stands_still());
}

TEST_CASE("PyTorch gets its best, but what the user set stays") {
  const auto found = [](const Command& command, const std::string& name) -> std::string {
    for (const auto& [variable, value] : command.environment)
      if (variable == name) return value;
    return "none";
  };
  const char* const variable = "OPENBLAS_CORETYPE";
  const char* const set = std::getenv(variable);
  const std::string before = set ? set : "";
  ::unsetenv(variable);
  const Workload w1 = select_workloads({"W1"}).front();
  const Command best = torch_command({"python3", "2.0"}, w1, 2, "weights");
  CHECK(found(best, "OMP_NUM_THREADS") == "2");
  CHECK(found(best, "OPENBLAS_NUM_THREADS") == "2");
  const std::string kernels = kernels::blas_kernels();
  CHECK(found(best, variable) == (kernels.empty() ? "none" : kernels));
  ::setenv(variable, "Haswell", 1);
  CHECK(found(torch_command({"python3", "2.0"}, w1, 2, "weights"), variable) == "none");
  set ? ::setenv(variable, before.c_str(), 1) : ::unsetenv(variable);
}

TEST_CASE("a contender that cannot start or ends is an error with its name") {
  CHECK_THROWS_WITH(Contender("Nobody", {{"/no/such/program"}}),
                    "[bench] Nobody must answer, got the end of its process.");
  Contender brief("Brief", {{"sh", "-c", "echo ready; read line; exit 1"}});
  CHECK_THROWS_WITH(brief.ask("run 1 1"), "[bench] Brief must answer, got the end of its process.");
}

TEST_CASE("a command's output, and what it finds in its environment") {
  const auto [text, code] = output_of({{"sh", "-c", "echo \"$GREETING\"; exit 3"}, {{"GREETING", "hi"}}});
  CHECK(text == "hi\n");
  CHECK(code == 3);
  CHECK(output_of({{"/no/such/program"}}).second == 127);
}

}  // namespace gradus::bench::test_worker
