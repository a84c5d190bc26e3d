#include "gradus/annexes/pages/report/paired_difference.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gradus::pages {

// Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
double two_sided_p(double t, int64_t degrees) {
  if (std::isinf(t)) return 0;
  const double angle = std::atan(std::abs(t) / std::sqrt(static_cast<double>(degrees)));
  const double cosine = std::cos(angle);
  const bool is_odd = degrees % 2 == 1;
  double sum = 0, term = is_odd ? cosine : 1;
  for (int64_t i = is_odd ? 1 : 0; i <= degrees - 2; i += 2) {
    sum += term;
    term *= cosine * cosine * static_cast<double>(i + 1) / static_cast<double>(i + 2);
  }
  const double inside =
      is_odd ? 2 / std::numbers::pi * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
  return std::clamp(1 - inside, 0.0, 1.0);
}

PairedDifference paired_difference(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  double sum = 0, squares = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += b[i] - a[i];
  for (size_t i = 0; i < a.size(); ++i) squares += std::pow(b[i] - a[i] - sum / n, 2);
  PairedDifference result{
      .mean = sum / n, .error = std::sqrt(squares / (n - 1) / n), .seeds = static_cast<int64_t>(a.size())};
  if (result.error > 0)
    result.p = two_sided_p(result.mean / result.error, result.seeds - 1);
  else
    result.p = result.mean == 0 ? 1 : 0;
  return result;
}

}  // namespace gradus::pages
