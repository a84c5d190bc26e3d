#include "gradus/train/console.hpp"

#include "gradus/files/error.hpp"

namespace gradus::train {

void Console::on_step(const StepReport& report) {
  if (report.step % every_ == 0)
    out_ << concat("step ", report.step, "  loss ", report.loss, "  gradient ", report.grad_norm, "\n")
         << std::flush;
}

void Console::on_eval(const EvalReport& report) {
  out_ << concat("step ", report.step, "  validation ", report.val_loss, report.is_best ? ", the best" : "",
                 "\n")
       << std::flush;
}

}  // namespace gradus::train
