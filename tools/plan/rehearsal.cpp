#include "gradus/tools/plan/rehearsal.hpp"

#include <algorithm>
#include <bit>

#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/graph/profile.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/tools/bench/worker.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/optimizers/clip.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::plan {
namespace {

constexpr int64_t kMostSteps = 100;
constexpr double kUpdateShare = 0.25;  // of the measured time

/// The seconds of a pass: from the beginning of a step to the end of its backward. Sets values, costs and
/// times of the parts.
double measure_pass(train::Trainer& trainer, nn::NamedParameters& parameters, double seconds,
                    std::vector<Part>& parts) {
  std::vector<double> arrived(parameters.size());
  std::vector<HookHandle> hooks;
  const int64_t origin = steady_nanoseconds();
  for (size_t i = 0; i < parameters.size(); ++i)
    hooks.push_back(parameters[i].second.register_hook([&arrived, origin, i](const Tensor&) {
      arrived[i] = static_cast<double>(steady_nanoseconds() - origin) * 1e-9;
    }));
  Profile profile;
  trainer.profile_into(&profile);
  (void)bench::take_turn(seconds, kMostSteps, [&] { (void)trainer.step(); });
  trainer.profile_into(nullptr);
  for (HookHandle& hook : hooks) hook.remove();
  std::vector<double> passes;
  double end = 0;  // of backward
  for (const ProfileEvent& event : profile.events()) {
    if (event.name == "clip") end = event.start;
    if (event.name == "step") passes.push_back(end - event.start);
  }
  for (size_t i = 0; i < parameters.size(); ++i)
    parts.push_back({.values = static_cast<double>(parameters[i].second.numel()),
                     .cost = trainer.recipe().optimizer->update_cost(parameters[i]),
                     .early = std::max(0.0, end - std::max(arrived[i], end - passes.back()))});
  return bench::median(passes);
}

/// The seconds of what the owner of the most expensive parameter does after backward: sums of the gradients
/// of all machines, their norm, the update.
double measure_update(const train::Trainer& trainer, nn::NamedParameters& parameters, double seconds,
                      const Work& work) {
  const int64_t sharers = work.sync_every > 1 ? 1 : work.machines;
  const std::vector<int> owner = owners(work.parts, sharers);
  std::vector<Tensor> owned;
  for (size_t i = 0; i < owner.size(); ++i)
    if (owner[i] == 0)
      owned.push_back(parameters[i].second);
    else
      parameters[i].second.zero_grad();
  const Autocast autocast(trainer.recipe().loop.precision);
  const auto update = [&] {
    const NoGrad no_grad;
    for (const Tensor& one : owned) {
      Tensor sum = one.grad();
      for (int64_t i = 1; i < sharers; ++i) sum = sum + one.grad();
    }
    (void)train::grad_norm(owned);
    trainer.recipe().optimizer->step(0);
  };
  return bench::take_turn(seconds, kMostSteps, update).ms_median / 1e3;
}

}  // namespace

Work rehearse(train::TrainConfig config, const Split& split, int64_t machines, double seconds) {
  Work work{.machines = machines,
            .value_bytes = static_cast<double>(element_size(config.wire)),
            .sync_every = config.sync_every,
            .busy_cores = num_threads() < kernels::available_cores() ? 0 : kernels::available_cores()};
  if (config.reduce == train::kOrdered && config.wire == DType::float32)
    work.sums = std::popcount(static_cast<uint64_t>(split.passes));  // blocks of the binary tree
  config.batch = split.windows;
  config.accum = config.micro = config.sync_every = 1;
  Generator init(0);
  models::Decoder model(config.model, init);
  const auto random_windows = [&](int64_t windows, Generator& generator) -> data::Batch {
    const int64_t block = config.model.block_size;
    const Tensor tokens = randint(0, config.model.vocab_size, {windows, block + 1}, generator);
    return {tokens.slice(1, 0, block).contiguous(), tokens.slice(1, 1, block + 1).contiguous()};
  };
  train::Trainer trainer(model, train::decoder_recipe(model, random_windows, config));
  nn::NamedParameters parameters = model.named_parameters();
  std::erase_if(parameters, [](const nn::NamedParameter& one) { return !one.second.requires_grad(); });
  work.compute = static_cast<double>(split.passes) *
                 measure_pass(trainer, parameters, (1 - kUpdateShare) * seconds, work.parts);
  work.update = measure_update(trainer, parameters, kUpdateShare * seconds, work);
  return work;
}

}  // namespace gradus::plan
