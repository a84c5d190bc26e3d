#include "gradus/cli/plots/axis.hpp"

#include <algorithm>

#include "gradus/files/error.hpp"

namespace gradus::plots {

void Range::add(double value) {
  if (!std::isfinite(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

Range Range::widened() const {
  const double size = std::max({1.0, std::fabs(low), std::fabs(high)}), length = high - low;
  const double more = length > 1e-6 * size ? 0.04 * length : 0.5 * size;
  return {low - more, high + more};
}

std::vector<double> ticks(const Range& range, int most) {
  const double least = (range.high - range.low) / most;
  const double tens = std::pow(10.0, std::floor(std::log10(least)));
  double step = 10 * tens;
  for (const double digit : {5.0, 2.0, 1.0})
    if (digit * tens >= least) step = digit * tens;
  std::vector<double> at;
  const double first = std::ceil(range.low / step);
  for (int i = 0; i <= most; ++i)
    if (const double value = (first + i) * step + 0.0; value <= range.high) at.push_back(value);  // 0, not -0
  return at;
}

std::string label(double value) { return concat(std::round(value * 1000) / 1000); }

}  // namespace gradus::plots
