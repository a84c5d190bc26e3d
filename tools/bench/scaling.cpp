#include "gradus/tools/bench/scaling.hpp"

#include <algorithm>
#include <cmath>

#include "gradus/tools/bench/compare.hpp"

namespace gradus::bench {
namespace {

constexpr int kRounds = 3;

/// Steps and floor of one workload, in two processes, and the shortest of each so far.
struct Pair {
  Pair(const Workload& w, const ScalingOptions& o)
      : steps("gradus", worker_command(w, o.program, o.threads, "steps")),
        floor("the floor", worker_command(w, o.program, o.threads, "floor")),
        seconds(o.seconds / kRounds) {}

  void take_turn() {
    ms = std::min(ms, steps.run(seconds, 1'000'000).ms_min);
    floor_ms = std::min(floor_ms, floor.run(seconds, 1'000'000).ms_min);
  }

  Contender steps, floor;
  double seconds;
  double ms = INFINITY, floor_ms = INFINITY;
};

void measure(ScalingPoint& point, Pair& base, const ScalingOptions& options) {
  Pair pair(point.workload, options);
  for (int round = 0; round < kRounds; ++round) {
    base.take_turn();
    pair.take_turn();
  }
  const double growth = passes(point.workload) / passes(scaling_base(options.quick));
  point.ms = pair.ms;
  point.floor_ms = pair.floor_ms;
  point.predicted_ms = pair.floor_ms + std::max(0.0, base.ms - base.floor_ms) * growth;
}

}  // namespace

Workload scaling_base(bool quick) {
  if (quick)
    return {"base",
            Task::train,
            {.vocab_size = 32, .block_size = 16, .n_layer = 1, .n_head = 1, .n_embd = 32},
            2};
  return {"base",
          Task::train,
          {.vocab_size = 256, .block_size = 128, .n_layer = 4, .n_head = 4, .n_embd = 256},
          8};
}

std::vector<ScalingPoint> scaling_points(bool quick) {
  using Values = std::vector<int64_t>;
  struct Series {
    const char* varied;
    Values values, quick_values;
    void (*set)(Workload& w, int64_t value);
  };
  const Series all[] = {
      {"block",
       {64, 128, 256, 512, 1024, 2048, 4096},
       {16, 32},
       [](Workload& w, int64_t v) { w.config.block_size = v; }},
      {"width",
       {128, 256, 512, 1024, 2048},
       {32, 64},
       [](Workload& w, int64_t v) {  // heads stay as wide as they are
         w.config.n_head = v * w.config.n_head / w.config.n_embd;
         w.config.n_embd = v;
       }},
      {"layers", {2, 4, 8, 16, 24}, {1, 2}, [](Workload& w, int64_t v) { w.config.n_layer = v; }},
      {"batch", {1, 4, 16, 64}, {1, 2}, [](Workload& w, int64_t v) { w.batch = v; }}};
  std::vector<ScalingPoint> points;
  for (const Series& series : all)
    for (const int64_t value : quick ? series.quick_values : series.values) {
      ScalingPoint point{.varied = series.varied, .value = value, .workload = scaling_base(quick)};
      series.set(point.workload, value);
      points.push_back(point);
    }
  return points;
}

double passes(const Workload& w) {
  const auto number = [](int64_t n) { return static_cast<double>(n); };
  const double L = number(w.config.n_layer), C = number(w.config.n_embd), T = number(w.config.block_size),
               H = number(w.config.n_head), V = number(w.config.vocab_size);
  const double token = L * (44 * C + 2.5 * H * T) + 5 * V + 12 * C;
  return number(w.tokens()) * token + 8 * number(w.config.num_parameters());
}

std::vector<ScalingPoint> measure_scaling(const ScalingOptions& options,
                                          const std::function<void(const ScalingPoint&)>& on_point) {
  std::vector<ScalingPoint> points = scaling_points(options.quick);
  Workload base_workload = scaling_base(options.quick);
  base_workload.dtype = options.dtype;
  Pair base(base_workload, options);
  for (int round = 0; round < kRounds; ++round) base.take_turn();
  for (ScalingPoint& point : points) {
    point.workload.dtype = options.dtype;
    measure(point, base, options);
    on_point(point);
  }
  return points;
}

}  // namespace gradus::bench
