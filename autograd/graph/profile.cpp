#include "gradus/autograd/graph/profile.hpp"

#include <chrono>

namespace gradus {

int64_t steady_nanoseconds() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

constinit thread_local Profile* active_profile = nullptr;

void Profile::add(std::string_view name, ProfileEvent::Phase phase, const Shape& shape, double start) {
  last_end_ = now();
  events_.push_back({name, phase, shape, start, last_end_});
}

void ProfileSpan::begin(std::string_view name, ProfileEvent::Phase phase, const Shape* shape) {
  profile_ = active_profile;
  name_ = name;
  phase_ = phase;
  shape_ = shape;
  start_ = profile_->last_end_ = profile_->now();
  if (phase != ProfileEvent::Phase::group) ++profile_->inside_;
}

void ProfileSpan::end() {
  if (phase_ != ProfileEvent::Phase::group) --profile_->inside_;
  if (phase_ == ProfileEvent::Phase::group || profile_->inside_ == 0)
    profile_->add(name_, phase_, shape_ ? *shape_ : Shape(), start_);
}

void profile_op(std::string_view name, const Shape& shape) {
  Profile& profile = *active_profile;
  if (profile.inside_ == 0) profile.add(name, ProfileEvent::Phase::forward, shape, profile.last_end_);
}

}  // namespace gradus
