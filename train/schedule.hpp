// Schedule: the learning rate of each step. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::train {

/// How the rate falls from lr to min_lr; constant leaves it at lr.
enum class Decay { cosine, linear, constant };

/// Throws Error for a name that is not one of decay_names().
Decay decay_from(std::string_view name);
std::vector<std::string> decay_names();  ///< cosine, linear, constant

/// The learning rate as a function of the step.
struct Schedule {
  double lr = 1e-3;             ///< at the end of the warm-up
  double min_lr = 1e-4;         ///< after all steps; not used by a constant schedule
  int64_t warmup = 100;         ///< steps
  int64_t steps = 2000;         ///< of the whole run, warm-up included
  Decay decay = Decay::cosine;  ///< after the warm-up

  /// The learning rate of step `step`, counted from 0: lr * (step + 1) / (warmup + 1) in the warm-up, so that
  /// the first step already learns; then from lr to min_lr along half a cosine (Loshchilov and Hutter, arXiv
  /// 1608.03983, eq. 5) or a line, reached at `steps`; min_lr from there on.
  double operator()(int64_t step) const;
};

}  // namespace gradus::train
