#include "gradus/annexes/bench/measure.hpp"

#include "catch.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/kernels/blas/openblas.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/machine_peak.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/nn/safetensors.hpp"
#include "temporary_folder.hpp"

namespace gradus::bench::test_measure {

const models::DecoderConfig kTiny{.vocab_size = 11, .block_size = 6, .n_layer = 2, .n_head = 2, .n_embd = 8};

Result measured(Task task, int64_t steps = 1, double dropout = 0, const std::string& save = "",
                DType weights = DType::float32) {
  Workload w{"tiny", task, kTiny, 3, weights};
  w.config.dropout = dropout;
  return measure(w, {.steps = steps, .save = save});
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

TEST_CASE("training finds the losses of a step, and then of an updated model") {
  const Result r = measured(Task::train, 20);
  REQUIRE(r.losses.size() == 3);
  CHECK(r.losses[0] == Approx(r.losses[1]).epsilon(1e-6));  // evaluation and training see the same batch
  CHECK(std::abs(r.losses[0] - std::log(11.0)) < 0.3);
  CHECK(r.losses[2] != r.losses[1]);
  CHECK(r.ms_min > 0);
  CHECK(r.ms_min <= r.ms_median);
  CHECK(r.tokens_per_s == Approx(1e3 * 18 / r.ms_median));
  CHECK(r.peak_mib > 1);

  double sum = 0;
  int64_t known = 0;
  for (const OpTime& op : r.ops) {
    sum += op.forward + op.backward;
    for (const char* name : {"linear", "layer_norm", "gelu", "cross_entropy", "adamw", "clip", "batch"})
      known += op.op == name ? 1 : 0;
  }
  CHECK(known == 7);
  CHECK(sum > 0);
  CHECK(sum <= r.ops_ms * (1 + 1e-9));
  CHECK(measured(Task::train, 1, 0.5).losses.size() == 1);
}

TEST_CASE("a forward pass and a generated text have the loss of the same batch") {
  const Result forward = measured(Task::forward), generate = measured(Task::generate);
  CHECK(forward.losses.size() == 1);
  CHECK(forward.losses == measured(Task::forward).losses);
  CHECK(generate.tokens.size() == 6);
  CHECK(generate.losses == forward.losses);
  CHECK(generate.ops_ms > 0);
}

TEST_CASE("what a twin is handed is the model and the batches that the losses are of, in bfloat16 too",
          "[needs.fast]") {
  const testing::TemporaryFolder folder;
  const std::string path = (folder / "weights.safetensors").string();
  const auto loss_of_handed = [&] {
    nn::StateDict state = nn::load_safetensors(path);
    const Tensor tokens = state.at("tokens"), first = tokens.select(0, 0);
    CHECK(tokens.shape() == Shape{16, 3, 7});
    CHECK(tokens.dtype() == DType::int64);
    state.erase("tokens");
    Generator g(5);
    models::Decoder model(kTiny, g);
    model.load_state_dict(state);
    return model.loss(first.slice(1, 0, 6).contiguous(), first.slice(1, 1, 7).contiguous()).item();
  };
  const Result trained = measured(Task::train, 1, 0, path);
  CHECK(trained.losses.at(0) == loss_of_handed());

  const Result stored = measured(Task::generate, 1, 0, path, DType::bfloat16);
  CHECK(stored.tokens.size() == 6);
  CHECK(stored.losses != measured(Task::generate).losses);
  const Tensor table = nn::load_safetensors(path).at("wte.weight");  // read as float32
  CHECK(table.to_vector<float>() == table.to(DType::bfloat16).to(DType::float32).to_vector<float>());
  CHECK(std::abs(loss_of_handed() - stored.losses.at(0)) <= 1e-5);
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
  for (const Level level : available_isas()) {
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

}  // namespace gradus::bench::test_measure
