// Console: an observer for user programs. It prints progress lines. When the user asks for it, it stops the
// run, which is then saved. It handles signals (interrupt.hpp), so at most one may exist; not thread-safe.
#pragma once

#include <cstdint>
#include <ostream>

#include "gradus/files/error.hpp"
#include "gradus/train/interrupt.hpp"
#include "gradus/train/run.hpp"

namespace gradus::train {

class Console : public Observer {
 public:
  /// Prints to `out`, which is borrowed, after every `every` steps and after each evaluation.
  explicit Console(std::ostream& out, int64_t every = 100) : out_(out), every_(every) {}

  void on_step(const StepReport& report) override {
    if (report.step % every_ == 0)
      print("step ", report.step, "  loss ", report.loss, "  gradient ", report.grad_norm);
  }
  void on_eval(const EvalReport& report) override {
    print("step ", report.step, "  validation ", report.val_loss, report.is_best ? ", the best" : "");
  }
  /// True after Ctrl-C, SIGTERM or SIGHUP.
  bool should_stop() override { return interrupt_.signal() != 0; }

 private:
  template <class... Parts>
  void print(const Parts&... parts) {
    out_ << concat(parts..., "\n") << std::flush;
  }

  std::ostream& out_;
  int64_t every_;
  Interrupt interrupt_;
};

}  // namespace gradus::train
