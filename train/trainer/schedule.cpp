#include "gradus/train/trainer/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::train {

Decay decay_from(std::string_view name) {
  const std::vector<std::string> names = decay_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    fail("schedule", "decay must be ", listed(names), ", got ", files::in_quotes(name), ".");
  return static_cast<Decay>(found - names.begin());
}

std::vector<std::string> decay_names() { return {"cosine", "linear", "constant", "wsd"}; }

double Schedule::operator()(int64_t step) const {
  int64_t all = steps;
  for (size_t i = earlier_steps.size(); i >= 2 && step < earlier_steps[i - 2]; i -= 2)
    all = earlier_steps[i - 1];
  if (step < warmup) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup + 1);
  if (decay == Decay::constant) return lr;
  if (step >= all) return min_lr;
  if (decay == Decay::wsd) {
    const double length = cooldown * static_cast<double>(all);
    const double fallen = static_cast<double>(step) - (static_cast<double>(all) - length);
    return fallen <= 0 ? lr : min_lr + (1 - std::sqrt(fallen / length)) * (lr - min_lr);
  }
  const double done = static_cast<double>(step - warmup) / static_cast<double>(all - warmup);
  const double left = decay == Decay::linear ? 1 - done : (1 + std::cos(std::numbers::pi * done)) / 2;
  return min_lr + left * (lr - min_lr);
}

}  // namespace gradus::train
