// run_steps: a workload by gradus.
#include <functional>
#include <istream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/graph/profile.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/generate.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/tools/bench/worker.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/trainer/precision.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kBatches = 16;
constexpr int64_t kEndless = 1'000'000'000;
constexpr uint64_t kSeed = 1;

train::TrainConfig train_config(const Workload& w) {
  train::TrainConfig config;
  config.model = w.config;
  config.batch = w.batch;
  config.steps = kEndless;
  config.lr = config.min_lr = 3e-4;
  config.warmup = 0;
  config.decay = "constant";
  config.beta2 = 0.95;
  config.seed = kSeed;
  config.precision = train::precision_name(w.dtype);
  return config;
}

models::Decoder make_model(const Workload& w) {
  Generator init = Generator(kSeed).stream("init");
  return models::Decoder(w.config, init);
}

/// The model, its batches, and one step of the workload's task.
class Steps {
 public:
  explicit Steps(const Workload& w) : workload_(w), model_(make_model(w)) {
    const int64_t T = w.config.block_size;
    Generator data = Generator(kSeed).stream("data");
    tokens_ = randint(0, w.config.vocab_size, {kBatches, w.batch, T + 1}, data);
    for (int64_t i = 0; i < kBatches; ++i) {
      const Tensor batch = tokens_.select(0, i);
      batches_.push_back({batch.slice(1, 0, T).contiguous(), batch.slice(1, 1, T + 1).contiguous()});
    }
    model_.eval();
    if (w.task == Task::generate && is_storage(w.dtype)) model_.to(w.dtype);
  }

  void save(const std::string& path) {
    nn::StateDict state = model_.state_dict();
    state.insert({"tokens", tokens_});
    nn::save_safetensors(path, state);
  }

  /// Results that a twin must have too.
  Json first_results() {
    if (workload_.task == Task::generate) return {{"losses", {forward(0)}}, {"tokens", generate()}};
    std::vector<double> losses{forward(0)};
    if (workload_.task == Task::train) {
      const auto next = [this](int64_t, Generator&) { return batches_[next_++ % kBatches]; };
      trainer_ = std::make_unique<train::Trainer>(
          model_, train::decoder_recipe(model_, next, train_config(workload_)));
      for (int i = 0; i < 2; ++i) losses.push_back(trainer_->step().loss);
      if (workload_.config.dropout > 0) losses.resize(1);
    }
    return {{"losses", losses}};
  }

  void step() {
    if (trainer_)
      trainer_->step();
    else if (workload_.task == Task::generate)
      generate();
    else
      forward(next_++ % kBatches);
  }

 private:
  double forward(size_t batch) {
    const NoGrad no_grad;
    const Autocast autocast(workload_.task == Task::generate ? DType::float32 : workload_.dtype);
    const auto& [x, y] = batches_[batch];
    return model_.loss(x, y).item();
  }

  std::vector<int64_t> generate() {
    Generator unused(kSeed);
    return models::generate(model_, {0}, {.max_new_tokens = workload_.config.block_size, .temperature = 0},
                            unused);
  }

  Workload workload_;
  models::Decoder model_;
  Tensor tokens_;
  std::vector<data::Batch> batches_;
  size_t next_ = 0;
  std::unique_ptr<train::Trainer> trainer_;
};

/// Steps in one call of step(): a generated text is timed by token.
double divisor(const Workload& w) {
  return w.task == Task::generate ? static_cast<double>(w.config.block_size) : 1.0;
}

/// Milliseconds a step by op, the most expensive op first.
Json ops_of(const Workload& w, Steps& steps, int64_t count) {
  Profile profile;
  {
    const Profiling on(&profile);
    for (int64_t i = 0; i < count; ++i) {
      const ProfileSpan whole("all", ProfileEvent::Phase::group);
      steps.step();
    }
  }
  struct Times {
    double forward = 0, backward = 0;
  };
  std::map<std::string_view, Times> ops;
  double all = 0;
  const double scale = 1e3 / (static_cast<double>(count) * divisor(w));
  for (const ProfileEvent& e : profile.events()) {
    if (e.phase == ProfileEvent::Phase::group)
      all += e.name == "all" ? scale * e.seconds() : 0;
    else
      (e.phase == ProfileEvent::Phase::backward ? ops[e.name].backward : ops[e.name].forward) +=
          scale * e.seconds();
  }
  std::vector<std::pair<std::string_view, Times>> sorted(ops.begin(), ops.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.forward + a.second.backward > b.second.forward + b.second.backward;
  });
  Json list = Json::array();
  for (const auto& [name, times] : sorted)
    list.push_back({{"op", name}, {"forward", times.forward}, {"backward", times.backward}});
  return {{"ops", list}, {"ms", all}};
}

}  // namespace

void run_steps(const Workload& workload, const std::string& save, std::istream& in, std::ostream& out) {
  Steps steps(workload);
  if (!save.empty()) steps.save(save);
  release_cached_memory();  // memory that making the initial values used
  reset_peak_memory_of_process();
  out << steps.first_results() << std::endl;

  const auto run = [&](double seconds, int64_t count) {
    Turn turn = take_turn(seconds, count, [&] { steps.step(); });
    turn.ms_median /= divisor(workload);
    turn.ms_min /= divisor(workload);
    return turn;
  };
  answer_commands(in, out, run, [&](const std::string& command) {
    std::istringstream words(command);
    std::string name;
    int64_t count = 0;
    if (!(words >> name >> count) || name != "ops" || count < 1)
      fail("bench", "a worker's commands are run, ops and memory, got '", command, "'.");
    return ops_of(workload, steps, count).dump();
  });
}

}  // namespace gradus::bench
