// The difference of two settings that were trained with the same seeds.
#pragma once

#include <cstdint>
#include <vector>

namespace gradus::pages {

/// The mean difference between the losses of two settings, where each pair of runs has the same seed.
struct PairedDifference {
  double mean = 0;   ///< of b - a
  double error = 0;  ///< standard error of the mean
  double p = 1;      ///< two-sided, by Student's t-test of pairs
  int64_t seeds = 0;
};
/// The differences b[i] - a[i]. a and b must have the same number of values, at least two.
PairedDifference paired_difference(const std::vector<double>& a, const std::vector<double>& b);

/// The probability of a value of Student's t that is at least as far from 0. `degrees` is 1 or more.
double two_sided_p(double t, int64_t degrees);

}  // namespace gradus::pages
