// Training on several ranks: the same bits for every number of ranks.
#include "catch.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "small_model.hpp"
#include "threads_as_ranks.hpp"

namespace gradus::train {
namespace test_ranks {

struct Result {
  std::vector<float> values;
  nn::StateDict optimizer;
  std::vector<double> losses, norms;
  double validation = 0;
};

void expect_equal(const Result& a, const Result& b) {
  CHECK(a.losses == b.losses);
  CHECK(a.norms == b.norms);
  CHECK(a.validation == b.validation);
  REQUIRE(a.values.size() == b.values.size());
  CHECK(std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0);
  REQUIRE(a.optimizer.size() == b.optimizer.size());
  for (const auto& [name, tensor] : a.optimizer) {
    INFO(name);
    if (!is_floating(tensor.dtype())) continue;
    const Tensor& other = b.optimizer.at(name);
    CHECK(std::memcmp(tensor.data<float>(), other.data<float>(),
                      static_cast<size_t>(tensor.numel()) * sizeof(float)) == 0);
  }
}

/// Five steps, from `start` if there is one.
Result train_on(int count, const TrainConfig& config,
                const std::pair<nn::StateDict, TrainerState>* start = nullptr) {
  Result result;
  ThreadsAsRanks(count).run([&](Communicator& ranks) {
    SmallRun run(config, count > 1 ? &ranks : nullptr);
    const auto validation = run.dataset.validation_batches(2);
    if (start) {
      run.model.load_state_dict(start->first);
      run.trainer.restore(start->second);
    }
    if (ranks.rank() > 0) return run.trainer.follow(validation);
    for (int i = 0; i < 5; ++i) {
      const StepReport report = run.trainer.step();
      result.losses.push_back(report.loss);
      result.norms.push_back(report.grad_norm);
      CHECK(report.tokens == config.batch * config.accum * config.model.block_size);
    }
    {
      const AveragedWeights averaged(run.trainer.average());
      result.validation = run.trainer.validation_loss(validation);
    }
    result.values = values_of(run.model);
    const TrainerState state = run.trainer.state();
    for (const auto& [name, tensor] : state.optimizer) result.optimizer[name] = tensor.contiguous();
  });
  return result;
}

TrainConfig config_of(const std::string& name, int64_t micro) {
  TrainConfig config = preset(name);
  config.model.n_layer = 2;
  config.model.n_head = name == "gru" ? 1 : 2;
  config.model.n_embd = 16;
  config.model.block_size = 8;
  config.model.dropout = 0.1;
  config.batch = 12;
  config.accum = 2;
  config.micro = micro;
  config.warmup = 1;
  return config;
}

TEST_CASE("weights, moments and losses have the same bits for every number of ranks", "[needs.fast]") {
  const std::string name = GENERATE("nano", "mini", "gru");
  const int64_t micro = GENERATE(1, 8, 24);
  TrainConfig config = config_of(name, micro);
  if (micro == 8) config.precision = DType::bfloat16;
  INFO(name << " " << micro);
  const Result one = train_on(1, config);
  for (const int ranks : {2, 3, 4, 8}) {
    INFO(ranks);
    expect_equal(train_on(ranks, config), one);
  }
}

TEST_CASE("one micro-batch on several ranks is a run without them, with a mean of parameters too") {
  TrainConfig config = config_of("nano", 1);
  config.ema = 0.9;
  expect_equal(train_on(3, config), train_on(1, config));
}

TEST_CASE("micro-batches are those of the whole batch: the gradient is the mean of theirs") {
  TrainConfig config = config_of("nano", 4);
  config.model.dropout = 0;
  SmallRun run(config, nullptr);
  Generator seed(static_cast<uint64_t>(config.seed));
  double loss = 0;
  for (int i = 0; i < 4; ++i) {
    Generator data = seed.stream("data 1." + std::to_string(i));
    const data::Batch batch = run.dataset.random_batch(data::Split::train, 6, data);
    loss += run.model.loss(batch.x, batch.y, nullptr).item() / 4;
  }
  CHECK(run.trainer.step().loss == Approx(loss).margin(1e-6));
}

TEST_CASE("a state of one number of ranks continues with another") {
  TrainConfig config = config_of("mini", 8);
  nn::StateDict parameters;
  TrainerState state;
  {
    SmallRun run(config, nullptr);
    for (int i = 0; i < 3; ++i) run.trainer.step();
    for (const auto& [name, tensor] : run.model.state_dict()) parameters[name] = tensor.detach() * 1.0;
    state = run.trainer.state();
    for (auto& [name, tensor] : state.optimizer)
      if (is_floating(tensor.dtype())) tensor = tensor.detach() * 1.0;
  }
  const std::pair start{parameters, state};
  const Result one = train_on(1, config, &start);
  for (const int ranks : {2, 3}) expect_equal(train_on(ranks, config, &start), one);
}

TEST_CASE("ranks share the work of a step") {
  TrainConfig config = config_of("mini", 4);
  ThreadsAsRanks two(2);
  two.run([&](Communicator& ranks) {
    SmallRun run(config, &ranks);
    if (ranks.rank() > 0) return run.trainer.follow({});
    run.trainer.step();
  });
  int64_t parameters = 0;
  for (const Tensor& parameter : SmallRun(config, nullptr).model.parameters())
    parameters += 4 * parameter.numel();
  // Each gradient travels to its owner once, each parameter from it once, and a few numbers.
  CHECK(two.bytes() > 2 * parameters);
  CHECK(two.bytes() < 2 * parameters + 4000);
}

TEST_CASE("a loss that is not finite ends the step on all ranks, and leaves the parameters") {
  TrainConfig config = config_of("nano", 4);
  config.lr = 1e30;
  config.min_lr = 0;
  config.clip = 0;
  std::vector<float> before, after;
  ThreadsAsRanks(2).run([&](Communicator& ranks) {
    SmallRun run(config, &ranks);
    if (ranks.rank() > 0) return run.trainer.follow({});
    const auto steps = [&] {
      for (int i = 0; i < 20; ++i) {
        before = values_of(run.model);
        run.trainer.step();
      }
    };
    CHECK_THROWS_AS(steps(), RunError);
    after = values_of(run.model);
  });
  CHECK(std::memcmp(before.data(), after.data(), before.size() * sizeof(float)) == 0);
}

TEST_CASE("a rank with other parameters is found when the state is collected") {
  TrainConfig config = config_of("nano", 4);
  ThreadsAsRanks three(3);
  std::string message;
  try {
    three.run([&](Communicator& ranks) {
      SmallRun run(config, &ranks);
      if (ranks.rank() == 2) {
        Tensor first = run.model.parameters()[0].detach();
        first.mutable_data<float>()[0] += 1;
      }
      if (ranks.rank() > 0) return run.trainer.follow({});
      (void)run.trainer.state();
    });
  } catch (const Error& e) {
    message = e.what();
  }
  CHECK(message.find("got others on rank 2") != std::string::npos);
}

TEST_CASE("micro must divide the examples of a step") {
  TrainConfig config = config_of("nano", 7);
  CHECK_THROWS_WITH(config.validate(), Catch::Matchers::Contains("must divide the 24 examples"));
}

}  // namespace test_ranks
}  // namespace gradus::train
