#include "gradus/annexes/bench/workload.hpp"

#include "catch.hpp"
#include "gradus/files/error.hpp"

namespace gradus::bench::test_workload {

/// Elements of the matrices that each token is multiplied with, and 2 for the attention's two products; for
/// llama also four steps of Muon, for four square matrices and three of the MLP in each layer.
double closed_form(const Workload& w) {
  const auto L = static_cast<double>(w.config.n_layer), C = static_cast<double>(w.config.n_embd),
             T = static_cast<double>(w.config.block_size), V = static_cast<double>(w.config.vocab_size);
  const auto I = static_cast<double>(w.config.inner());
  const bool is_llama = w.config.arch == "llama";
  const double matrices = L * (4 * C * C + (is_llama ? 3 : 2) * C * I) + V * C;
  const double muon = is_llama ? 4 * L * (4 * 6 * C * C * C + 3 * (4 * C * C * I + 2 * C * C * C)) : 0;
  const double token = w.task == Task::train ? 6 * matrices + 12 * L * T * C : 2 * matrices + 4 * L * T * C;
  return token * static_cast<double>(w.tokens()) + muon;
}

TEST_CASE("the products of a step add up to 6 N + 12 L T C operations a token, of a forward to a third") {
  int counted = 0;
  for (const Workload& w : workloads()) {
    INFO(w.name);
    if (w.task == Task::generate) {
      CHECK(products(w).empty());
      continue;
    }
    CHECK(operations(w) == closed_form(w));
    CHECK(operations(w) > 0);
    ++counted;
  }
  CHECK(counted == 10);
  const Workload odd{
      "odd", Task::train, {.vocab_size = 7, .block_size = 5, .n_layer = 3, .n_head = 3, .n_embd = 33}, 2};
  CHECK(operations(odd) == closed_form(odd));
  const Workload w1 = select_workloads({"W1"}).at(0);
  CHECK(std::abs(operations(w1) / 1e9 - 3.996) < 0.04);  // 6 N with biases and norms counted in is 3.996
}

TEST_CASE("workloads have the shapes of their names") {
  CHECK(workloads().size() == 15);
  CHECK(select_workloads({}).size() == 15);
  const auto names = [](const std::vector<std::string>& asked) {
    std::string all;
    for (const Workload& w : select_workloads(asked)) all += w.name + " ";
    return all;
  };
  CHECK(names({"W4", "W1"}) == "W4-W2n W4-W3 W1 ");
  CHECK(names({"W5-W1"}) == "W5-W1 ");
  CHECK(names({"W1", "forward gpt2 1 2 16 8 4 32 0 float32"}) == "W1 forward gpt2 1 2 16 8 4 32 0 float32 ");
  CHECK_THROWS_WITH(
      select_workloads({"W1", "W9"}),
      "[bench] --workload must name some of W0, W1, W1d, W2, W2n, W3, W4-W2n, W4-W3, W5-W1, W5-W3, "
      "W5-W3h, W5-W3q8, W5-W3q4, W6, W7, got 'W9'.");
  CHECK(select_workloads({"W3"}).at(0).config.num_parameters() ==
        124'439'808 - (1024 - 64) * 768);  // GPT-2's smallest, with fewer positions
  CHECK(select_workloads({"W1"}).at(0).tokens() == 768);
  CHECK(select_workloads({"W5"}).at(0).tokens() == 1);
  for (const Workload& w : workloads()) CHECK_NOTHROW(w.config.validate());
}

TEST_CASE("products in bfloat16 are a workload of their own, for what has products") {
  const Workload w = with_precision(select_workloads({"W1d"}).at(0), DType::bfloat16);
  CHECK(w.name == "W1d bf16");
  CHECK(to_text(w) == "train gpt2 4 4 128 64 12 65 0.1 bfloat16");
  CHECK(workload_from(to_text(w)).dtype == DType::bfloat16);
  CHECK(with_precision(w, DType::bfloat16).name == "W1d bf16");
  CHECK(to_text(with_precision(w, DType::float32)) == to_text(select_workloads({"W1d"}).at(0)));
  CHECK_THROWS_WITH(with_precision(select_workloads({"W5-W1"}).at(0), DType::bfloat16),
                    "[bench] --precision is for workloads that train or go forward, got W5-W1. Hint: "
                    "W5-W3h generates from weights in bfloat16.");
}

TEST_CASE("a workload's text is that workload again, and nothing else is one") {
  for (const Workload& w : workloads()) {
    const Workload again = workload_from(to_text(w));
    CHECK(again.config == w.config);
    CHECK(again.task == w.task);
    CHECK(again.batch == w.batch);
    CHECK(again.dtype == w.dtype);
  }
  CHECK(to_text(select_workloads({"W1d"}).at(0)) == "train gpt2 4 4 128 64 12 65 0.1 float32");
  for (const char* text :
       {"", "train", "train gpt2 4 4 128 64 12 65 float32", "train gpt2 4 4 128 64 12 65 0 float32 1",
        "train gpt2 4 4 128 64 12 65 0 0 float32", "walk gpt2 4 4 128 64 12 65 0 float32",
        "train gpt2 4 4 128 64 12 65 0", "train gpt2 4 3 128 64 12 65 0 float32",
        "train gpt2 4 4 128 64 0 65 0 float32", "train gpt2 4 4 128 64 12 65 x float32",
        "train gpt2 4 4 128 64 12 65 0 q8_0", "generate gpt2 4 4 128 64 1 65 0 int64"})
    CHECK_THROWS_AS(workload_from(text), Error);
}

}  // namespace gradus::bench::test_workload
