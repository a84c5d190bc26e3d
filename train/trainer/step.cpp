// One step of a Trainer: the gradients of its batches, then the update.
#include <chrono>
#include <cmath>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/file.hpp"
#include "gradus/train/optimizers/clip.hpp"
#include "gradus/train/trainer/gradient_exchange.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::train {
namespace {

void check_is_finite(std::string_view what, double value, const StepReport& step) {
  if (std::isfinite(value)) return;
  throw NotFinite("[train] the ", what, " must stay finite, got ", value, " at step ", step.step,
                  ", learning rate ", step.lr, ". Hint: lower ", Option{"lr"}, ", lengthen ",
                  Option{"warmup"}, ", or lower ", Option{"clip"}, ".");
}

}  // namespace

StepReport Trainer::step(LayerReport* layers) {
  const double lr = recipe_.schedule(step_);
  try {
    const auto start = std::chrono::steady_clock::now();
    StepReport report = make_step(lr, layers);
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
  } catch (const NotFinite&) {
    throw;
  } catch (const files::ReadFailed&) {  // before the others began
    throw;
  } catch (const std::exception& e) {
    if (ranks_) ranks_->abort(e.what());
    throw;
  }
}

StepReport Trainer::make_step(double lr, LayerReport* layers) {
  const Profiling profiling(profile_ ? profile_ : active_profile);
  const ProfileSpan span("step", ProfileEvent::Phase::group);
  StepReport report{.step = step_ + 1, .lr = lr};
  compute_gradients(report);
  check_is_finite("loss", report.loss, report);
  {
    const ProfileSpan clip("clip");
    report.grad_norm = exchange_->norm();
  }
  check_is_finite("gradient", report.grad_norm, report);
  std::vector<Tensor> before;  // undefined for frozen parameters
  for (const Tensor& p : layers ? parameters_ : std::vector<Tensor>())
    before.push_back(p.requires_grad() ? p.detach() * 1.0 : Tensor());
  {
    const ProfileSpan update(recipe_.optimizer->name());
    const Autocast autocast(recipe_.loop.precision);
    exchange_->update([&](const Optimizer::Updated& updated) {
      recipe_.optimizer->step(lr, clip_scale(report.grad_norm, recipe_.loop.clip), updated);
    });
    if (average_) average_->update();
  }
  step_ = report.step;
  if (layers) measure_update(before, *layers);
  return report;
}

void Trainer::compute_gradients(StepReport& report) {
  const Autocast autocast(recipe_.loop.precision);
  model_.train();
  for (Tensor& p : parameters_) p.zero_grad();  // also those that the optimizer has not
  const StepSums sums = exchange_->compute({
      .draw = [&](int64_t micro_batch) { return draw(micro_batch); },
      .begin =
          [&] {
            if (leads()) lead(Order::step, report.lr);
          },
      .backward = [&](int64_t micro_batch, const std::vector<data::Batch>& batches,
                      double targets) { return backward(micro_batch, batches, targets); },
  });
  if (sums.targets == 0) fail("train", "a step must have a target, got none in its batches.");
  report.loss = sums.loss;
  report.tokens = static_cast<int64_t>(sums.targets);
}

double Trainer::backward(int64_t micro_batch, const std::vector<data::Batch>& batches, double targets) {
  Generator own = stream("dropout", micro_batch);
  Generator& dropout = recipe_.loop.micro == 1 ? dropout_ : own;
  double total = 0;
  for (const data::Batch& batch : batches) {
    const auto part = static_cast<double>(batch.targets());
    if (part == 0) continue;  // the mean over none is NaN
    const Tensor loss = recipe_.loss(batch, &dropout) * (part / targets);
    total += loss.item();
    loss.backward();
  }
  return total;
}

std::vector<data::Batch> Trainer::draw(int64_t micro_batch) {
  const LoopOptions& loop = recipe_.loop;
  const bool is_whole = loop.micro == 1;  // with the streams of one process
  const int64_t examples = loop.batch * loop.accum, count = is_whole ? loop.accum : 1,
                each = is_whole ? loop.batch : examples / loop.micro;
  Generator data = is_whole ? data_ : stream("data", micro_batch);
  std::vector<data::Batch> drawn;
  for (int64_t i = 0; i < count; ++i) {
    const ProfileSpan span("batch");
    drawn.push_back(recipe_.batches(each, data, step_ * examples + (micro_batch + i) * each));
  }
  if (is_whole) data_ = data;
  return drawn;
}

Generator Trainer::stream(std::string_view purpose, int64_t micro_batch) const {
  return Generator(static_cast<uint64_t>(recipe_.loop.seed))
      .stream(concat(purpose, " ", step_ + 1, ".", micro_batch));
}

}  // namespace gradus::train
