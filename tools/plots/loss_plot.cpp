#include "gradus/tools/plots/loss_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "gradus/files/error.hpp"
#include "gradus/tools/plots/svg.hpp"

namespace gradus::plots {
namespace {

constexpr double kWidth = 720, kHeight = 420;
constexpr double kLeft = 56, kRight = 20, kTop = 40, kBottom = 48;
constexpr const char* kInk = "#444444";
constexpr double kLine = 18;  // of the legend
constexpr const char *kFaint = "stroke-opacity=\"0.3\"", *kThick = "stroke-width=\"2\"";
constexpr size_t kMeans = 100;                                 // of training losses, at most
constexpr std::array kTextColours = {36, 35, 33, 32, 34, 31};  // of a terminal
constexpr std::string_view kMarks = "ox+*#@%&";
constexpr std::array kColours = {"#1f5fa8", "#c05a1a", "#3a8a3a", "#8a4fa8",
                                 "#a83a5a", "#2a8f96", "#7a6a1a", "#555555"};

/// At most kMeans points, each the average of neighbours.
std::vector<LossPoint> means(const std::vector<LossPoint>& points) {
  const size_t together = (points.size() + kMeans - 1) / kMeans;
  std::vector<LossPoint> some;
  for (size_t begin = 0; begin < points.size(); begin += together) {
    const size_t end = std::min(begin + together, points.size());
    const auto mean = [&](double LossPoint::*value) {
      double sum = 0;
      for (size_t i = begin; i < end; ++i) sum += points[i].*value;
      return sum / static_cast<double>(end - begin);
    };
    some.push_back({mean(&LossPoint::step), mean(&LossPoint::minutes), mean(&LossPoint::loss)});
  }
  return some;
}

double time_of(const LossPoint& point, const LossPlotOptions& options) {
  return options.by_steps ? point.step : point.minutes;
}

/// Points with a finite loss that the horizontal axis has.
Points shown(const std::vector<LossPoint>& points, const LossPlotOptions& options) {
  Points shown;
  for (const LossPoint& point : points)
    if (std::isfinite(point.loss) && (!options.logarithmic || time_of(point, options) > 0))
      shown.emplace_back(time_of(point, options), point.loss);
  return shown;
}

/// The ranges of both axes; their places are 0.
struct LossAxes {
  LossAxes(const std::vector<LossCurve>& curves, const LossPlotOptions& options) {
    Range time, loss;
    double begin = INFINITY;  // start of a logarithmic axis: earlier times would fill most of it
    for (const LossCurve& curve : curves) {
      const bool validates = !curve.validation.empty();
      for (const auto* points : {&curve.training, &curve.validation})
        for (const LossPoint& point : *points) {
          const double at = time_of(point, options);
          if (std::isnan(at))
            fail("plot", curve.name, " must have logged the time, got none. Hint: --by steps.");
          if (options.logarithmic && !(at > 0)) continue;
          time.add(at);
          if (points == &curve.validation || !validates) begin = std::min(begin, at);
        }
      for (const LossPoint& point : curve.validation) loss.add(point.loss);
      const std::vector<LossPoint> trained = means(curve.training);
      for (size_t i = trained.size() / 10; i < trained.size(); ++i)
        if (!validates || trained[i].loss < loss.low) loss.add(trained[i].loss);
    }
    if (!(loss.high >= loss.low) || !(time.high >= time.low))
      fail("plot", "the runs must have finite losses at times above 0, got none.");
    if (options.logarithmic)
      x = {begin / 1.5, time.high * 1.1, 0, 0, true};
    else
      x = {0, time.high > 0 ? time.high * 1.02 : 1, 0, 0, false};
    const Range losses = loss.widened();
    y = {losses.low, losses.high, 0, 0, false};
  }
  Axis x{}, y{};
};

std::string tokens(int64_t count) { return count > 0 ? concat(" on ", count, " tokens") : ""; }

/// The name of a run and its last losses, for the legend.
std::string summary(const LossCurve& curve) {
  const auto& last = curve.validation.empty() ? curve.training : curve.validation;
  return concat(curve.name, ": ", label(last.back().loss),
                curve.validation.empty() ? " in training" : " at the end", tokens(curve.validation_tokens),
                curve.end ? concat("; the best model ", label(*curve.end), tokens(curve.end_tokens)) : "");
}

class LossPlot {
 public:
  LossPlot(const std::vector<LossCurve>& curves, const LossPlotOptions& options)
      : curves_(curves), options_(options), axes_(curves, options) {
    axes_.x.from = kLeft, axes_.x.to = kWidth - kRight;
    axes_.y.from = kHeight - kBottom, axes_.y.to = kTop;
  }

  std::string svg() const {
    std::string lines;
    for (size_t i = 0; i < curves_.size(); ++i) lines += curve(curves_[i], i);
    return picture(
        kWidth, kHeight + legend_height(),
        concat("<clipPath id=\"inside\"><rect x=\"", kLeft, "\" y=\"", kTop, "\" width=\"",
               kWidth - kRight - kLeft, "\" height=\"", kHeight - kBottom - kTop, "\"/></clipPath>\n", axes(),
               "<g clip-path=\"url(#inside)\">\n", lines, "</g>\n", legend()));
  }

 private:
  std::string axes() const {
    return text(kLeft, 20, concat("loss against ", options_.by_steps ? "steps" : "minutes"),
                "font-weight=\"bold\"") +
           text((kLeft + kWidth - kRight) / 2, axes_.y.from + 34, options_.by_steps ? "steps" : "minutes",
                "text-anchor=\"middle\"") +
           text(14, (kTop + axes_.y.from) / 2, "loss, nats a token",
                concat("text-anchor=\"middle\" transform=\"rotate(-90 14 ", (kTop + axes_.y.from) / 2,
                       ")\"")) +
           plots::axes(axes_.x, axes_.y, ticks(axes_.x));
  }

  Points places(const std::vector<LossPoint>& points) const {
    Points places = shown(points, options_);
    for (auto& [x, y] : places) x = axes_.x(x), y = axes_.y(y);
    return places;
  }

  std::string curve(const LossCurve& curve, size_t index) const {
    std::string svg = path(places(means(curve.training)), colour(index), "none", kFaint);
    const auto validation = places(curve.validation);
    svg += path(validation, colour(index), dashes(index), kThick);
    for (const auto& [x, y] : validation) svg += dot(x, y, 3, colour(index));
    return svg;
  }

  static const char* colour(size_t index) { return kColours[index % kColours.size()]; }
  static const char* dashes(size_t index) { return index / kColours.size() % 2 == 0 ? "none" : "6 3"; }

  double legend_height() const { return kLine * static_cast<double>(curves_.size() + 1) + 12; }

  /// One line for each run, with its last validation loss; then the styles of the lines.
  std::string legend() const {
    std::string svg;
    double y = kHeight;
    for (size_t i = 0; i < curves_.size(); ++i, y += kLine)
      svg += legend_entry(kLeft, y, summary(curves_[i]), colour(i), dashes(i), kThick);
    return svg + legend_entry(kLeft, y, "validation loss", kInk, "none", kThick) +
           dot(kLeft + 15, y, 3, kInk) +
           legend_entry(kLeft + 190, y, "training loss, averaged over neighbouring steps", kInk, "none",
                        kFaint);
  }

  const std::vector<LossCurve>& curves_;
  LossPlotOptions options_;
  LossAxes axes_;
};

/// The rows of columns as points; a value that is missing is NaN.
std::vector<LossPoint> points_of(const pages::Columns& columns, const char* loss) {
  std::vector<LossPoint> points;
  if (columns.empty()) return points;
  const std::vector<double>&steps = columns.at("step"), &seconds = columns.at("elapsed_s");
  for (size_t i = 0; i < steps.size(); ++i)
    points.push_back({steps[i], seconds[i] / 60, columns.at(loss)[i]});
  return points;
}

/// The last number of tokens, or 0 if another program wrote another value.
int64_t count_of(const pages::Columns& columns, const char* key) {
  if (columns.empty()) return 0;
  const double value = columns.at(key).back();
  return value >= 0 && value < 0x1p53 ? static_cast<int64_t>(value) : 0;
}

}  // namespace

LossCurve read_losses(const pages::LoggedRun& run) {
  LossCurve curve{.name = run.name(),
                  .training = points_of(run.steps(), "loss"),
                  .validation = points_of(run.evaluations(), "val_loss"),
                  .validation_tokens = count_of(run.evaluations(), "tokens")};
  if (curve.training.empty() && curve.validation.empty())
    fail("plot", run.folder(), " must have losses, got none.");
  if (!run.end().empty() && std::isfinite(run.end().at("val_loss")[0])) {
    curve.end = run.end().at("val_loss")[0];
    curve.end_tokens = count_of(run.end(), "val_tokens");
  }
  return curve;
}

std::string loss_plot(const std::vector<LossCurve>& curves, const LossPlotOptions& options) {
  return LossPlot(curves, options).svg();
}

std::string loss_chart(const std::vector<LossCurve>& curves, const LossPlotOptions& options,
                       const ChartSize& size) {
  const LossAxes axes(curves, options);
  std::vector<Series> lines, marks;
  std::string legend;
  for (size_t i = 0; i < curves.size(); ++i) {
    const int colour = kTextColours[i % kTextColours.size()];
    const char mark = kMarks[i % kMarks.size()];
    const Points training = shown(means(curves[i].training), options);
    Points marked = shown(curves[i].validation, options);
    if (marked.empty() && !training.empty()) marked.push_back(training.back());
    lines.push_back({training, colour});
    marks.push_back({marked, colour, mark});
    const std::string sign(1, mark);
    legend += concat(size.colours ? concat("\033[", colour, "m", sign, "\033[0m") : sign, " ",
                     summary(curves[i]), "\n");
  }
  lines.insert(lines.end(), marks.begin(), marks.end());
  std::string text = "loss, nats a token\n";
  for (const std::string& line : chart(lines, axes.x, axes.y, options.by_steps ? "steps" : "minutes", size))
    text += line + "\n";
  return text + legend + "Marks: validation loss, or a run's end. Lines: training loss, averaged.\n";
}

}  // namespace gradus::plots
