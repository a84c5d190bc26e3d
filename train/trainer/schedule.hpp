// Schedule: the learning rate of each step. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::train {

/// How the rate falls from lr to min_lr. constant keeps lr; wsd keeps it until the cooldown.
enum class Decay { cosine, linear, constant, wsd };

/// Throws Error for a name that is not one of decay_names().
Decay decay_from(std::string_view name);
std::vector<std::string> decay_names();  ///< cosine, linear, constant, wsd

/// The learning rate as a function of the step.
struct Schedule {
  double lr = 1e-3;             ///< at the end of the warm-up
  double min_lr = 1e-4;         ///< after all steps; not used by a constant schedule
  int64_t warmup = 100;         ///< steps
  int64_t steps = 2000;         ///< of the whole run, including the warm-up
  Decay decay = Decay::cosine;  ///< after the warm-up
  double cooldown = 0.3;        ///< the part of the steps, at the end, during which the rate of wsd falls
  /// Earlier numbers of steps, if the number changed: see TrainConfig::earlier_steps.
  std::vector<int64_t> earlier_steps = {};

  /// The learning rate of step `step`, counted from 0: lr * (step + 1) / (warmup + 1) in the warm-up; then it
  /// falls from lr to min_lr, at `steps` and later, along half a cosine (Loshchilov and Hutter, arXiv
  /// 1608.03983, eq. 5) or a line. wsd (warm-up, stable, decay) keeps lr, and during the last cooldown *
  /// steps falls as 1 - sqrt(x) for x from 0 to 1 (Haegele et al., arXiv 2405.18392). For a pair (done,
  /// planned) of earlier_steps, the rates of steps below `done` are those of a run of `planned` steps.
  double operator()(int64_t step) const;
};

}  // namespace gradus::train
