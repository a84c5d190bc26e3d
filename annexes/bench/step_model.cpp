#include "gradus/annexes/bench/step_model.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <map>

#include "gradus/annexes/bench/measure.hpp"
#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/graph/profile.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/optimizers/clip.hpp"
#include "gradus/train/trainer/gradient_exchange.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::plan {
namespace {

constexpr double kLongMessage = 65'536;  // bytes, above which MPI asks the receiver first
constexpr double kLongTrips = 3;         // question, answer, values
constexpr double kShortExchanges = 3;    // of an exchange: the order of rank 0, losses, norms
constexpr double kMessageSeconds = 90e-6, kByteSeconds = 0.4e-9;  // of a core, measured with Open MPI on TCP
constexpr double kCarried = 0.94;                                 // of a link's rate; the rest is headers

// With the time until a thread that sleeps between its looks sees a message.
const std::map<std::string, Network> kNetworks{{"1GbE", {kCarried * 125e6, 150e-6}},
                                               {"2.5GbE", {kCarried * 312.5e6, 150e-6}},
                                               {"10GbE", {kCarried * 1.25e9, 130e-6}},
                                               {"25GbE", {kCarried * 3.125e9, 120e-6}},
                                               {"100GbE", {kCarried * 12.5e9, 120e-6}}};

using Messages = std::vector<std::pair<double, double>>;  // times and bytes
/// When a link has carried the messages; 0 is the end of the computation, and before it all is hidden.
double end_of(Messages messages, double bandwidth) {
  std::sort(messages.begin(), messages.end());
  double end = messages.empty() ? 0 : messages[0].first;
  for (const auto& [start, bytes] : messages) end = std::max(end, start) + bytes / bandwidth;
  return end;
}

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
  const std::vector<int> owner = owners(work.parts, work.machines);
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
      for (int64_t i = 1; i < work.machines; ++i) sum = sum + one.grad();
    }
    (void)train::grad_norm(owned);
    trainer.recipe().optimizer->step(0);
  };
  return bench::take_turn(seconds, kMostSteps, update).ms_median / 1e3;
}

}  // namespace

Network network_from(const std::string& text) {
  if (const auto named = kNetworks.find(text); named != kNetworks.end()) return named->second;
  double mbit = 0, ms = 0;
  int end = 0;
  std::sscanf(text.c_str(), "%lfMbit,%lfms%n", &mbit, &ms, &end);
  if (static_cast<size_t>(end) != text.size() || !(mbit > 0 && ms >= 0))
    fail("plan", "--network must be 1GbE, 2.5GbE, 10GbE, 25GbE, 100GbE, or as 200Mbit,1.5ms, got ",
         files::in_quotes(text), ".");
  return {mbit * 125e3, ms * 1e-3};
}

std::vector<int> owners(const std::vector<Part>& parts, int64_t machines) {
  std::vector<double> costs;
  for (const Part& part : parts) costs.push_back(part.cost);
  return train::owners(costs, static_cast<int>(machines));
}

StepTime step_time(const Work& work, const Network& network) {
  StepTime time{.compute = work.compute, .update = work.update};
  if (work.machines == 1) return time;
  const auto others = static_cast<double>(work.machines - 1), sums = static_cast<double>(work.sums);
  const std::vector<Part>& parts = work.parts;
  const std::vector<int> owner = owners(parts, work.machines);
  std::vector<double> costs(static_cast<size_t>(work.machines), 0.0);
  std::vector<double> updated;  // the cost of what its owner has updated when a part is updated
  for (size_t i = 0; i < parts.size(); ++i)
    updated.push_back(costs[static_cast<size_t>(owner[i])] += parts[i].cost);
  const double most = *std::max_element(costs.begin(), costs.end());
  double longest = 0;
  for (int64_t machine = 0; machine < work.machines; ++machine) {
    Messages gradients_in, gradients_out, parameters_in, parameters_out;
    double owned = 0, messages = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      const double bytes = parts[i].values * work.value_bytes, done = work.update * (updated[i] / most - 1);
      const bool owns = owner[i] == machine;
      (owns ? gradients_in : gradients_out).emplace_back(-parts[i].early, bytes * sums * (owns ? others : 1));
      (owns ? parameters_out : parameters_in).emplace_back(done, bytes * (owns ? others : 1));
      longest = std::max(longest, bytes);
      owned += owns ? bytes : 0;
      messages += (sums + 1) * (owns ? others : 1) * (kMessageSeconds + kByteSeconds * bytes);
    }
    const auto later = [&](const Messages& in, const Messages& out) {
      return std::max(end_of(in, network.bandwidth), end_of(out, network.bandwidth));
    };
    time.gradients = std::max(time.gradients, later(gradients_in, gradients_out));
    time.parameters = std::max(time.parameters, later(parameters_in, parameters_out));
    if (work.busy_cores > 0)
      time.messages = std::max(time.messages, messages / static_cast<double>(work.busy_cores));
    time.received = std::max(time.received, owned * sums * others);
  }
  const double trips = 2 * (longest > kLongMessage ? kLongTrips : 1);  // gradients, parameters
  time.latency = network.latency * (kShortExchanges + trips);
  return time;
}

Work rehearse(train::TrainConfig config, const Split& split, int64_t machines, double seconds) {
  Work work{.machines = machines,
            .value_bytes = static_cast<double>(element_size(config.wire)),
            .busy_cores = num_threads() < kernels::available_cores() ? 0 : kernels::available_cores()};
  if (config.wire == DType::float32)
    work.sums = std::popcount(static_cast<uint64_t>(split.passes));  // blocks of the binary tree
  config.batch = split.windows;
  config.accum = config.micro = 1;
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
