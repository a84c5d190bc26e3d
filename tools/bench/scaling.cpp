#include "gradus/tools/bench/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "gradus/files/error.hpp"
#include "gradus/tools/plots/svg.hpp"

namespace gradus::bench {
namespace {

// -- the picture

constexpr double kWidth = 400, kHeight = 280;                       // of a panel
constexpr double kLeft = 60, kRight = 16, kTop = 36, kBottom = 44;  // around its axes

struct Line {
  const char *name, *colour, *dashes;
  double ScalingPoint::*ms;
};
constexpr Line kLines[] = {{"measured", "#1f5fa8", "none", &ScalingPoint::ms},
                           {"predicted", "#c05a1a", "5 4", &ScalingPoint::predicted_ms},
                           {"floor", "#888888", "2 3", &ScalingPoint::floor_ms}};

double us_a_token(const Line& line, const ScalingPoint& p) {
  return 1e3 * p.*line.ms / static_cast<double>(p.workload.tokens());
}

/// The points of a series, on logarithmic axes.
std::string panel(std::span<const ScalingPoint> points) {
  using plots::Axis;
  double low = INFINITY, high = 0;
  std::vector<double> sizes;
  for (const ScalingPoint& p : points) {
    sizes.push_back(static_cast<double>(p.value));
    for (const Line& line : kLines) {
      low = std::min(low, us_a_token(line, p));
      high = std::max(high, us_a_token(line, p));
    }
  }
  const Axis x{sizes.front() / 1.1, sizes.back() * 1.1, kLeft, kWidth - kRight, true};
  const Axis y{low / 1.2, high * 1.2, kHeight - kBottom, kTop, true};
  std::string svg =
      plots::text(kLeft, 20, "time a token against " + points[0].varied, "font-weight=\"bold\"") +
      plots::axes(x, y, sizes) + plots::text(8, kTop - 4, "us");
  for (const Line& line : kLines) {
    std::vector<std::pair<double, double>> places;
    for (size_t i = 0; i < points.size(); ++i)
      places.emplace_back(x(sizes[i]), y(us_a_token(line, points[i])));
    svg += plots::path(places, line.colour, line.dashes);
    for (size_t i = 0; i < points.size() && &line == kLines; ++i)
      svg += plots::dot(places[i].first, places[i].second, points[i].slow() ? 5 : 3,
                        points[i].slow() ? "#c00000" : line.colour);
  }
  return svg;
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
       [](Workload& w, int64_t v) {  // heads keep their width
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

std::string scaling_plot(const std::vector<ScalingPoint>& points) {
  std::string body;
  int panels = 0;
  for (auto begin = points.begin(); begin != points.end(); ++panels) {
    const auto end =
        std::find_if(begin, points.end(), [&](const ScalingPoint& p) { return p.varied != begin->varied; });
    body += concat("<g transform=\"translate(", panels % 2 * kWidth, " ", panels / 2 * kHeight, ")\">\n",
                   panel({begin, end}), "</g>\n");
    begin = end;
  }
  const double height = (panels + 1) / 2 * kHeight;
  double x = kLeft;
  for (const Line& line : kLines) {
    body += plots::legend_entry(x, height + 10, line.name, line.colour, line.dashes);
    x += 130;
  }
  body += plots::text(x, height + 14, concat("large dots: over ", kSlow, " times the prediction"));
  return plots::picture(2 * kWidth, height + 30, body);
}

}  // namespace gradus::bench
