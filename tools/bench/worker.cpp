#include "gradus/tools/bench/worker.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
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
#include "gradus/autograd/kernels/machine_peak.hpp"
#include "gradus/autograd/kernels/quantized/quantized.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/random/random.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/generate.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::bench {
namespace {

using Json = nlohmann::ordered_json;
constexpr double kMostWarmUpMs = 50;

// Peak of this program; without /proc it includes the program before exec.
double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;)
    if (double kib = 0; key == "VmHWM:" && status >> kib) return kib / 1024;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

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
    nn::save_safetensors(path, state);
  }

  /// Results that a twin must reproduce.
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

/// Milliseconds per step by op, the most expensive op first.
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

// -- the floor

using kernels::BlasThreads;

constexpr double kReachable = 0.9;  // good products reach this part of the machine's peak

/// The products of a workload, on memory that all of them share.
class Products {
 public:
  explicit Products(const Workload& w) : workload_(w), products_(products(w)) {
    int64_t a = 0, b = 0, c = 0;
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

  /// The floor of a step: the sum of the times of its products, each measured in a turn.
  Turn turn(double seconds, int64_t steps) {
    const double operations = bench::operations(workload_);
    if (workload_.dtype == DType::bfloat16) {
      const double ms =
          1e3 * operations / (kReachable * kernels::bf16_rate(std::min(seconds, kernels::kPeakSeconds)));
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
        1e3 * operations /
        (kReachable * kernels::multiply_add_rate(std::min(seconds, kernels::kPeakSeconds)));
    sum.ms_median = std::min(sum.ms_median, reachable_ms);
    sum.ms_min = std::min(sum.ms_min, reachable_ms);
    return sum;
  }

 private:
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

// See proc(5), clear_refs. In a kernel without it, the peak is that of the whole process.
void reset_peak_memory_of_process() { std::ofstream("/proc/self/clear_refs") << "5"; }

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

void answer_commands(std::istream& in, std::ostream& out, const std::function<Turn(double, int64_t)>& run,
                     const std::function<std::string(const std::string&)>& other) {
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string command;
    double seconds = 0;
    int64_t steps = 0;
    words >> command;
    if (command == "run" && words >> seconds >> steps) {
      const Turn turn = run(seconds, steps);
      out << Json{{"ms_median", turn.ms_median}, {"ms_min", turn.ms_min}, {"steps", turn.steps}} << std::endl;
    } else if (command == "memory") {
      out << Json{{"peak_mib", peak_mib()}} << std::endl;
    } else if (other) {
      out << other(line) << std::endl;
    } else {
      fail("bench", "a worker's commands are run, ops and memory, got '", line, "'.");
    }
  }
}

void run_floor(const Workload& workload, std::istream& in, std::ostream& out) {
  if (workload.task == Task::generate) {
    const int64_t bytes = element_size(workload.dtype) * workload.config.num_parameters() /
                          (is_in_tiles(workload.dtype) ? kWeightRows * kWeightColumns : 1);
    const Tensor values = ones({bytes / element_size(DType::float32)});
    out << "{}" << std::endl;
    const auto read = [&] { kernels::read_all(values.numel(), values.data<float>()); };
    return answer_commands(in, out,
                           [&](double seconds, int64_t steps) { return take_turn(seconds, steps, read); });
  }
  Products all(workload);
  out << "{}" << std::endl;
  answer_commands(in, out, [&](double seconds, int64_t steps) { return all.turn(seconds, steps); });
}

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
