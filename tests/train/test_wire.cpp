// What ranks exchange besides ordered sums in float32: rounded values, fewer messages, and local steps.
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/train/optimizers/adamw.hpp"
#include "gradus/train/optimizers/clip.hpp"
#include "gradus/train/optimizers/sgd.hpp"
#include "small_model.hpp"
#include "threads_as_ranks.hpp"

namespace gradus::train {
namespace test_wire {

TrainConfig config_of(int64_t micro) {
  TrainConfig config = small_config();
  config.batch = 12;
  config.micro = micro;
  config.model.dropout = 0.1;
  config.wire = DType::float32;
  return config;
}

struct Result {
  std::vector<float> values;
  nn::StateDict parameters;
  TrainerState state;
  int64_t bytes = 0;
};

/// Trains on `count` ranks, and saves after each of the steps in `saves`; begins at `start` if there is one.
std::vector<Result> train_on(int count, const TrainConfig& config, const std::vector<int64_t>& saves,
                             const Result* start = nullptr) {
  std::vector<Result> results;
  ThreadsAsRanks all(count);
  all.run([&](Communicator& ranks) {
    SmallRun run(config, count > 1 ? &ranks : nullptr);
    if (start) {
      run.model.load_state_dict(start->parameters);
      run.trainer.restore(start->state);
    }
    if (ranks.rank() > 0) return run.trainer.follow({});
    for (const int64_t save : saves) {
      while (run.trainer.steps_done() < save) run.trainer.step();
      Result& result = results.emplace_back();
      result.bytes = all.bytes();
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

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
  return largest;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) squares += std::pow(double{a[i]} - double{b[i]}, 2);
  return std::sqrt(squares);
}

/// A model of one parameter whose loss is w times a constant, so that each gradient is the constant.
struct Slope : nn::Module {
  Tensor w = zeros({}).requires_grad_();
  void visit(nn::Visitor& v) override { v("w", w); }
};

TEST_CASE("values in bfloat16 are half the bytes, and change the weights little") {
  const TrainConfig config = config_of(4);
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

TEST_CASE("what rounding to bfloat16 loses is added to the next values") {
  const double gradient = 1 + std::ldexp(1, -10);  // bfloat16 has 8 bits of it
  const int steps = 200;
  for (const int owner : {0, 1}) {  // one rank rounds its gradients, the other its updates
    CAPTURE(owner);
    double end = 0;
    ThreadsAsRanks(2).run([&](Communicator& ranks) {
      // A second parameter makes the first one's owner rank 1.
      struct Two : Slope {
        Tensor large = zeros({8}).requires_grad_();
        bool has_large = false;
        void visit(nn::Visitor& v) override {
          v("w", w);
          if (has_large) v("large", large);
        }
      } model;
      model.has_large = owner == 1;
      Recipe recipe{.loss = [&](const data::Batch&) { return model.w * gradient + sum(model.large) * 0.0; },
                    .batches =
                        [](int64_t, Generator&) {
                          return data::Batch{zeros({1}), zeros({1})};
                        },
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

TEST_CASE("fast reduction sends one sum from each rank") {
  TrainConfig config = config_of(12);
  const Result ordered = train_on(4, config, {5})[0];
  config.reduce = kFast;
  const Result fast = train_on(4, config, {5})[0];
  CHECK(10 * fast.bytes < 8 * ordered.bytes);  // three micro-batches are two blocks
  const double difference = largest_difference(fast.values, ordered.values);
  CHECK(difference > 0);
  CHECK(difference < 1e-5);
}

TEST_CASE("local steps are those of DiLoCo") {
  TrainConfig config = config_of(2);
  config.sync_every = 2;
  const Result result = train_on(2, config, {4})[0];

  // The same with two models in one process, and the outer step in double.
  SmallRun a(config_of(2)), b(config_of(2));
  SmallRun* const workers[] = {&a, &b};
  std::vector<std::unique_ptr<AdamW>> optimizers;
  for (SmallRun* worker : workers)
    optimizers.push_back(std::make_unique<AdamW>(
        worker->model.named_parameters(),
        AdamWOptions{.beta1 = config.beta1, .beta2 = config.beta2, .weight_decay = config.weight_decay}));
  std::vector<float> start = values_of(a.model);
  std::vector<double> velocity(start.size(), 0.0);
  const Generator seed(static_cast<uint64_t>(config.seed));
  for (int64_t step = 1; step <= 4; ++step) {
    for (size_t r = 0; r < 2; ++r) {
      SmallRun& worker = *workers[r];
      Generator data = seed.stream("data " + std::to_string(step) + "." + std::to_string(r));
      Generator dropout = seed.stream("dropout " + std::to_string(step) + "." + std::to_string(r));
      const data::Batch batch = worker.next(6, data);
      optimizers[r]->zero_grad();
      worker.model.train();
      worker.model.loss(batch.x, batch.y, &dropout).backward();
      const double norm = grad_norm(worker.model.parameters());
      optimizers[r]->step(config.schedule()(step - 1), clip_scale(norm, config.clip));
    }
    if (step % 2 != 0) continue;
    const std::vector<float> ends[] = {values_of(a.model), values_of(b.model)};
    std::vector<float> next(start.size());
    for (size_t i = 0; i < start.size(); ++i) {
      const double change = start[i] - (double{ends[0][i]} + ends[1][i]) / 2;
      velocity[i] = 0.6 * velocity[i] + change;
      next[i] = static_cast<float>(start[i] - 0.7 * (change + 0.6 * velocity[i]));
    }
    for (SmallRun* worker : workers) {
      size_t at = 0;
      for (Tensor& parameter : worker->model.parameters()) {
        float* const values = parameter.mutable_data<float>();
        std::memcpy(values, &next[at], static_cast<size_t>(parameter.numel()) * sizeof(float));
        at += static_cast<size_t>(parameter.numel());
      }
    }
    start = next;
  }
  // AdamW amplifies rounding where gradients are small; a step is 1e-3.
  CHECK(largest_difference(result.values, start) < 5e-6);
}

TEST_CASE("local steps exchange values each few steps only") {
  TrainConfig config = config_of(2);
  const int64_t each = train_on(2, config, {20})[0].bytes;
  config.sync_every = 10;
  CHECK(10 * train_on(2, config, {20})[0].bytes < each + 20000);
}

TEST_CASE("a run that is saved and resumed has the bits of one that is only saved") {
  TrainConfig config = config_of(2);
  config.sync_every = GENERATE(1, 2, 3);  // step 3 is not the end of two local steps
  config.wire = GENERATE(DType::float32, DType::bfloat16);
  CAPTURE(config.sync_every, name(config.wire));
  const std::vector<Result> whole = train_on(2, config, {3, 8});
  const std::vector<Result> rest = train_on(2, config, {8}, &whole[0]);
  CHECK(rest[0].values == whole[1].values);
}

TEST_CASE("a loss of local steps that is not finite ends all ranks") {
  TrainConfig config = config_of(2);
  config.sync_every = 5;
  config.lr = 1e30;
  config.min_lr = 0;
  config.clip = 0;
  CHECK_THROWS_WITH(train_on(2, config, {20}), ContainsSubstring("must stay finite"));
}

TEST_CASE("settings of ranks are checked") {
  const auto error_of = [](const TrainConfig& config) {
    try {
      ThreadsAsRanks(2).run([&](Communicator& ranks) { SmallRun run(config, &ranks); });
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  TrainConfig config = config_of(3);
  config.sync_every = 2;
  CHECK(error_of(config) ==
        "[train] `micro` must be a multiple of the 2 ranks, as `sync_every` is above 1, got 3.");
  config.ema = 0.5;
  CHECK(error_of(config) == "[train] `ema` must be 0 if `sync_every` is above 1, got 0.5.");
  config = config_of(2);
  config.reduce = "slow";
  CHECK(error_of(config) == "[train] `reduce` must be ordered or fast, got 'slow'.");
  config = config_of(2);
  config.wire = DType::float64;
  CHECK(error_of(config).find("float64") != std::string::npos);
}

TEST_CASE("messages are hidden while their sender does not wait") {
  const auto s = [](double seconds) { return static_cast<int64_t>(1e9 * seconds); };
  // A message from 1 to 4, another from 3 to 6, and a wait from 5 to 8.
  const MessageTime time = message_time({{.to = 1, .bytes = 8, .start = s(1), .end = s(4)},
                                         {.to = 1, .bytes = 8, .start = s(3), .end = s(6)},
                                         {.start = s(5), .end = s(8)}});
  CHECK(time.total == Approx(5));
  CHECK(time.hidden == Approx(4));
  CHECK(message_time({}).total == 0);
}

TEST_CASE("a trace has the ops and messages of all ranks") {
  std::string events;
  ThreadsAsRanks(3).run([&](Communicator& ranks) {
    SmallRun run(config_of(3), &ranks);
    if (ranks.rank() > 0) return run.trainer.follow({});
    Profile profile;
    run.trainer.step();
    run.trainer.profile_into(&profile);
    run.trainer.step();
    events = run.trainer.take_trace().first;
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

}  // namespace test_wire
}  // namespace gradus::train
