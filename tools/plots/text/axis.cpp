#include "gradus/tools/plots/text/axis.hpp"

#include <algorithm>

#include "gradus/files/error.hpp"

namespace gradus::plots {
namespace {

/// 1, 2, 5, 10, 20, ..., and some between them on a short axis.
std::vector<double> logarithmic_ticks(const Axis& axis) {
  const bool is_short = axis.high / axis.low < 8;
  const std::vector<double> digits =
      is_short ? std::vector{1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0} : std::vector{1.0, 2.0, 5.0};
  std::vector<double> at;
  for (int tens = -9; tens <= 9; ++tens)
    for (const double digit : digits)
      if (const double value = digit * std::pow(10.0, tens); value >= axis.low && value <= axis.high)
        at.push_back(value);
  return at;
}

/// Multiples of 1, 2 or 5 times a power of ten.
std::vector<double> even_ticks(const Axis& axis, int most) {
  const double least = (axis.high - axis.low) / most;
  const double tens = std::pow(10.0, std::floor(std::log10(least)));
  double step = 10 * tens;
  for (const double digit : {5.0, 2.0, 1.0})
    if (digit * tens >= least) step = digit * tens;
  std::vector<double> at;
  const double first = std::ceil(axis.low / step);
  for (int i = 0; i <= most; ++i)
    if (const double value = (first + i) * step + 0.0; value <= axis.high) at.push_back(value);  // 0, not -0
  return at;
}

}  // namespace

double Axis::operator()(double value) const {
  const double part =
      logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return from + (to - from) * part;
}

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

std::vector<double> ticks(const Axis& axis, int most) {
  return axis.logarithmic ? logarithmic_ticks(axis) : even_ticks(axis, most);
}

std::string label(double value) { return concat(std::round(value * 1000) / 1000); }

}  // namespace gradus::plots
