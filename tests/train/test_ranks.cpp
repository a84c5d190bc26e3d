// Training on several ranks: the same bits for every number, values in bfloat16, the trace of messages.
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/train/optimizers/sgd.hpp"
#include "gradus/train/trainer/gradient_exchange.hpp"
#include "small_model.hpp"
#include "threads_as_ranks.hpp"

namespace gradus::train::test_ranks {

/// What a run has learnt after some of its steps.
struct Result {
  std::vector<float> values;
  nn::StateDict parameters;
  TrainerState state;
  std::vector<double> losses, norms;
  double validation = 0;
  int64_t bytes = 0;
};

void expect_equal(const Result& a, const Result& b) {
  CHECK(a.losses == b.losses);
  CHECK(a.norms == b.norms);
  CHECK(a.validation == b.validation);
  CHECK(a.values == b.values);
  REQUIRE(a.state.optimizer.size() == b.state.optimizer.size());
  for (const auto& [name, tensor] : a.state.optimizer) {
    INFO(name);
    CHECK(tensor.to(DType::float64).to_vector<double>() ==
          b.state.optimizer.at(name).to(DType::float64).to_vector<double>());
  }
}

/// Trains on `count` ranks, and saves after each of the steps in `saves`; begins at `start` if there is one.
std::vector<Result> train_on(int count, const TrainConfig& config, const std::vector<int64_t>& saves,
                             const Result* start = nullptr) {
  std::vector<Result> results;
  ThreadsAsRanks all(count);
  all.run([&](Communicator& ranks) {
    SmallRun run(config, count > 1 ? &ranks : nullptr);
    const auto validation = run.dataset.validation_batches(2);
    if (start) {
      run.model.load_state_dict(start->parameters);
      run.trainer.restore(start->state);
    }
    if (ranks.rank() > 0) return run.trainer.follow(validation);
    for (const int64_t save : saves) {
      Result& result = results.emplace_back();
      while (run.trainer.steps_done() < save) {
        const StepReport report = run.trainer.step();
        result.losses.push_back(report.loss);
        result.norms.push_back(report.grad_norm);
        CHECK(report.tokens == config.batch * config.accum * config.model.block_size);
      }
      result.bytes = all.bytes();
      {
        const AveragedWeights averaged(run.trainer.average());
        result.validation = run.trainer.validation_loss(validation);
      }
      result.state = run.trainer.state();
      for (auto& [name, tensor] : result.state.optimizer)
        if (is_floating(tensor.dtype())) tensor = tensor.detach() * 1.0;
      result.values = values_of(run.model);
      for (const auto& [name, tensor] : run.model.state_dict())
        result.parameters[name] = tensor.detach() * 1.0;
    }
  });
  return results;
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
  if (micro == 1) config.ema = 0.9;  // a mean of the parameters
  INFO(name << " " << micro);
  const Result one = train_on(1, config, {5})[0];
  for (const int ranks : {2, 3, 4, 8}) {
    INFO(ranks);
    expect_equal(train_on(ranks, config, {5})[0], one);
  }
}

TEST_CASE("a state of one number of ranks continues with another") {
  const TrainConfig config = config_of("mini", 8);
  const Result start = train_on(1, config, {3})[0], one = train_on(1, config, {8}, &start)[0];
  for (const int ranks : {2, 3}) expect_equal(train_on(ranks, config, {8}, &start)[0], one);
}

TEST_CASE("the most expensive parameter that is left goes to the rank with the least work") {
  CHECK(owners({9, 5, 4}, 2) == std::vector<int>{0, 1, 1});
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
  const auto collect = [&](Communicator& ranks) {
    SmallRun run(config, &ranks);
    if (ranks.rank() == 2) {
      Tensor first = run.model.parameters()[0].detach();
      first.mutable_data<float>()[0] += 1;
    }
    if (ranks.rank() > 0) return run.trainer.follow({});
    (void)run.trainer.state();
  };
  CHECK_ERROR(ThreadsAsRanks(3).run(collect), "got others on rank 2");
}

TrainConfig wire_config(int64_t micro) {
  TrainConfig config = small_config();
  config.batch = 12;
  config.micro = micro;
  config.model.dropout = 0.1;
  config.wire = DType::float32;
  return config;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) squares += std::pow(double{a[i]} - double{b[i]}, 2);
  return std::sqrt(squares);
}

TEST_CASE("values in bfloat16 are half the bytes, and change the weights little") {
  const TrainConfig config = wire_config(4);
  TrainConfig rounded = config;
  rounded.wire = DType::bfloat16;
  const Result exact = train_on(2, config, {5})[0], result = train_on(2, rounded, {5})[0];
  CHECK(result.bytes < exact.bytes / 2 + 2000);
  // Of the way that the weights went, 2^-8 for each step at most.
  const double way = distance(exact.values, values_of(SmallRun(config).model));
  CHECK(distance(result.values, exact.values) > 0);
  CHECK(distance(result.values, exact.values) < 5 * std::ldexp(1, -8) * way);
  CHECK(train_on(1, rounded, {5})[0].values == train_on(1, config, {5})[0].values);  // no messages
}

/// For losses that do not depend on any.
data::Batch no_batches(int64_t, Generator&) { return {zeros({1}), zeros({1})}; }

TEST_CASE("the norm of several ranks neither overflows nor vanishes where its squares do") {
  for (const double size : {1e200, 1e-200, 1e-310, 1.0}) {
    std::vector<double> norms;
    for (const int count : {1, 2})
      ThreadsAsRanks(count).run([&](Communicator& ranks) {
        struct Two : nn::Module {
          Tensor a = zeros({}, DType::float64).requires_grad_(),
                 b = zeros({2}, DType::float64).requires_grad_();
          void visit(nn::Visitor& v) override { v("a", a), v("b", b); }
        } model;
        Recipe recipe{
            .loss =
                [&](const data::Batch&) {
                  return (model.a * 3.0 + sum(model.b * tensor(std::vector<double>{0, 4}, {2}))) * size;
                },
            .batches = no_batches,
            .optimizer = std::make_unique<SGD>(model.named_parameters()),
            .schedule = [](int64_t) { return 1.0; },
            .loop = {.steps = 1, .batch = 2, .micro = 2, .clip = 0}};
        Trainer trainer(model, std::move(recipe), count > 1 ? &ranks : nullptr);
        if (ranks.rank() > 0) return trainer.follow({});
        norms.push_back(trainer.step().grad_norm);
      });
    INFO(size);
    CHECK(std::abs(norms[0] / size - 5) < 1e-8);
    CHECK(std::abs(norms[1] / size - 5) < 1e-8);
  }
}

TEST_CASE("what rounding to bfloat16 loses is added to the next values") {
  const double gradient = 1 + std::ldexp(1, -10);  // bfloat16 has 8 bits of it
  const int steps = 200;
  for (const int owner : {0, 1}) {  // one rank rounds its gradients, the other its updates
    CAPTURE(owner);
    double end = 0;
    ThreadsAsRanks(2).run([&](Communicator& ranks) {
      // The gradient of w is a constant. A second parameter makes the first one's owner rank 1.
      struct Two : nn::Module {
        Tensor w = zeros({}).requires_grad_(), large = zeros({8}).requires_grad_();
        bool has_large = false;
        void visit(nn::Visitor& v) override {
          v("w", w);
          if (has_large) v("large", large);
        }
      } model;
      model.has_large = owner == 1;
      Recipe recipe{.loss = [&](const data::Batch&) { return model.w * gradient + sum(model.large) * 0.0; },
                    .batches = no_batches,
                    .optimizer = std::make_unique<SGD>(model.named_parameters()),
                    .schedule = [](int64_t) { return 1.0; },
                    .loop = {.steps = steps, .batch = 2, .micro = 2, .clip = 0, .wire = DType::bfloat16}};
      Trainer trainer(model, std::move(recipe), &ranks);
      if (ranks.rank() > 0) return trainer.follow({});
      for (int i = 0; i < steps; ++i) trainer.step();
      end = model.w.item();
    });
    CHECK(std::abs(end + steps * gradient) < 0.02);  // without it: 200 * 2^-10 = 0.2
  }
}

TEST_CASE("a run that is saved and resumed has the bits of one that is only saved") {
  TrainConfig config = wire_config(2);
  config.wire = GENERATE(DType::float32, DType::bfloat16);
  CAPTURE(name(config.wire));
  const std::vector<Result> whole = train_on(2, config, {3, 8});
  const std::vector<Result> rest = train_on(2, config, {8}, &whole[0]);
  CHECK(rest[0].values == whole[1].values);
}

TEST_CASE("a trace has the ops and messages of all ranks") {
  std::string events;
  ThreadsAsRanks(3).run([&](Communicator& ranks) {
    SmallRun run(wire_config(3), &ranks);
    if (ranks.rank() > 0) return run.trainer.follow({});
    Profile profile;
    run.trainer.step();
    run.trainer.profile_into(&profile);
    run.trainer.step();
    events = run.trainer.take_trace();
    run.trainer.step();
  });
  std::map<int, std::map<std::string, int>> seen;  // of each process
  for (const auto& event : nlohmann::json::parse("[" + events + "]"))
    ++seen[event.at("pid")][event.at("name")];
  CHECK(seen.size() == 3);
  for (auto& [pid, names] : seen) {
    CHECK(names["step"] == 1);
    CHECK(names["batch"] == 1);
    CHECK(names["linear"] > 4);
    CHECK(names["wait for ranks"] > 1);
    CHECK(names[pid == 1 ? "to rank 1" : "to rank 0"] > 4);
  }
}

}  // namespace gradus::train::test_ranks
