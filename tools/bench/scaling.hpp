// Scaling: checks that the cost of a step grows as its number of operations. One size of a base model is
// varied at a time.
//
// The predicted time is the step's own floor (its products alone, run_floor()), and the time of the base
// above its floor, times the ratio of the numbers that the two steps pass outside their products:
//
//   predicted = floor + (base - base floor) * passes / base passes
//
// The base is measured before each point. The shortest steps count, because other work on the machine
// disturbed them least; for the base, the shortest of all its turns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradus/tools/bench/compare.hpp"
#include "gradus/tools/bench/workload.hpp"

namespace gradus::bench {

inline constexpr double kSlow = 1.15;  ///< measured over predicted, above which a point is flagged

struct ScalingPoint {
  std::string varied;  ///< block, width, layers or batch
  int64_t value = 0;
  Workload workload;
  double ms = 0, floor_ms = 0, predicted_ms = 0;  ///< per step
  double over_predicted() const { return ms / predicted_ms; }
  bool slow() const { return over_predicted() > kSlow; }
};

/// The points to measure, in four series.
std::vector<ScalingPoint> scaling_points(bool quick);
/// The model whose sizes are varied.
Workload scaling_base(bool quick);

/// Numbers read or written by the layers' element-wise work, forward and backward, and by clip and AdamW, if
/// each op is a separate pass: L (44 C + 2.5 H T) + 5 V + 12 C per token, and 8 per parameter in a step.
double passes(const Workload& workload);

/// Measures all points with products in `dtype`; calls on_point as each is done. Throws RunError if a side
/// fails.
std::vector<ScalingPoint> measure_scaling(const CompareOptions& options, bool quick, DType dtype,
                                          const std::function<void(const ScalingPoint&)>& on_point);

/// A plot in SVG with a panel for each series: microseconds per token, measured, predicted and floor, on
/// logarithmic axes.
std::string scaling_plot(const std::vector<ScalingPoint>& points);

}  // namespace gradus::bench
