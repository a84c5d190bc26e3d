// Values in bfloat16 between ranks, and the trace of their messages.
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "gradus/autograd/ops/ops.hpp"
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

TEST_CASE("a run that is saved and resumed has the bits of one that is only saved") {
  TrainConfig config = config_of(2);
  config.wire = GENERATE(DType::float32, DType::bfloat16);
  CAPTURE(name(config.wire));
  const std::vector<Result> whole = train_on(2, config, {3, 8});
  const std::vector<Result> rest = train_on(2, config, {8}, &whole[0]);
  CHECK(rest[0].values == whole[1].values);
}

TEST_CASE("the precision of messages is checked") {
  TrainConfig config = config_of(2);
  config.wire = DType::float64;
  CHECK_THROWS_WITH(SmallRun(config), ContainsSubstring("float64"));
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

}  // namespace test_wire
}  // namespace gradus::train
