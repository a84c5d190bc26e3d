// GradMode: whether ops are recorded. Of this thread.
#pragma once

namespace gradus {

/// Whether ops of this thread are recorded.
bool grad_enabled();

/// While it lives, ops of this thread are recorded (true) or not (false).
class GradMode {
 public:
  /// Of this thread.
  explicit GradMode(bool enabled);
  ~GradMode();
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};

/// While it lives, nothing is recorded: evaluation, generation, updates of parameters.
class NoGrad : public GradMode {
 public:
  NoGrad() : GradMode(false) {}
};

}  // namespace gradus
