#include "gradus/annexes/bench/measure.hpp"

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <optional>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/graph/profile.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/kernels/machine_peak.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/tensor/quantized_types.hpp"
#include "gradus/models/generate.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::bench {
namespace {

constexpr double kMostWarmUpMs = 50;
constexpr int kRounds = 5;

// Peak of this program; without /proc it includes the program before exec.
double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;)
    if (double kib = 0; key == "VmHWM:" && status >> kib) return kib / 1024;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// See proc(5), clear_refs. In a kernel without it, the peak is that of the whole process.
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

// -- gradus

constexpr int64_t kBatches = 16;

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
    nn::save_safetensors(path, state, {{"gradus", "bench"}});
  }

  /// Sets the results that torch_twin.py must reproduce.
  void begin(Result& result) {
    std::vector<double>& losses = result.losses;
    losses.push_back(forward(0));
    if (workload_.task == Task::generate) result.tokens = generate();
    if (workload_.task == Task::train) {
      const auto next = [this](int64_t, Generator&) { return batches_[next_++ % kBatches]; };
      trainer_ = std::make_unique<train::Trainer>(
          model_, train::decoder_recipe(model_, next, train_config(workload_)));
      for (int i = 0; i < 2; ++i) losses.push_back(trainer_->step().loss);
      if (workload_.config.dropout > 0) losses.resize(1);
    }
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

/// Sets the milliseconds per step by op.
void time_ops(const Workload& w, Steps& steps, int64_t count, Result& result) {
  Profile profile;
  {
    const Profiling on(&profile);
    for (int64_t i = 0; i < count; ++i) {
      const ProfileSpan whole("all", ProfileEvent::Phase::group);
      steps.step();
    }
  }
  std::map<std::string_view, OpTime> ops;
  const double scale = 1e3 / (static_cast<double>(count) * divisor(w));
  for (const ProfileEvent& e : profile.events()) {
    if (e.phase == ProfileEvent::Phase::group)
      result.ops_ms += e.name == "all" ? scale * e.seconds() : 0;
    else
      (e.phase == ProfileEvent::Phase::backward ? ops[e.name].backward : ops[e.name].forward) +=
          scale * e.seconds();
  }
  for (auto& [name, op] : ops) result.ops.push_back({std::string(name), op.forward, op.backward});
  std::stable_sort(result.ops.begin(), result.ops.end(), [](const OpTime& a, const OpTime& b) {
    return a.forward + a.backward > b.forward + b.backward;
  });
}

// -- the floor

using kernels::BlasThreads;

constexpr double kReachable = 0.9;  // good products reach this part of the machine's peak

/// The products of a workload, on memory that all of them share; for generate its parameters.
class Floor {
 public:
  explicit Floor(const Workload& w) : workload_(w), products_(products(w)) {
    int64_t a = 0, b = 0, c = 0;
    if (w.task == Task::generate)
      a = element_size(w.dtype) * w.config.num_parameters() /
          (is_in_tiles(w.dtype) ? kWeightRows * kWeightColumns : 1) / element_size(DType::float32);
    for (const Product& p : products_) {
      a = std::max(a, p.batch * p.m * p.k);
      b = std::max(b, p.batch * p.k * p.n);
      c = std::max(c, p.batch * p.m * p.n);
    }
    Generator values(1);
    a_ = rand({a}, values);
    b_ = rand({b}, values);
    c_ = zeros({c});
  }

  /// Of a step: the sum of the times of its products, each measured in a turn.
  Turn turn(double seconds, int64_t steps) {
    if (workload_.task == Task::generate)
      return take_turn(seconds, steps, [&] { kernels::read_all(a_.numel(), a_.data<float>()); });
    const double operations = bench::operations(workload_);
    if (workload_.dtype == DType::bfloat16) {
      const double ms = 1e3 * operations / (kReachable * kernels::bf16_rate(peak_seconds(seconds)));
      return {ms, ms, steps};
    }
    Turn sum{0, 0, steps};
    for (const Product& p : products_) {
      const double share = seconds * p.operations() / operations;
      Turn best = turn_of(p, BlasThreads::inside_product, share, steps);
      if (p.batch > 1 && num_threads() > 1)
        if (const Turn other = turn_of(p, BlasThreads::over_batch, share, steps);
            other.ms_median < best.ms_median)
          best = other;
      sum.ms_median += best.ms_median * static_cast<double>(p.times);
      sum.ms_min += best.ms_min * static_cast<double>(p.times);
      sum.steps = std::min(sum.steps, best.steps);
    }
    const double reachable_ms =
        1e3 * operations / (kReachable * kernels::multiply_add_rate(peak_seconds(seconds)));
    sum.ms_median = std::min(sum.ms_median, reachable_ms);
    sum.ms_min = std::min(sum.ms_min, reachable_ms);
    return sum;
  }

 private:
  // How long the machine's peak is measured; where a turn is a number of steps, as short as these.
  static double peak_seconds(double seconds) {
    return std::isfinite(seconds) ? std::min(seconds, kernels::kPeakSeconds) : kernels::kPeakSeconds / 32;
  }

  Turn turn_of(const Product& p, BlasThreads threads, double seconds, int64_t steps) {
    const auto trans = [](bool transposed) { return transposed ? kernels::Trans::yes : kernels::Trans::no; };
    const kernels::BlasProduct product{trans(p.transpose_a), trans(p.transpose_b), p.m, p.n, p.k, p.batch};
    float* c = c_.mutable_data<float>();
    return take_turn(seconds, std::max<int64_t>(steps, 2),
                     [&] { kernels::blas_product(product, threads, a_.data<float>(), b_.data<float>(), c); });
  }

  Workload workload_;
  std::vector<Product> products_;
  Tensor a_, b_, c_;
};

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Turn take_turn(double seconds, int64_t steps, const std::function<void()>& step, Profile::Clock now) {
  const auto ms_since = [now](int64_t start) { return static_cast<double>(now() - start) / 1e6; };
  const int64_t start = now();
  int64_t warm = 0;
  do {
    step();
  } while (++warm < steps / 10 && ms_since(start) < std::min(100 * seconds, kMostWarmUpMs));
  std::vector<double> ms;
  const int64_t begin = now();
  do {
    const int64_t before = now();
    step();
    ms.push_back(ms_since(before));
  } while (static_cast<int64_t>(ms.size()) < steps && ms_since(begin) < 1000 * seconds);
  return {median(ms), *std::min_element(ms.begin(), ms.end()), static_cast<int64_t>(ms.size())};
}

Result measure(const Workload& w, const MeasureOptions& options) {
  Result result;
  result.workload = w;
  Steps gradus(w);
  if (!options.save.empty()) gradus.save(options.save);
  release_cached_memory();  // what making the initial values used, and the workload before
  ::malloc_trim(0);
  reset_peak();
  gradus.begin(result);

  const double seconds = options.steps > 0 ? INFINITY : options.seconds / kRounds;
  const int64_t steps = options.steps > 0 ? (options.steps + kRounds - 1) / kRounds : 1'000'000;
  std::optional<Floor> floor;
  std::vector<double> ours, bare, ratios;
  result.ms_min = INFINITY;
  for (int round = 0; round < kRounds; ++round) {
    const Turn turn = take_turn(seconds, steps, [&] { gradus.step(); });
    ours.push_back(turn.ms_median / divisor(w));
    result.ms_min = std::min(result.ms_min, turn.ms_min / divisor(w));
    if (!floor) {  // whose memory is no part of the step's
      result.peak_mib = peak_mib();
      floor.emplace(w);
    }
    bare.push_back(floor->turn(seconds, steps).ms_median);
    ratios.push_back(ours.back() / bare.back());
  }
  result.ms_median = median(ours);
  result.tokens_per_s = 1e3 * static_cast<double>(w.tokens()) / result.ms_median;
  result.floor_ms = median(bare);
  result.floor_ratio = median(ratios);
  const double enough = std::clamp(300.0 / result.ms_median, 1.0, 100.0);  // a third of a second, or a step
  time_ops(w, gradus, static_cast<int64_t>(enough), result);
  return result;
}

}  // namespace gradus::bench
