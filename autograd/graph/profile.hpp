// Profile: the time of each op, forward and backward.
//
//   Profile profile;
//   {
//     const Profiling on(&profile);
//     model.loss(x, y).backward();
//   }
//   for (const ProfileEvent& e : profile.events()) ...
//
// Forward: an event ends when the op calls record(), after its values were computed, and starts at the end of
// the event before it, so work between two ops counts for the second one. Backward: from the call of the op's
// rule, with the ops that it calls, until its gradients are summed and its captures freed. ProfileSpan times
// other work. Ops inside a checkpoint are forward again when they are recomputed.
//
// Without a profile it costs one branch for each op. A Profile collects from the threads that report to it,
// one at a time; it owns its events, names are borrowed from the ops (string literals).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/tensor/shape.hpp"

namespace gradus {

/// One op or span.
struct ProfileEvent {
  /// The kind of an event.
  enum class Phase : uint8_t {
    forward,   ///< an op's values
    backward,  ///< an op's gradient rule
    work,      ///< a span of other work: a batch, an update
    group      ///< encloses events of the other kinds
  };

  std::string_view name;      ///< of the op, as in kRecordedOps, or of the span
  Phase phase;                ///< which pass it was in
  Shape shape;                ///< of the op's result, in both directions; empty for spans
  double start = 0, end = 0;  ///< seconds since the Profile was made

  double seconds() const { return end - start; }  ///< from start to end
};

int64_t steady_nanoseconds();  ///< std::chrono::steady_clock's

class Profile {
 public:
  /// Returns nanoseconds that never decrease.
  using Clock = int64_t (*)();
  /// Empty; its times begin now.
  explicit Profile(Clock clock = steady_nanoseconds) : clock_(clock), origin_(clock()) {}
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// In the order of their ends: a group comes after the events it encloses.
  const std::vector<ProfileEvent>& events() const { return events_; }
  /// A time of the clock, in seconds since the Profile was made.
  double seconds_at(int64_t nanoseconds) const { return static_cast<double>(nanoseconds - origin_) / 1e9; }

 private:
  friend class Profiling;
  friend class ProfileSpan;
  friend void profile_op(std::string_view name, const Shape& shape);
  double now() const { return seconds_at(clock_()); }
  void add(std::string_view name, ProfileEvent::Phase phase, const Shape& shape, double start);

  Clock clock_;
  int64_t origin_;
  std::vector<ProfileEvent> events_;
  double last_end_ = 0;
  int inside_ = 0;  // spans that swallow the ops in them
};

/// The Profile that this thread reports to; null if none.
extern constinit thread_local Profile* active_profile;

/// During its lifetime this thread reports to `profile`; null stops the reports.
class Profiling {
 public:
  /// `profile` is borrowed.
  [[nodiscard]] explicit Profiling(Profile* profile) : active_(active_profile, profile) {
    if (profile) profile->last_end_ = profile->now();
  }

 private:
  autograd::Scoped<Profile*> active_;
};

/// Times its own lifetime. Ops inside are part of it, except in a group.
class ProfileSpan {
 public:
  /// `name` must live as long as the Profile, `shape` (none if null) as long as the span.
  [[nodiscard]] explicit ProfileSpan(std::string_view name,
                                     ProfileEvent::Phase phase = ProfileEvent::Phase::work,
                                     const Shape* shape = nullptr) {
    if (active_profile) [[unlikely]]
      begin(name, phase, shape);
  }
  ~ProfileSpan() {
    if (profile_) [[unlikely]]
      end();
  }
  ProfileSpan(const ProfileSpan&) = delete;
  ProfileSpan& operator=(const ProfileSpan&) = delete;

 private:
  void begin(std::string_view name, ProfileEvent::Phase phase, const Shape* shape);
  void end();

  Profile* profile_ = nullptr;
  std::string_view name_;
  ProfileEvent::Phase phase_{};
  const Shape* shape_ = nullptr;
  double start_ = 0;
};

/// record() calls it when an op's values have been computed.
void profile_op(std::string_view name, const Shape& shape);

}  // namespace gradus
