#include "autograd/kernels/vectors.hpp"
#include "catch.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"
#include "gradus/train/optimizers/clip.hpp"
#include "small_model.hpp"

namespace gradus::train::test_trainer {

TEST_CASE("accumulated micro-batches have the windows and the gradients of one big batch") {
  TrainConfig big = small_config(), accumulated = small_config();
  big.windows = accumulated.windows = Windows::shuffled;
  big.batch = 12;
  accumulated.batch = 4;
  accumulated.accum = 3;
  accumulated.micro = GENERATE(1, 4);
  SmallRun one(big), two(accumulated);
  for (int i = 0; i < 30; ++i)
    CHECK(two.trainer.step().loss == Approx(one.trainer.step().loss).epsilon(i < 3 ? 1e-6 : 1e-3));
}

TEST_CASE("a source of batches is told how many examples the run has drawn") {
  TrainConfig config = small_config();
  config.batch = 6;
  config.accum = 2;
  config.micro = GENERATE(1, 3);
  SmallRun run(config);
  std::vector<std::pair<int64_t, int64_t>> calls;
  const auto source = [&](int64_t batch, Generator& g, int64_t drawn) {
    calls.emplace_back(batch, drawn);
    return run.next(batch, g);
  };
  Trainer trainer(run.model, decoder_recipe(run.model, source, config));
  TrainerState state = trainer.state();
  state.step = 5;
  trainer.restore(state);
  (void)trainer.step();
  (void)trainer.step();
  using Calls = std::vector<std::pair<int64_t, int64_t>>;
  CHECK(calls == (config.micro == 1 ? Calls{{6, 60}, {6, 66}, {6, 72}, {6, 78}}
                                    : Calls{{4, 60}, {4, 64}, {4, 68}, {4, 72}, {4, 76}, {4, 80}}));
}

TEST_CASE("an optimizer's products are made in the precision of the run", "[needs.fast]") {
  TrainConfig config = small_config();
  config.optimizer = "muon";
  config.warmup = 0;
  config.precision = DType::bfloat16;
  SmallRun run(config);
  const StepReport report = run.trainer.step();
  const auto by_hand = [&](DType products) {
    SmallRun other(config);
    const auto from = run.model.parameters();
    auto to = other.model.parameters();
    for (size_t i = 0; i < to.size(); ++i) to[i].set_grad(from[i].grad());
    const Autocast autocast(products);
    other.trainer.recipe().optimizer->step(report.lr, clip_scale(report.grad_norm, config.clip));
    return values_of(other.model);
  };
  CHECK(values_of(run.model) == by_hand(DType::bfloat16));
  CHECK(values_of(run.model) != by_hand(DType::float32));
}

TEST_CASE("evaluating leaves no trace") {
  TrainConfig config = small_config();
  config.model.dropout = 0.2;
  SmallRun with(config), without(config);
  const auto validation = with.dataset.validation_batches(evaluation_batch(config.model));
  for (int i = 0; i < 5; ++i) {
    const double once = mean_loss(with.model, validation);
    CHECK(mean_loss(with.model, validation) == once);  // Nothing is dropped at random.
    CHECK(with.model.training());
    CHECK(with.trainer.step().loss == without.trainer.step().loss);
  }
  CHECK(values_of(with.model) == values_of(without.model));
}

TEST_CASE("an evaluation reads 4096 tokens at a time, or one window that is longer") {
  models::DecoderConfig config;
  for (const auto& [block_size, windows] : {std::pair{1, 4096}, {64, 64}, {3000, 1}, {4096, 1}, {10000, 1}}) {
    config.block_size = block_size;
    CHECK(evaluation_batch(config) == windows);
  }
}

TEST_CASE("the loss over a validation text does not depend on how it is cut into batches") {
  SmallRun run;
  const double one = mean_loss(run.model, run.dataset.validation_batches(1));
  CHECK(std::abs(mean_loss(run.model, run.dataset.validation_batches(7)) - one) < 1e-5);
  CHECK_THROWS_WITH(mean_loss(run.model, {}), "[evaluate] needs at least one batch, got none.");
}

TEST_CASE("training has the same bits for any number of threads, and products in bfloat16 learn as well",
          "[needs.fast]") {
  TrainConfig config = small_config();
  config.model.n_embd = 64;
  config.model.dropout = 0.1;
  const auto losses = [&](DType precision, int threads) {
    const vectors::Threads guard(threads);
    config.precision = precision;
    SmallRun run(config);
    std::vector<double> all;
    for (int i = 0; i < 40; ++i) all.push_back(run.trainer.step().loss);
    return all;
  };
  const std::vector<double> plain = losses(DType::float32, 1), rounded = losses(DType::bfloat16, 1);
  CHECK(losses(DType::float32, 3) == plain);
  CHECK(losses(DType::bfloat16, 3) == rounded);
  CHECK(plain.back() < 0.9 * plain[0]);
  CHECK(plain[0] != rounded[0]);
  for (size_t i = 0; i < plain.size(); ++i) CHECK(std::abs(plain[i] - rounded[i]) < 0.05);
}

TEST_CASE("a loss that is not finite stops the run before it spoils the parameters") {
  SmallRun run;
  (void)run.trainer.step();
  run.model.state_dict().at("wpe.weight").copy_(full({1}, INFINITY));
  const std::vector<float> before = values_of(run.model);
  CHECK_THROWS_AS(run.trainer.step(), RunError);
  CHECK_THROWS_WITH(run.trainer.step(), ContainsSubstring("loss must stay finite, got ") &&
                                            ContainsSubstring("at step 2, learning rate 0.0015"));
  CHECK(values_of(run.model) == before);
  CHECK(run.trainer.steps_done() == 1);
}

}  // namespace gradus::train::test_trainer
