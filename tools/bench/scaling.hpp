// Scaling: does the cost of a step grow as its count of operations does? One size of a base model is varied
// at a time.
//
// What a step should take is predicted from its own floor (its products alone, run_floor()) and from what the
// base takes above its floor, times the ratio of how many numbers the two steps pass outside their products:
//
//   predicted = floor + (base - base floor) * passes / base passes
//
// Point, floor, base and base floor are measured in turn; of each the shortest step counts, the one that
// other work on the machine has disturbed least, of the base that of all turns so far.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradus/tools/bench/workload.hpp"

namespace gradus::bench {

inline constexpr double kSlow = 1.15;  ///< measured over predicted, above which a point is flagged

struct ScalingOptions {
  std::string program;  ///< the gradus that is measured
  int threads = 1;
  double seconds = 2;            ///< of measured steps a point
  bool quick = false;            ///< a few tiny sizes, to try it out
  DType dtype = DType::float32;  ///< of products: see Workload
};

struct ScalingPoint {
  std::string varied;  ///< block, width, layers or batch
  int64_t value = 0;
  Workload workload;
  double ms = 0, floor_ms = 0, predicted_ms = 0;  ///< a step
  double over_predicted() const { return ms / predicted_ms; }
  bool slow() const { return over_predicted() > kSlow; }
};

/// The models: varied size, value, workload; in four series.
std::vector<ScalingPoint> scaling_points(bool quick);
/// The model of which one size at a time is varied.
Workload scaling_base(bool quick);

/// Numbers read or written by the layers' element-wise work, forward and backward, and by clip and AdamW:
/// with each op a pass of its own, a token costs L (44 C + 2.5 H T) + 5 V + 12 C, a step 8 for each parameter
/// beside.
double passes(const Workload& workload);

/// Measures all points; calls on_point as each is done. Throws RunError if a side fails.
std::vector<ScalingPoint> measure_scaling(const ScalingOptions& options,
                                          const std::function<void(const ScalingPoint&)>& on_point);

/// A plot in SVG, of a panel a series: microseconds a token, measured, predicted and floor, on logarithmic
/// axes.
std::string scaling_plot(const std::vector<ScalingPoint>& points);

}  // namespace gradus::bench
