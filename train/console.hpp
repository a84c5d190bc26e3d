// Console: the observer for a program of one's own: a line now and then, and a stop, with all saved, when
// somebody asks. One at a time, as it takes over the signals (see interrupt.hpp); not thread-safe.
#pragma once

#include <cstdint>
#include <ostream>

#include "gradus/train/interrupt.hpp"
#include "gradus/train/run.hpp"

namespace gradus::train {

class Console : public Observer {
 public:
  /// Prints to `out`, which is borrowed, after every `every` steps and after each evaluation.
  explicit Console(std::ostream& out, int64_t every = 100) : out_(out), every_(every) {}

  void on_step(const StepReport& report) override;
  void on_eval(const EvalReport& report) override;
  /// After Ctrl-C, SIGTERM or SIGHUP.
  bool should_stop() override { return interrupt_.signal() != 0; }

 private:
  std::ostream& out_;
  int64_t every_;
  Interrupt interrupt_;
};

}  // namespace gradus::train
