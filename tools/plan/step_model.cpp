#include "gradus/tools/plan/step_model.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/train/trainer/shared_gradients.hpp"

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
  const auto steps = static_cast<double>(work.sync_every), others = static_cast<double>(work.machines - 1),
             sums = static_cast<double>(work.sums);
  std::vector<Part> parts = work.parts;
  if (work.sync_every > 1)  // LocalSteps: all is sent at once
    for (Part& part : parts) part = {.values = part.values, .cost = part.values};
  const std::vector<int> owner = owners(parts, work.machines);
  std::vector<double> costs(static_cast<size_t>(work.machines), 0.0);
  std::vector<double> updated;  // the cost of what its owner has updated when a part is updated
  for (size_t i = 0; i < parts.size(); ++i)
    updated.push_back(costs[static_cast<size_t>(owner[i])] += parts[i].cost);
  const double most = *std::max_element(costs.begin(), costs.end()),
               update = work.sync_every > 1 ? 0 : work.update;
  double longest = 0;
  for (int64_t machine = 0; machine < work.machines; ++machine) {
    Messages gradients_in, gradients_out, parameters_in, parameters_out;
    double owned = 0, messages = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      const double bytes = parts[i].values * work.value_bytes, done = update * (updated[i] / most - 1);
      const bool owns = owner[i] == machine;
      (owns ? gradients_in : gradients_out).emplace_back(-parts[i].early, bytes * sums * (owns ? others : 1));
      (owns ? parameters_out : parameters_in).emplace_back(done, bytes * (owns ? others : 1));
      longest = std::max(longest, bytes);
      owned += owns ? bytes : 0;
      messages += (sums + 1) * (owns ? others : 1) * (kMessageSeconds + kByteSeconds * bytes);
    }
    const auto later = [&](const Messages& in, const Messages& out) {
      return std::max(end_of(in, network.bandwidth), end_of(out, network.bandwidth)) / steps;
    };
    time.gradients = std::max(time.gradients, later(gradients_in, gradients_out));
    time.parameters = std::max(time.parameters, later(parameters_in, parameters_out));
    if (work.busy_cores > 0)
      time.messages = std::max(time.messages, messages / (static_cast<double>(work.busy_cores) * steps));
    time.received = std::max(time.received, owned * sums * others);
  }
  const double trips = 2 * (longest > kLongMessage ? kLongTrips : 1);  // gradients, parameters
  time.latency = network.latency * (kShortExchanges + trips) / steps;
  return time;
}

}  // namespace gradus::plan
