#include "gradus/tools/bench/scaling.hpp"

#include <algorithm>
#include <cmath>

namespace gradus::bench {
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

std::vector<ScalingPoint> measure_scaling(const CompareOptions& options, bool quick, DType dtype,
                                          const std::function<void(const ScalingPoint&)>& on_point) {
  std::vector<ScalingPoint> points = scaling_points(quick);
  Workload base = scaling_base(quick);
  base.dtype = dtype;
  double base_ms = INFINITY, base_floor = INFINITY;
  for (ScalingPoint& point : points) {
    point.workload.dtype = dtype;
    const Result now = compare(base, options), result = compare(point.workload, options);
    base_ms = std::min(base_ms, now.ms_min);
    base_floor = std::min(base_floor, now.floor_min);
    const double growth = passes(point.workload) / passes(base);
    point.ms = result.ms_min;
    point.floor_ms = result.floor_min;
    point.predicted_ms = point.floor_ms + std::max(0.0, base_ms - base_floor) * growth;
    on_point(point);
  }
  return points;
}

}  // namespace gradus::bench
